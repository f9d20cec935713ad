/** What a call to the server came to. A failure's message may be shown as it is. */
export type Outcome<Value = unknown> = ({ ok: true } & Value) | Failure;

export interface Failure {
  ok: false;
  message: string;
  /** Under which the log tells more. */
  reference?: string | undefined;
  /** Where the person has to go before anything else works. */
  leadsTo?: string | undefined;
}
