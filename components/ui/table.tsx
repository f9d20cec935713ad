import type { ComponentProps, ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** Rows of 36 px under a sticky head. A table wider than its room scrolls inside it and can be reached by key. */
export function Table({ label, head, children }: { label: string; head: ReactNode; children: ReactNode }) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
      tabIndex={0}
      // What is hidden from sight within it stays within it.
      className="relative max-h-[calc(100dvh-12rem)] min-h-0 overflow-auto rounded-card border border-line bg-raised"
    >
      <table className="w-full border-separate border-spacing-0 text-13 tabular-nums">
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

export function HeadCell({ className, ...rest }: ComponentProps<"th">) {
  return (
    <th
      scope="col"
      className={classNames(
        "sticky top-0 z-1 h-9 border-b border-line bg-panel px-3 text-left text-12 font-medium whitespace-nowrap text-muted first:pl-4 last:pr-4",
        className,
      )}
      {...rest}
    />
  );
}

export function Row({ className, ...rest }: ComponentProps<"tr">) {
  return <tr className={classNames("group/row hover:bg-panel/60", className)} {...rest} />;
}

export function Cell({ className, ...rest }: ComponentProps<"td">) {
  return (
    <td
      className={classNames(
        "h-9 border-b border-line px-3 whitespace-nowrap first:pl-4 last:pr-4 group-last/row:border-transparent",
        className,
      )}
      {...rest}
    />
  );
}

/** Appears on hover and on focus; where there is no hover it is always there. Its room is always kept. */
export function RowActions({ children }: { children: ReactNode }) {
  return (
    <div className="flex justify-end gap-1 transition-opacity pointer-fine:opacity-0 group-hover/row:opacity-100 group-focus-within/row:opacity-100 has-[[data-popup-open]]:opacity-100">
      {children}
    </div>
  );
}
