import type { ReactNode } from "react";

/** A titled part of a page; `aside` stands at the right of the title. */
export function Section(props: { title: string; description?: ReactNode; aside?: ReactNode; children: ReactNode }) {
  const { title, description, aside, children } = props;
  return (
    <section aria-label={title} className="flex flex-col gap-4">
      <div className="flex flex-wrap items-end justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-col gap-0.5">
          <h2 className="text-15">{title}</h2>
          {description && <p className="max-w-140 text-13 text-muted">{description}</p>}
        </div>
        {aside}
      </div>
      {children}
    </section>
  );
}

export function Card({ children }: { children: ReactNode }) {
  return <div className="rounded-card border border-line bg-raised p-5">{children}</div>;
}
