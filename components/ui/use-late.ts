"use client";

import { useEffect, useState } from "react";

/** Whether something has gone on for longer than nobody would notice. */
export function useLate(going: boolean, milliseconds: number): boolean {
  const [late, setLate] = useState(false);

  useEffect(() => {
    if (!going) return setLate(false);
    const timer = setTimeout(() => setLate(true), milliseconds);
    return () => clearTimeout(timer);
  }, [going, milliseconds]);

  return going && late;
}
