import { pino } from "pino";

export type Logger = ReturnType<typeof createLogger>;

/** JSON lines on standard error, so that standard output stays readable for the person who started it. */
export function createLogger(level: string) {
  return pino(
    { level, base: undefined, redact: ["password", "key", "token", "*.password", "*.key", "*.token"] },
    pino.destination({ dest: 2, sync: true }),
  );
}
