import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { insideUid } from "./bubblewrap.ts";
import type { SandboxMount } from "./start-sidecar.ts";

// Enough for localhost to have an address and the user a name; nothing of the host's own files.
const contents: Record<string, string> = {
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  passwd: `root:x:0:0:root:/root:/bin/false\nagent:x:${insideUid}:${insideUid}:agent:/workspace/home:/bin/bash\n`,
  group: `root:x:0:\nagent:x:${insideUid}:\n`,
};

/** Writes the few files of /etc that every sandbox sees, and says where they go. */
export async function makeInsideFiles(directory: string): Promise<SandboxMount[]> {
  const etc = join(directory, "etc");
  await mkdir(etc, { recursive: true });
  // Whatever umask the server was started with.
  await chmod(etc, 0o755);
  return Promise.all(
    Object.entries(contents).map(async ([name, content]) => {
      const source = join(etc, name);
      await writeFile(source, content);
      await chmod(source, 0o644);
      return { source, destination: `/etc/${name}`, writable: false };
    }),
  );
}
