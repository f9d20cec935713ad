const units = ["B", "KB", "MB", "GB"] as const;

/** `840 B`, `1.2 KB`, `5 GB`. */
export function fileSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${oneDecimal(value)} ${units[unit]}`;
}

/** `1.2`, `12`, `840`: one decimal below a hundred, where it says something. */
export function oneDecimal(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
