import { NotFoundMessage } from "@/components/not-found-message.tsx";

export default function NotFoundPage() {
  return (
    <main className="page-root flex min-h-dvh flex-col">
      <NotFoundMessage />
    </main>
  );
}
