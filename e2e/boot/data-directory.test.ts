import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { canReach } from "../../server/lib/can-reach.ts";
import { canMount, cleanUp, isRoot, makeDirectory, makeHome, root, runDormouse, runToFailure } from "./run-dormouse.ts";

afterEach(cleanUp);

const withoutBubblewrap = process.env.DORMOUSE_TEST_WITHOUT_BUBBLEWRAP === "1";
const nobody = { uid: 65_534, gid: 65_534 };
const othersCanRunUs = isRoot && canReach(process.execPath, nobody) && canReach(root, nobody);

describe("a data directory", () => {
  it.runIf(othersCanRunUs)("that this user may not write to is named, with the way out", async () => {
    const home = await makeDirectory();
    const said = await runToFailure({ home, uid: nobody.uid });
    expect(said).toMatch(/cannot write to its data directory \S+ as user nobody/);
    expect(said).toContain("set DORMOUSE_HOME");
  });

  it("that is a file is refused, and the file is left alone", async () => {
    const home = join(await makeDirectory(), "file");
    await writeFile(home, "precious");
    const said = await runToFailure({ home });
    expect(said).toContain(`cannot write to its data directory ${home}`);
    expect(await readFile(home, "utf8")).toBe("precious");
  });

  it("whose master key is damaged is refused, and the key is left alone", async () => {
    const home = await makeDirectory();
    await writeFile(join(home, "master-key"), "half a k");
    const said = await runToFailure({ home });
    expect(said).toContain(`The master key in ${join(home, "master-key")} is damaged`);
    expect(said).toContain("Put the file back from a backup");
    expect(await readFile(join(home, "master-key"), "utf8")).toBe("half a k");
  });
});

describe("a file store", () => {
  it("that is not the one with the archives, as an unmounted disk, is refused until it is accepted", async () => {
    const home = await makeHome();
    const stop = async (dormouse: ReturnType<typeof runDormouse>) => {
      await dormouse.ready();
      dormouse.process.kill("SIGTERM");
      expect(await dormouse.ended()).toBe(0);
    };
    await stop(runDormouse({ home }));
    await rename(join(home, "store"), join(home, "away"));
    const said = await runToFailure({ home });
    expect(said).toContain(`The file store (${join(home, "store")}) is not the one`);
    expect(said).toContain("DORMOUSE_FILE_STORE_NEW=true");
    await stop(runDormouse({ home, environment: { DORMOUSE_FILE_STORE_NEW: "true" } }));
    await stop(runDormouse({ home }));
    await writeFile(join(home, "store", "installation.txt"), "another");
    expect(await runToFailure({ home })).toContain("belongs to another installation");
  });
});

describe.runIf(canMount)("a full disk", () => {
  /** The home is a file system of its own, which ends with the process. */
  const onDisk = (options: string) =>
    ["unshare", "-m", "sh", "-c", mountAndRun, options, process.execPath] as [string, ...string[]];
  const mountAndRun = 'mount -t tmpfs -o "$0" tmpfs "$DORMOUSE_HOME" && exec "$1" server/main.ts';

  it("is found before anything is started", async () => {
    const home = await makeDirectory();
    const said = await runToFailure({ home, command: onDisk("size=20m") });
    expect(said).toMatch(/The disk that holds Dormouse's data is full: \S+ has \d+ MB free/);
    expect(said).toContain("set DORMOUSE_HOME to a directory on another disk");
    expect(said).not.toContain("Postgres …");
  });

  it("that takes no file at all is found too", async () => {
    const home = await makeDirectory();
    const said = await runToFailure({ home, command: onDisk("size=500m,nr_inodes=1") });
    expect(said).toContain(`The disk that holds Dormouse's data is full: nothing can be written to ${home}`);
  });

  it("is named when it fills up while the database is made", async () => {
    const home = await makeDirectory();
    const said = await runToFailure({ home, command: onDisk("size=500m,nr_inodes=60") });
    expect(said).toContain("The disk is full");
    expect(said).toContain("start again");
    expect(said).not.toMatch(/^\s+at /m);
  });
});

describe.runIf(canMount)("a clone in a closed home of root", () => {
  it("starts, with Postgres and a proven sandbox, though nobody else can enter", async () => {
    const closed = await makeDirectory();
    await chmod(closed, 0o700);
    await mkdir(join(closed, "clone"));
    // Seen by this process alone: the clone again, below the closed directory, and an empty /var/lib/dormouse.
    const mountAndRun = `mkdir -p /var/lib/dormouse && mount -t tmpfs -o size=2g,mode=755 tmpfs /var/lib/dormouse &&
      mount --bind "$0" "$1" && cd "$1" && exec node_modules/.bin/node server/main.ts`;
    const dormouse = runDormouse({
      home: join(closed, "home"),
      command: ["unshare", "-m", "sh", "-c", mountAndRun, root, join(closed, "clone")],
      environment: { DORMOUSE_ISOLATION: withoutBubblewrap ? "host" : "sandboxed" },
    });
    const url = await dormouse.ready();
    expect((await fetch(`${url}/api/health/ready`)).status).toBe(200);
    expect(dormouse.output()).toContain("The database of this Dormouse is in /var/lib/dormouse/");
    expect(await readFile(join(closed, "home", "postgres-is-elsewhere.txt"), "utf8")).toContain("/var/lib/dormouse/");
    dormouse.process.kill("SIGTERM");
    expect(await dormouse.ended()).toBe(0);
  });
});
