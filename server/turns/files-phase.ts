import type { LogWriter } from "../sessions/index.ts";

/** Says in the log, once, that a turn waits until its files are restored, and when they are. */
export function createFilesPhase(writer: Pick<LogWriter, "add">) {
  let isUnderWay = false;
  return {
    async begin(): Promise<void> {
      if (isUnderWay) return;
      isUnderWay = true;
      const message = "Restoring your files (this can take a while)";
      await writer.add("sandbox-phase", { phase: "restoring-files", message });
    },
    async end(): Promise<void> {
      if (!isUnderWay) return;
      isUnderWay = false;
      await writer.add("sandbox-phase", { phase: "files-ready", message: "Your files are in place" });
    },
  };
}
