import type { ReactNode } from "react";
import { Mark } from "./mark.tsx";

/** One message in the middle of where a page would have been. */
export function MessagePage({ title, children, action }: { title: string; children: ReactNode; action: ReactNode }) {
  return (
    <div className="mx-auto flex w-full max-w-120 flex-1 flex-col items-start justify-center gap-6 px-5 py-12">
      <Mark className="size-11" />
      <div className="flex flex-col gap-2">
        <h1 className="text-28">{title}</h1>
        <div className="text-15 text-muted">{children}</div>
      </div>
      <div className="flex flex-wrap gap-2">{action}</div>
    </div>
  );
}
