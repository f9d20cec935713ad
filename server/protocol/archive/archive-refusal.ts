/** An archive that is not restored, with a reason that may be shown. */
export class ArchiveRefusal extends Error {
  readonly kind: "invalid-input" | "too-large";

  constructor(kind: "invalid-input" | "too-large", message: string) {
    super(message);
    this.name = "ArchiveRefusal";
    this.kind = kind;
  }
}
