import type { ReactNode } from "react";

export function EmptyState({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-start gap-3 rounded-card border border-dashed border-line px-6 py-8">
      <div className="flex max-w-120 flex-col gap-1">
        <p className="text-15 font-semibold">{title}</p>
        {children && <div className="text-13 text-muted">{children}</div>}
      </div>
      {action}
    </div>
  );
}
