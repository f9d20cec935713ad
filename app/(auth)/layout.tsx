import type { ReactNode } from "react";

// Whether a first run is due, or an invite still open, is known per request only.
export const dynamic = "force-dynamic";

export default function AuthLayout({ children }: { children: ReactNode }) {
  return children;
}
