"use client";

import { MessagePage } from "./message-page.tsx";
import { Button } from "./ui/button.tsx";

export interface ErrorMessageProps {
  error: Error & { digest?: string };
  reset: () => void;
}

export function ErrorMessage({ error, reset }: ErrorMessageProps) {
  return (
    <MessagePage
      title="Something went wrong on this page"
      action={
        <>
          <Button look="primary" size="large" onClick={reset}>
            Try again
          </Button>
          <Button size="large" onClick={() => window.location.assign("/")}>
            Go to the start page
          </Button>
        </>
      }
    >
      <p>Everything saved so far is safe. If it happens again, tell whoever runs this server.</p>
      {error.digest && (
        <p className="mt-2 text-13">
          Reference <code className="font-mono text-ink">{error.digest}</code>
        </p>
      )}
    </MessagePage>
  );
}
