"use client";

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "./button.tsx";

const shownMilliseconds = 2000;

/** Says in its own words whether the copy worked: a clipboard can be forbidden. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");

  useEffect(() => {
    if (state === "ready") return;
    const timer = setTimeout(() => setState("ready"), shownMilliseconds);
    return () => clearTimeout(timer);
  }, [state]);

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setState("copied");
    } catch {
      setState("failed");
    }
  }

  const Icon = state === "copied" ? Check : Copy;
  return (
    <Button onClick={copy} className="min-w-24">
      <Icon aria-hidden="true" className="size-4" />
      <span aria-live="polite">{state === "ready" ? label : state === "copied" ? "Copied" : "Copy failed"}</span>
    </Button>
  );
}
