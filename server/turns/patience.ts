/** Does some work until all is lost, and for some time after a stop. */
export async function withPatience<Result>(
  lost: AbortSignal,
  { stop, milliseconds }: { stop: AbortSignal; milliseconds: number },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const onStop = () => {
    timer = setTimeout(() => late.abort(stop.reason), milliseconds);
  };
  if (stop.aborted) onStop();
  else stop.addEventListener("abort", onStop, { once: true });
  try {
    return await work(AbortSignal.any([lost, late.signal]));
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }
}
