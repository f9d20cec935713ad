import type { IsolationFound } from "./accounts/index.ts";
import { BootError } from "./boot/boot-error.ts";
import { listen } from "./boot/listen.ts";
import type { Config } from "./config.ts";
import { isAppError } from "./errors.ts";
import { createLocalBackend } from "./sandboxes/backends/local/create-local-backend.ts";
import type { Isolation, SandboxBackend } from "./sandboxes/sandbox-backend.ts";
import { createSandboxBackends, type SandboxBackends } from "./sandboxes/sandbox-backends.ts";
import { createSandboxListener, type SandboxListenerOptions } from "./sandboxes/sandbox-listener.ts";
import type { SandboxRequests } from "./sandboxes/sandbox-requests.ts";

export interface BackendInput {
  config: Config;
  /** The directory of this project. */
  root: string;
  /** Whose lock this process holds. */
  home: string;
  /** For a backend that gives each of its sandboxes a socket. */
  requests: SandboxRequests;
  /** For a backend whose sandboxes come over the network: where they reach it. Null without DORMOUSE_SANDBOX_LISTEN. */
  serverUrl: string | null;
}

/** All there are. The key is the backend's `kind`, and the first one is for sandboxes that are made from now on. */
const makeBackend: Record<string, (input: BackendInput) => SandboxBackend> = {
  local: ({ config, root, home, requests }) =>
    createLocalBackend({ home, root, isolation: config.isolation, searchPath: config.searchPath, requests }),
};

export interface WiredBackends {
  backends: SandboxBackends;
  /** What the preferred backend can give, as the first-run page says it. */
  isolation: IsolationFound;
  /** The backends, and where their sandboxes reached the server. */
  close(): Promise<void>;
}

/** Makes the backends and serves their sandboxes. Throws a BootError when the preferred one can isolate nobody as it was told to. */
export async function wireBackends(
  input: Omit<BackendInput, "serverUrl"> & {
    isSandbox: SandboxListenerOptions["isSandbox"];
    onListenerError: SandboxListenerOptions["onError"];
    stopping: AbortSignal;
    /** Tests add backends of their own here. */
    makers?: Record<string, (input: BackendInput) => SandboxBackend>;
  },
): Promise<WiredBackends> {
  const { makers = makeBackend, stopping } = input;
  const listener = input.config.sandboxListen ? await openListener(input, input.config.sandboxListen) : null;
  const close = async (backends: SandboxBackends | null) => {
    await backends?.close();
    await listener?.close();
  };
  let backends: SandboxBackends | null = null;
  try {
    const made = Object.values(makers).map((make) => make({ ...input, serverUrl: listener?.url ?? null }));
    backends = createSandboxBackends(made);
    const isolation = describeIsolation(await backends.preferred.isolations(stopping));
    const wired = backends;
    return { backends, isolation, close: () => close(wired) };
  } catch (error) {
    await close(backends);
    throw isAppError(error) ? new BootError(error.message, { cause: error }) : error;
  }
}

async function openListener(
  input: Parameters<typeof wireBackends>[0],
  { host, port, reachedAs }: NonNullable<Config["sandboxListen"]>,
): Promise<{ url: string; close(): Promise<void> }> {
  const { requests, isSandbox, onListenerError: onError } = input;
  const { server, close } = createSandboxListener({ requests, isSandbox, onError });
  const variables = { host: "DORMOUSE_SANDBOX_LISTEN", port: "DORMOUSE_SANDBOX_LISTEN" };
  const bound = await listen({ server, host, port: { kind: "fixed", port }, variables });
  return { url: `http://${reachedAs}:${bound.port}`, close };
}

function describeIsolation(isolations: readonly Isolation[]): IsolationFound {
  const best = isolations.find(({ available }) => available);
  const reason = isolations.map((isolation) => (isolation.available ? "" : isolation.reason)).find(Boolean) ?? "";
  if (!best?.available) throw new BootError(reason || "No sandbox can run here.");
  return best.confined ? { kind: "sandboxed", detail: best.detail } : { kind: "host", reason: reason || best.detail };
}
