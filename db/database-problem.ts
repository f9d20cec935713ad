// The same brand as a BootError: the start shows the message as it is, without a stack.
const brand = Symbol.for("dormouse.boot-error");

/** Something about the database that keeps the server from starting, in words for whoever starts it. */
export class DatabaseProblem extends Error {
  readonly [brand] = true;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "DatabaseProblem";
  }
}

/** Turns what the driver says into a sentence; the address is named, the password never. */
export function describeConnectionProblem(error: unknown, url: string, variable: string): DatabaseProblem {
  const { hostname, port, username, pathname } = new URL(url);
  const where = `${decodeURIComponent(username) || "(no user)"}@${hostname || "localhost"}:${port || "5432"}${pathname}`;
  const code = errorCode(error);
  const say = (what: string) =>
    new DatabaseProblem(`The database at ${where} cannot be used: ${what} Check ${variable}.`, { cause: error });
  switch (code) {
    case "ECONNREFUSED":
      return say("nothing listens there.");
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return say("the host is not known.");
    case "CONNECT_TIMEOUT":
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
      return say("it did not answer in time.");
    case "28P01":
    case "28000":
      return say("it refused the user or the password.");
    case "3D000":
      return say("that database does not exist. Create it first.");
    case "53100":
      return say("its disk is full. Free some space.");
    case "53300":
      return say("it has no free connection left.");
    default:
      return say(`${error instanceof Error ? error.message : String(error)}.`);
  }
}

export function errorCode(error: unknown): string | undefined {
  for (let current: unknown = error, depth = 0; current && depth < 5; depth += 1) {
    if (typeof current === "object" && "code" in current && typeof current.code === "string") return current.code;
    current = current instanceof AggregateError ? current.errors[0] : (current as { cause?: unknown }).cause;
  }
  return undefined;
}
