"use client";

import { ErrorMessage, type ErrorMessageProps } from "@/components/error-message.tsx";

export default function OuterError(props: ErrorMessageProps) {
  return (
    <main className="page-root flex min-h-dvh flex-col">
      <ErrorMessage {...props} />
    </main>
  );
}
