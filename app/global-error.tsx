"use client";

import "./globals.css";
import { ErrorMessage, type ErrorMessageProps } from "@/components/error-message.tsx";

/** Stands in for the root layout itself, so it brings its own document. */
export default function GlobalError(props: ErrorMessageProps) {
  return (
    <html lang="en">
      <body>
        <title>Dormouse</title>
        <main className="page-root flex min-h-dvh flex-col">
          <ErrorMessage {...props} />
        </main>
      </body>
    </html>
  );
}
