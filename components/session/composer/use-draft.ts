"use client";

import { type RefObject, useCallback, useEffect, useState } from "react";
import { joinDraft, readDraft, writeDraft } from "./outbox.ts";

/**
 * What is being written, kept in the browser's storage under `name` with every key. On a slow machine a
 * person can write before the page listens: what stands in the field by then is a part of the draft.
 */
export function useDraft(name: string, field: RefObject<HTMLTextAreaElement | null>) {
  const [text, setText] = useState("");

  const write = useCallback(
    (next: string) => {
      setText(next);
      writeDraft(localStorage, name, next);
    },
    [name],
  );

  useEffect(() => {
    write(joinDraft(readDraft(localStorage, name), field.current?.value ?? ""));
  }, [name, field, write]);

  return [text, write] as const;
}
