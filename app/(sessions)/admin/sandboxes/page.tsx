import type { Metadata } from "next";
import { IdleLimit } from "@/components/admin/idle-limit.tsx";
import { SandboxTable } from "@/components/admin/sandbox-table.tsx";
import { EmptyState } from "@/components/ui/empty-state.tsx";
import { pageAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { chooseIdleLimit, requestOfTenant } from "./actions.ts";

export const metadata: Metadata = { title: "Sandboxes" };

export default async function SandboxesPage() {
  const viewer = await pageAdmin();
  const { sandboxes } = services();
  const [all, idleMinutes] = await Promise.all([sandboxes.list(viewer, "tenant"), sandboxes.idleLimit(viewer)]);
  return (
    <div className="flex min-h-0 flex-col gap-4">
      <IdleLimit minutes={idleMinutes} choose={chooseIdleLimit} />
      {all.length > 0 ? (
        <SandboxTable sandboxes={all} request={requestOfTenant} />
      ) : (
        <EmptyState title="No sandboxes yet">
          A sandbox is created when somebody first works with the agent. You will see its state here, but never what was
          said in it.
        </EmptyState>
      )}
    </div>
  );
}
