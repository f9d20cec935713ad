import Link from "next/link";
import type { Role } from "@/server/protocol/roles.ts";

/** Nobody should mistake the demo for a model. */
export function DemoRemark({ role }: { role: Role }) {
  return (
    <p className="text-12 text-muted">
      The demo model answers: a script without a mind.{" "}
      {role === "admin" ? (
        <Link href="/settings/models" className="text-ink underline underline-offset-2">
          Add a real one in Settings → Models
        </Link>
      ) : (
        "An admin can add a real one."
      )}
    </p>
  );
}
