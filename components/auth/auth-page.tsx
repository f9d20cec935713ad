import type { ReactNode } from "react";
import { Mark } from "../mark.tsx";

/** What stands before the door: one column, the mark, one thing to do. */
export function AuthPage({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <main className="page-root mx-auto flex min-h-dvh w-full max-w-104 flex-col justify-center gap-8 px-5 py-12">
      <header className="flex flex-col gap-5">
        <Mark uncurl className="size-11" />
        <div className="flex flex-col gap-2">
          <h1 className="text-28">{title}</h1>
          {lead && <p className="text-15 text-muted">{lead}</p>}
        </div>
      </header>
      {children}
    </main>
  );
}
