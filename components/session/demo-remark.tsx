import Link from "next/link";
import type { Role } from "@/server/protocol/roles.ts";

/** Nobody should mistake the demo for a model. */
export function DemoRemark({ role }: { role: Role }) {
  return (
    <p className="text-12 text-muted">
      This is the demo model: it follows a fixed script.{" "}
      {role === "admin" ? (
        <Link href="/settings/models" className="text-ink underline underline-offset-2">
          Add a real model in Settings → Models
        </Link>
      ) : (
        "An admin can add a real model."
      )}
    </p>
  );
}
