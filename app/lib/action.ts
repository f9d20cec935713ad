import { refresh } from "next/cache";
import { headers } from "next/headers";
import { unstable_rethrow } from "next/navigation";
import type { z } from "zod";
import type { Failure, Outcome } from "@/components/ui/outcome.ts";
import { toReportedError } from "@/server/errors.ts";
import { parseInput } from "@/server/lib/parse-input.ts";
import { services } from "@/server/services.ts";
import { refuseBrokenText } from "./refuse-broken-text.ts";

interface ActionOptions<Schema extends z.ZodType, Value> {
  input: Schema;
  /** Authorizes, then calls one use case. */
  run: (input: z.output<Schema>) => Promise<Value>;
  /** Whether what the page shows has changed. */
  refresh?: boolean;
}

/** What `route()` is for programs, this is for pages: errors are rendered once, in one shape. */
export function action<Schema extends z.ZodType, Value>(options: ActionOptions<Schema, Value>) {
  return async (input: z.input<Schema>): Promise<Outcome<Value>> => {
    try {
      refuseBrokenText(input);
      const value = await options.run(parseInput(options.input, input));
      if (options.refresh !== false) refresh();
      return Object.assign({ ok: true as const }, value);
    } catch (error) {
      unstable_rethrow(error);
      return toFailure(error);
    }
  };
}

async function toFailure(error: unknown): Promise<Failure> {
  const { kind, message, reference } = toReportedError(error, services().reportError);
  const failure: Failure = { ok: false, message, reference };
  if (kind !== "unauthenticated") return failure;
  const path = (await headers()).get("x-dormouse-path") ?? "/";
  return { ...failure, leadsTo: `/sign-in?next=${encodeURIComponent(path)}` };
}
