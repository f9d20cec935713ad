import type { SessionState } from "@/server/protocol/session-events.ts";
import { Popover } from "../ui/popover.tsx";
import { Time } from "../ui/time.tsx";
import { memoryMeaning, toMemoryWords } from "./burrow-state.ts";

/** What became of the agent's memory; what that means, since when and why one step away. */
export function MemoryStatus({ session }: { session: SessionState }) {
  const words = toMemoryWords(session) ?? "";
  const { cause, at } = session.memory;
  return (
    <Popover
      title={words}
      trigger={words}
      triggerClassName="rounded-control underline decoration-line underline-offset-4 hover:text-ink"
    >
      <p>{memoryMeaning(session)}</p>
      {cause && <p>{cause}</p>}
      {at && (
        <p>
          Since <Time at={new Date(at)} justNow="just now" />
        </p>
      )}
    </Popover>
  );
}
