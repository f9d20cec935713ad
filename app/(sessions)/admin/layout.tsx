import type { ReactNode } from "react";
import { TabbedPages } from "@/components/frame/tabbed-pages.tsx";
import { pageAdmin } from "@/server/auth/require-user.ts";

const tabs = [
  { href: "/admin/sandboxes", label: "Sandboxes" },
  { href: "/admin/people", label: "People" },
];

export default async function AdminLayout({ children }: { children: ReactNode }) {
  // Before anything is sent, so that others get a plain 404. The pages ask again for themselves.
  await pageAdmin();
  return (
    <TabbedPages title="Admin" tabs={tabs} wide>
      {children}
    </TabbedPages>
  );
}
