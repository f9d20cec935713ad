import type { ReactNode } from "react";
import { TabbedPages } from "@/components/frame/tabbed-pages.tsx";

const tabs = [
  { href: "/settings/profile", label: "Profile" },
  { href: "/settings/models", label: "Models" },
  { href: "/settings/network", label: "Network" },
  { href: "/settings/sandbox", label: "Sandbox" },
];

export default function SettingsLayout({ children }: { children: ReactNode }) {
  return (
    <TabbedPages title="Settings" tabs={tabs}>
      {children}
    </TabbedPages>
  );
}
