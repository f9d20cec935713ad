import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { Time } from "../ui/time.tsx";

/** The machine that alone can run a sandbox. */
export function HomeMachine({ home }: Pick<SandboxView, "home">) {
  if (!home) return <span className="text-muted">any</span>;
  const name = home.machine ?? "unknown";
  if (!home.isAway) return name;
  return (
    <>
      {name}{" "}
      <span className="block text-12 text-danger">
        away
        {home.seenAt && (
          <>
            , last seen <Time at={home.seenAt} justNow="just now" />
          </>
        )}
      </span>
    </>
  );
}
