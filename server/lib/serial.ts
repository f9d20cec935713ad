/** Runs tasks one after another, in the order they came. A task that fails does not stop the next. */
export interface Serial {
  run<Result>(task: () => Promise<Result>): Promise<Result>;
}

export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run(task) {
      const next = last.then(task, task);
      last = next.catch(() => {});
      return next;
    },
  };
}
