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
  if (count < 999_500) return `${trimmed(count / 1000)}k`;
  return `${trimmed(count / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

/** `$0`, `under $0.01`, `$1.20`; a dash where the price was not known. */
export function cost(dollars: number | null): string {
  if (dollars === null) return "cost –";
  if (dollars <= 0) return "$0";
  return dollars < 0.01 ? "under $0.01" : `$${dollars.toFixed(2)}`;
}

export function fileSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${trimmed(bytes / 1024)} KB`;
  return `${trimmed(bytes / 1024 / 1024)} MB`;
}

/** What a person can do about a failure, by its code. */
export function remedy(code: string | undefined): string {
  if (code === "401" || code === "403") return "Check the provider's key in Settings → Models, then send again.";
  if (code === "404") return "The provider does not know this model. Choose another in Settings → Models.";
  if (code === "429") return "The provider is limiting requests. Wait a little, then send again.";
  if (code === "unknown") return "Send your next message. Dormouse finds out first, and says what was done.";
  if (code === "timeout") return "Send again to retry. Changes made so far are kept.";
  if (code?.startsWith("5")) return "The provider reported an error. Send again in a moment.";
  return "Send again to retry. Changes made so far are kept.";
}
