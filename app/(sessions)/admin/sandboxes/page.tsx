import type { Metadata } from "next";
import { SandboxTable } from "@/components/admin/sandbox-table.tsx";
import { EmptyState } from "@/components/ui/empty-state.tsx";
import { pageAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";

export const metadata: Metadata = { title: "Sandboxes" };

export default async function SandboxesPage() {
  const sandboxes = await services().sandboxes.list(await pageAdmin(), "tenant");
  if (sandboxes.length > 0) return <SandboxTable sandboxes={sandboxes} />;
  return (
    <EmptyState title="No sandboxes yet">
      A sandbox is created when somebody first works with the agent. You will see its state here, but never what was
      said in it.
    </EmptyState>
  );
}
