import type { NumberedEvent } from "../server/protocol/sidecar.ts";

/** One step of what happens in the place of a frame. `cut` keeps that share of the frame's bytes. */
export type DeliveryStep = { send: string | NumberedEvent } | { wait: number } | { cut: number };

interface Carrier {
  send(what: string | NumberedEvent): void;
  cut(keep: number): void;
}

/** Steps happen one after another; a wait holds back everything behind it, as a slow network does. */
export function deliverInOrder(): { add(step: DeliveryStep, carrier: Carrier): void; end(): void } {
  const waiting: [DeliveryStep, Carrier][] = [];
  let timer: NodeJS.Timeout | undefined;
  let ended = false;

  function run(): void {
    timer = undefined;
    for (let next = waiting.shift(); next && !ended; next = waiting.shift()) {
      const [step, carrier] = next;
      if ("wait" in step) {
        timer = setTimeout(run, step.wait);
        return;
      }
      if ("send" in step) carrier.send(step.send);
      else carrier.cut(step.cut);
    }
  }

  return {
    add(step, carrier) {
      waiting.push([step, carrier]);
      if (!timer) run();
    },
    end() {
      ended = true;
      clearTimeout(timer);
      waiting.length = 0;
    },
  };
}
