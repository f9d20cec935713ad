import { Skeleton } from "./skeleton.tsx";

/** Stands for a page that is on its way. */
export function LoadingLines() {
  return (
    <div role="status" className="flex flex-col gap-4">
      <span className="sr-only">Loading</span>
      <Skeleton className="h-5 w-40" />
      <Skeleton className="h-24 w-full" />
      <Skeleton className="h-5 w-56" />
      <Skeleton className="h-40 w-full" />
    </div>
  );
}
