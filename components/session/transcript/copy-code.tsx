"use client";

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { toast } from "sonner";

export function CopyCode({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);

  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      toast.error("The browser did not allow copying. Select the text instead.");
    }
  }

  const Icon = copied ? Check : Copy;
  return (
    <button
      type="button"
      aria-label={copied ? "Copied" : "Copy"}
      onClick={copy}
      className="grid size-6 place-items-center rounded-control text-muted transition-colors hover:bg-ink/6 hover:text-ink pointer-coarse:size-8"
    >
      <Icon aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
    </button>
  );
}
