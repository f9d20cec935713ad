import { classNames } from "../ui/class-names.ts";

const looks = {
  absent: "bg-line",
  failed: "bg-danger",
  asleep: "bg-asleep animate-breathe",
  awake: "bg-awake",
  working:
    "animate-flow bg-[linear-gradient(90deg,var(--awake)_0_50%,color-mix(in_oklch,var(--awake)_35%,transparent)_50%_100%)] bg-[length:96px_2px]",
} as const;

export type BurrowState = keyof typeof looks | { waking: number };

/**
 * The product's heartbeat: how the sandbox of this session is, in one line of 2 px. A wake fills it,
 * phase by phase (0 to 1). The words stand beside it.
 */
export function BurrowLine({ state }: { state: BurrowState }) {
  if (typeof state === "string") {
    return <div aria-hidden="true" className={classNames("h-0.5 w-full rounded-full", looks[state])} />;
  }
  return (
    <div aria-hidden="true" className="h-0.5 w-full overflow-hidden rounded-full bg-asleep/35">
      <div className="burrow-fill h-full bg-awake" style={{ transform: `scaleX(${state.waking})` }} />
    </div>
  );
}
