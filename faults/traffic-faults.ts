import type { NumberedEvent } from "../server/protocol/sidecar.ts";
import type { DeliveryStep } from "./deliver-in-order.ts";
import type { TrafficFault } from "./fault-proxy.ts";
import type { FaultTest, Reference } from "./fault-test.ts";
import { anyScenario } from "./scenarios.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { TurnFault } from "./turn-faults.ts";

type AgentEvent = Extract<NumberedEvent, { type: "agent" }>;
interface Making {
  random: SeededRandom;
  reference: Reference;
  test: FaultTest;
}

/** The log must come out as without the fault. Each makes one fault for one run. */
const trafficFaults = {
  "events cut": ({ random, reference }) =>
    atEvent(random.integer(1, reference.events), [{ cut: random.integer(0, 99) / 100 }]),
  "events cut, and again": ({ random, reference }) => {
    const cuts = new Set([1, 2, 3].map(() => random.integer(1, reference.events)));
    return each((_event, count) => (cuts.has(count) ? [{ cut: random.integer(0, 99) / 100 }] : undefined));
  },
  "events away until after the end": ({ random, reference }) => {
    const back = Date.now() + reference.milliseconds + random.integer(500, 3_000);
    const { onEvent } = atEvent(random.integer(1, reference.events), [{ cut: 0 }]);
    let away = false;
    return {
      onEvent(event) {
        const steps = onEvent(event);
        away ||= steps !== undefined;
        return steps;
      },
      refuses: (path) => away && path.startsWith("/agent-events") && Date.now() < back,
    };
  },
  "sidecar out of reach": ({ random, reference, test }) => {
    const at = random.integer(1, reference.events);
    const lasts = random.integer(300, 4_000);
    let back = 0;
    return {
      ...each((_event, count) => {
        if (count !== at) return undefined;
        back = Date.now() + lasts;
        setImmediate(() => test.proxy.cut());
        return [{ cut: 0 }];
      }),
      refuses: () => Date.now() < back,
    };
  },
  "answer to the prompt lost": () => {
    let lost = false;
    return {
      losesAnswer(path) {
        if (lost || !path.endsWith("/prompt_async")) return false;
        lost = true;
        return true;
      },
    };
  },
  "status idle dropped": () => each((event) => (isStatusIdle(event) ? [] : undefined)),
  "session.idle dropped": () => each((event) => (event.payload.type === "session.idle" ? [] : undefined)),
  "both idles dropped": () =>
    each((event) => (event.payload.type === "session.idle" || isStatusIdle(event) ? [] : undefined)),
  "last message update dropped": () => each((event) => (isCompletion(event) ? [] : undefined)),
  "events doubled": ({ random }) => {
    const before: AgentEvent[] = [];
    return each((event) => {
      before.push(event);
      if (!random.chance(0.4)) return undefined;
      return [{ send: event }, { send: before[random.integer(0, before.length - 1)] ?? event }, { send: event }];
    });
  },
  "events late": ({ random, reference }) => {
    const often = 8 / Math.max(8, reference.events);
    return each((event) => (random.chance(often) ? [{ wait: random.integer(20, 600) }, { send: event }] : undefined));
  },
  "events forgotten by the sidecar": ({ random, reference }) => {
    const from = random.integer(1, reference.events);
    return swallow({ from, to: from + random.integer(0, reference.events) }, (first, last) => [
      { send: { type: "gap", from: first, to: last } },
    ]);
  },
  "events lost before the sidecar": ({ random, reference }) => {
    const from = random.integer(1, reference.events);
    return swallow({ from, to: from + random.integer(1, reference.events) }, (first, last) => [
      { send: { type: "life", number: first, life: 1, what: "events-lost", cause: "the connection was closed" } },
      { send: { type: "life", number: last, life: 1, what: "events-connected", cause: null } },
    ]);
  },
} satisfies Record<string, (making: Making) => TrafficFault>;

type TrafficFaultName = keyof typeof trafficFaults;

/** Each as a fault of a whole turn. */
export const namedTrafficFaults: Record<string, TurnFault> = Object.fromEntries(
  (Object.keys(trafficFaults) as TrafficFaultName[]).map((name): [string, TurnFault] => [
    name,
    (test, random) => runTrafficFault(test, random, name),
  ]),
);

async function runTrafficFault(test: FaultTest, random: SeededRandom, name: TrafficFaultName): Promise<string> {
  const scenario = random.pick(anyScenario);
  const reference = await test.reference(scenario);
  test.proxy.fault = trafficFaults[name]({ random, reference, test });
  try {
    await test.finishAlike(await test.begin(scenario), scenario);
  } finally {
    test.proxy.fault = null;
  }
  return scenario.name;
}

/** `count` counts each event once, whichever connection brings it first. */
function each(decide: (event: AgentEvent, count: number) => DeliveryStep[] | undefined) {
  let last = 0;
  let count = 0;
  return {
    onEvent(event: NumberedEvent): DeliveryStep[] | undefined {
      if (event.type !== "agent") return undefined;
      const isNew = event.number > last;
      if (isNew) {
        last = event.number;
        count += 1;
      }
      return decide(event, isNew ? count : 0);
    },
  };
}

function atEvent(at: number, steps: DeliveryStep[]) {
  return each((_event, count) => (count === at ? steps : undefined));
}

/** Nobody ever sees the events of that range; a timer ends it should fewer come. */
function swallow(
  range: { from: number; to: number },
  instead: (first: number, last: number) => DeliveryStep[],
): TrafficFault {
  const swallowed = new Set<number>();
  let first = 0;
  let done = false;
  return each((event, count) => {
    if (swallowed.has(event.number)) return [];
    if (done || count < range.from) return undefined;
    first ||= event.number;
    // What ends the turn ends the range too: nothing would come after it.
    done = count >= range.to || event.payload.type === "session.idle";
    swallowed.add(event.number);
    return done ? instead(first, event.number) : [];
  });
}

function isStatusIdle({ payload }: AgentEvent): boolean {
  return payload.type === "session.status" && (payload.properties.status as { type?: string })?.type === "idle";
}

function isCompletion({ payload }: AgentEvent): boolean {
  const info = payload.properties.info as { role?: string; finish?: string; time?: { completed?: number } } | undefined;
  if (payload.type !== "message.updated" || info?.role !== "assistant") return false;
  return info.time?.completed !== undefined && info.finish !== "tool-calls";
}
