"use client";

import { Plus } from "lucide-react";
import { useRouter } from "next/navigation";
import { toast } from "sonner";
import { Button, type ButtonLook } from "../ui/button.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { useOutcome } from "../ui/use-outcome.ts";

export function NewSessionButton(
  props: ButtonLook & { create: () => Promise<Outcome<{ sessionId: string }>>; className?: string },
) {
  const { create, ...rest } = props;
  const { pending, run } = useOutcome();
  const router = useRouter();

  async function tell() {
    const outcome = await create();
    if (!outcome.ok && !outcome.leadsTo) toast.error(outcome.message);
    return outcome;
  }

  return (
    <Button
      pending={pending}
      onClick={() => run(tell, ({ sessionId }) => router.push(`/sessions/${sessionId}`))}
      {...rest}
    >
      {!pending && <Plus aria-hidden="true" className="size-4" strokeWidth={1.75} />}
      New session
    </Button>
  );
}
