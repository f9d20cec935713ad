const hour = 3_600_000;
const morningHour = 8;

/** For how long a sandbox may be kept awake; what a day is, the reader's clock says. */
export const awakeChoices: readonly { name: string; label: string; until: (now: Date) => Date }[] = [
  { name: "1h", label: "For 1 hour", until: (now) => new Date(now.getTime() + hour) },
  { name: "4h", label: "For 4 hours", until: (now) => new Date(now.getTime() + 4 * hour) },
  { name: "morning", label: "Until tomorrow morning", until: tomorrowMorning },
];

function tomorrowMorning(now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, morningHour);
}

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayAndTime = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** `Until 18:30`; with its day where that is another. */
export function untilWords(until: Date, now: Date): string {
  const isToday = until.toDateString() === now.toDateString();
  return `Until ${(isToday ? time : dayAndTime).format(until)}`;
}
