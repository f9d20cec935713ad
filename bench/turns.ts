import type { LogDelta, LogEntry } from "../server/protocol/log-entry.ts";
import { type CpuTimes, cpuSince, dormouseProgram, readCpuTimes } from "./lib/cpu-time.ts";
import type { RunningDormouse } from "./lib/measured-dormouse.ts";
import type { DirectOpencode } from "./lib/opencode-direct.ts";

/** Milliseconds from sending the prompt until a viewer holds the answer's first text, its last, and sees the end. */
export interface Round {
  first: number;
  last: number;
  end: number;
}

/** Of one turn, in milliseconds, by program: on few cores whatever one uses, another waits for. */
export interface TurnCpu {
  through: CpuTimes;
  direct: CpuTimes;
}

const deadline = 120_000;

/** The same prompt to both, alternating: what slows the machine down slows both down. */
export async function measureTurns(input: {
  dormouse: RunningDormouse;
  direct: DirectOpencode;
  prompt: string;
  /** Not counted: the first turn wakes the sandbox, and opencode's own first turns are slow on both sides. */
  warmUp: number;
  rounds: number;
}): Promise<{ through: Round[]; direct: Round[]; cpu: TurnCpu }> {
  const { dormouse, direct, prompt, warmUp, rounds } = input;
  const { session } = await dormouse.call<{ session: { id: string } }>("POST", "/api/v1/sessions");
  const follower = await followAnswers(dormouse, session.id);
  const measured = { through: [] as Round[], direct: [] as Round[] };
  const readCpu = () => ({
    through: readCpuTimes(dormouse.pid, dormouseProgram),
    direct: readCpuTimes(direct.pid, () => "opencode"),
  });
  let before = readCpu();
  for (let round = -warmUp; round < rounds; round++) {
    if (round === 0) before = readCpu();
    const through = await follower.turn(`${prompt} (${round})`);
    const straight = await direct.turn(`${prompt} (${round})`);
    if (round < 0) continue;
    measured.through.push(through);
    measured.direct.push(straight);
  }
  const after = readCpu();
  follower.stop();
  const ofOne = (times: CpuTimes) =>
    Object.fromEntries(Object.entries(times).map(([program, time]) => [program, time / rounds]));
  const cpu = {
    through: ofOne(cpuSince(before.through, after.through)),
    direct: ofOne(cpuSince(before.direct, after.direct)),
  };
  return { ...measured, cpu };
}

async function followAnswers(dormouse: RunningDormouse, sessionId: string) {
  let onText = () => {};
  let onEnd = () => {};
  // An answer that came quickly is closed when it is first seen; what counts is that it is new.
  const lengths = new Map<number, number>();
  const grow = (number: number, length: number) => {
    if (length <= (lengths.get(number) ?? 0)) return;
    lengths.set(number, length);
    onText();
  };
  const stream = await dormouse.follow(`/api/v1/sessions/${sessionId}/events`, ({ event, data }) => {
    if (event === "delta") {
      const { number, offset, text } = JSON.parse(data) as LogDelta;
      grow(number, offset + text.length);
    }
    if (event !== "entries") return;
    const { entries } = JSON.parse(data) as { entries: LogEntry[] };
    for (const entry of entries) if (entry.kind === "agent_message") grow(entry.number, entry.body.text.length);
    if (entries.some((entry) => entry.kind === "turn-end")) onEnd();
  });
  return {
    stop: stream.stop,
    async turn(prompt: string): Promise<Round> {
      let first = Number.NaN;
      let last = Number.NaN;
      const begin = performance.now();
      onText = () => {
        last = performance.now() - begin;
        if (Number.isNaN(first)) first = last;
      };
      const ended = new Promise<number>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`The turn did not end within ${deadline / 1000} s`)), deadline);
        onEnd = () => {
          clearTimeout(late);
          resolve(performance.now() - begin);
        };
      });
      await dormouse.call("POST", `/api/v1/sessions/${sessionId}/turns`, {
        prompt,
        idempotencyKey: crypto.randomUUID(),
      });
      return { end: await ended, first, last };
    },
  };
}
