import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { Moment } from "../ui/moment.tsx";
import { Time } from "../ui/time.tsx";

/** When the agent's memory was last archived. */
export function SavedTime({ savedAt }: Pick<SandboxView, "savedAt">) {
  return savedAt ? <Time at={savedAt} justNow="just now" /> : "not saved yet";
}

/** Never called saved: what was done since is on one disk alone. */
export function UnsavedSince({ unsavedSince }: Pick<SandboxView, "unsavedSince">) {
  return (
    unsavedSince && (
      <>
        On this machine only since <Moment at={unsavedSince} />
      </>
    )
  );
}
