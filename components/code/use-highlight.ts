"use client";

import { useEffect, useState } from "react";
import { highlight, type TokenLine } from "./highlighter.ts";

/** Null until the colours are there, and for good where there are none. Code that grows is coloured when it pauses. */
export function useHighlight(code: string, name: string): TokenLine[] | null {
  const [result, setResult] = useState<{ code: string; name: string; lines: TokenLine[] | null } | null>(null);

  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(async () => {
      const lines = await highlight(code, name).catch(() => null);
      if (wanted) setResult({ code, name, lines });
    }, 20);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [code, name]);

  // Of older code only the lines that did not change are still right; CodeLine checks each.
  return result?.name === name ? result.lines : null;
}
