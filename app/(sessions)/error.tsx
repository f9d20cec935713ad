"use client";

import { ErrorMessage, type ErrorMessageProps } from "@/components/error-message.tsx";

export default function PageError(props: ErrorMessageProps) {
  return <ErrorMessage {...props} />;
}
