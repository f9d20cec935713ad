import { spawn } from "node:child_process";
import { exitCodeOf, onStop } from "./launch.mjs";
import { watchFolders } from "./watch-folders.mjs";

const reloadMilliseconds = 15_000;

/**
 * Runs a server and replaces it whenever a source changes. The server is told "reload" over ipc, leaves
 * running what its successor takes over, and ends; one that is ready says on which port, and its successors
 * listen there too.
 *
 * - Code that does not load is shown, and the server that runs stays until the next change.
 * - A successor that fails is not started again before the next change.
 * - When the end is asked for while nobody holds what a reloaded server left (between two servers, or after
 *   a failed one), one more is started to take it over and end it.
 *
 * @param {{
 *   node: string, root: string, folders: string[], environment?: Record<string, string>,
 *   server: string[], check: string[], say?: (line: string) => void,
 * }} options `server` and `check` are what node is called with
 * @returns {Promise<number>} the exit code
 */
export async function runReloading(options) {
  const { node, root, folders, environment = {}, check, say = console.log } = options;
  let port = "";
  let changed = false;
  let stopping = false;
  /** Whether a reloaded server left something that no successor holds yet. */
  let left = false;
  /** @type {() => void} */
  let wake = () => {};

  const start = ({ detached = false } = {}) => {
    const server = startServer({
      ...options,
      environment: { ...environment, ...(port && { DORMOUSE_PORT: port }) },
      detached,
    });
    void server.ready.then((listening) => {
      if (listening === null) return;
      port = String(listening);
      left = false;
    });
    return server;
  };
  /** @param {Promise<unknown>} [ended] */
  const somethingHappens = (ended) =>
    new Promise((resolve) => {
      wake = () => resolve(undefined);
      if (changed || stopping) wake();
      void ended?.then(wake);
    });

  let server = start();
  const watcher = watchFolders(folders, () => {
    changed = true;
    wake();
  });
  const release = onStop(() => {
    stopping = true;
    server.process.kill("SIGTERM");
    wake();
  });

  try {
    for (let reloads = 0; ; ) {
      await somethingHappens(server.ended);
      if (!stopping && server.code() !== null) {
        if (reloads === 0) return server.code() ?? 1;
        say(`The server ended with ${server.code()}. It will start again after the next change.`);
        await somethingHappens();
      }
      if (stopping) {
        const code = await server.ended;
        if (!left) return code;
        const last = start({ detached: true });
        await last.ready;
        last.process.kill("SIGTERM");
        return await last.ended;
      }
      changed = false;
      if (!(await loads({ node, root, check }))) {
        if (server.code() === null)
          say("This code does not load. The previous server keeps running until the next change.");
        continue;
      }
      if (changed || stopping) continue;
      say("Files changed: restarting the server …");
      await server.ready;
      await server.reload();
      left = true;
      reloads += 1;
      if (!stopping) server = start();
    }
  } finally {
    release();
    watcher.close();
  }
}

/**
 * @param {{ node: string, root: string, server: string[], environment: Record<string, string>, detached: boolean }} options
 */
function startServer({ node, root, server, environment, detached }) {
  const child = spawn(node, server, {
    cwd: root,
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: Object.assign({}, process.env, environment),
    detached,
  });
  /** @type {number | null} */
  let ended = null;
  /** @type {Promise<number>} */
  const end = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      ended = exitCodeOf(code, signal);
      resolve(ended);
    });
  });
  return {
    process: child,
    ended: end,
    code: () => ended,
    /** @type {Promise<number | null>} the port; null when it ended before it was ready */
    ready: new Promise((resolve) => {
      child.on("message", (message) => resolve(/** @type {{ port: number }} */ (message).port));
      child.on("exit", () => resolve(null));
    }),
    async reload() {
      if (ended !== null) return;
      child.send("reload", () => {});
      const late = setTimeout(() => child.kill("SIGKILL"), reloadMilliseconds);
      await end;
      clearTimeout(late);
    },
  };
}

/**
 * Imports everything and runs nothing. What is wrong is shown by node itself.
 *
 * @param {{ node: string, root: string, check: string[] }} options
 * @returns {Promise<boolean>}
 */
function loads({ node, root, check }) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, check, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
    child.on("error", reject);
    child.on("exit", (code) => resolve(code === 0));
  });
}
