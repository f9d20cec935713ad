import { classNames } from "./ui/class-names.ts";

/** The dormouse: asleep with its tail around it, or, with `uncurl`, waking up once. */
export function Mark({ uncurl = false, className }: { uncurl?: boolean; className?: string }) {
  return (
    <svg
      viewBox="0 0 32 32"
      aria-hidden="true"
      className={classNames("shrink-0", uncurl ? "mark-uncurl" : "mark-curled", className)}
      fill="none"
      strokeLinecap="round"
    >
      <path
        d="M9 25.6c-3.7 0-6-3-6-7C3 11.2 8.7 5.8 15.8 5.8c7.4 0 13.1 5.5 13.6 12.3.1 1.5-.8 2.6-2.2 2.9-.4 2.7-2.3 4.6-5 4.6Z"
        fill="currentColor"
      />
      <circle cx="20.6" cy="7" r="4.4" fill="currentColor" stroke="var(--bg)" strokeWidth="1.6" />
      <path className="mark-eye-closed" d="M22.4 15.2q1.6 1.5 3.2 0" stroke="var(--bg)" strokeWidth="1.6" />
      <circle className="mark-eye-open" cx="24" cy="15.3" r="1.5" fill="var(--bg)" />
      <path d="M17.5 26.4c-4.8 0-7.7-3.1-7.7-6.8 0-2.7 2-4.8 4.7-4.8" stroke="var(--bg)" strokeWidth="1.6" />
      <g stroke="currentColor" strokeWidth="2.2" strokeDasharray="1 2">
        <path className="mark-tail-around" d="M8 28.9h15.5c3.9 0 6.4-1.5 6.7-4.3" pathLength="1" />
        <path className="mark-tail-behind" d="M8 28.9C2.5 28.9 1 25 1.3 21" pathLength="1" />
      </g>
    </svg>
  );
}
