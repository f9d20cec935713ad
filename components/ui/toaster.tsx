"use client";

import { useTheme } from "next-themes";
import { Toaster as Sonner } from "sonner";

/** For what went well and needs no answer. Failures are said where they happened. */
export function Toaster() {
  const { resolvedTheme } = useTheme();
  return (
    <Sonner
      theme={resolvedTheme === "dark" ? "dark" : "light"}
      position="bottom-right"
      offset={16}
      toastOptions={{
        unstyled: true,
        classNames: {
          toast:
            "flex w-full items-center gap-2.5 rounded-card border border-line bg-raised px-3.5 py-3 font-sans text-13 text-ink",
          icon: "text-ok",
        },
      }}
    />
  );
}
