import { oneDecimal } from "@/server/protocol/file-size.ts";

/** `840 ms`, `3.2 s`, `1 min 4 s`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 950) return `${Math.max(0, Math.round(milliseconds / 10) * 10)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1).replace(".0", "")} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** `840`, `12.4k`, `1.2M`. */
export function amount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${oneDecimal(count / 1000)}k`;
  return `${oneDecimal(count / 1_000_000)}M`;
}

/** `$0`, `under $0.01`, `$1.20`; a dash where the price was not known. */
export function cost(dollars: number | null): string {
  if (dollars === null) return "cost –";
  if (dollars <= 0) return "$0";
  return dollars < 0.01 ? "under $0.01" : `$${dollars.toFixed(2)}`;
}
