// Recognised by brand like AppError: the module may be loaded more than once.
const brand = Symbol.for("dormouse.boot-error");

/** A start that cannot go on, for a reason that a person can mend. The message is shown as it is, without a stack. */
export class BootError extends Error {
  readonly [brand] = true;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "BootError";
  }
}

export function isBootError(value: unknown): value is BootError {
  return typeof value === "object" && value !== null && brand in value;
}
