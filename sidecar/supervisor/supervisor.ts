import { setTimeout as sleep } from "node:timers/promises";
import type { AgentAddress, AgentProcess } from "./agent-process.ts";
import { type AgentConfig, writeAgentConfig } from "./write-agent-config.ts";

export type AgentState = "waiting" | "starting" | "running" | "restarting" | "failed";

/**
 * Keeps one opencode running, from the moment the gate opens. States: `waiting` until then,
 * `starting` the first time, `running`, `restarting` after it died or on request, and `failed` when
 * it died too often; only a restart on request leads out of that. One loop owns the process, so
 * there are never two.
 */
export interface Supervisor {
  readonly state: AgentState;
  readonly life: number;
  readonly version: string | null;
  /** opencode's last words, since it last ran well. */
  readonly cause: string | null;
  /** Null unless it is running. */
  address(): AgentAddress | null;
  /** Opens the gate. Idempotent. */
  open(): Promise<void>;
  readonly gate: "closed" | "open";
  /** Resolves once the old one has ended and the new one is being started; before the gate opens, only keeps the config. */
  restart(config?: AgentConfig): Promise<void>;
  /** Ends the agent for good. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  config: AgentConfig;
  configPath: string;
  agentPort: number;
  /** Ends what is left of an earlier life that nobody ended in order. */
  cleanUp(): Promise<void>;
  launch(): Promise<AgentProcess>;
  /** Called when it answers; it counts as running once this resolves. `signal` ends with the life. */
  attach(input: { life: number; address: AgentAddress; signal: AbortSignal }): Promise<void>;
  /** Called when a life that was attached has ended, before its signal is aborted. */
  detach(input: { life: number; cause: string }): Promise<void>;
  report(message: string): void;
  maxFailures?: number;
  failureWindow?: number;
}

const maxPause = 10_000;

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { configPath, agentPort, maxFailures = 5, failureWindow = 120_000 } = options;
  let config = options.config;
  let gate: "closed" | "open" = "closed";
  let state: AgentState = "waiting";
  let life = 0;
  let version: string | null = null;
  let cause: string | null = null;
  let address: AgentAddress | null = null;
  let current: AgentProcess | null = null;
  let loop: Promise<void> | null = null;
  let stopping = false;
  let restartAsked = false;
  let pause = new AbortController();
  let failures: number[] = [];

  /** One life; resolves with the cause of its end. */
  async function live({ afterRequest }: { afterRequest: boolean }): Promise<string> {
    life += 1;
    const over = new AbortController();
    let attached = false;
    let words: string;
    try {
      // On request, what the agent left running in the background (a dev server) may go on.
      if (!afterRequest) await options.cleanUp();
      await writeAgentConfig(configPath, config, agentPort);
      const agent = await options.launch();
      current = agent;
      if (stopping || restartAsked) throw new Error("asked to end");
      const healthy = await agent.healthy();
      version = healthy.version;
      attached = true;
      const attaching = options.attach({ life, address: healthy.address, signal: over.signal });
      const connected = await Promise.race([attaching.then(() => true), agent.exited.then(() => false)]);
      if (connected && !restartAsked && !stopping) {
        address = healthy.address;
        state = "running";
        cause = null;
        options.report(`opencode ${version} runs (life ${life})`);
      }
      words = await agent.exited;
    } catch (error) {
      words = (error as Error).message;
    }
    address = null;
    if (state === "running") state = "restarting";
    await current?.end();
    current = null;
    if (attached) await options.detach({ life, cause: words });
    over.abort();
    return words;
  }

  async function run(): Promise<void> {
    let afterRequest = false;
    while (!stopping) {
      restartAsked = false;
      const words = await live({ afterRequest });
      if (stopping) return;
      afterRequest = restartAsked;
      if (restartAsked) continue;
      cause = words.slice(0, 2_000);
      options.report(`The agent is not running: ${cause}`);
      const now = Date.now();
      failures = [...failures.filter((time) => now - time < failureWindow), now];
      if (failures.length >= maxFailures) {
        state = "failed";
        return;
      }
      state = "restarting";
      pause = new AbortController();
      const milliseconds = Math.min(maxPause, 250 * 2 ** (failures.length - 1));
      await sleep(milliseconds, undefined, { signal: pause.signal }).catch(() => {});
    }
  }

  function begin(): void {
    loop = run()
      .catch((error: Error) => {
        state = "failed";
        cause = error.message;
      })
      .finally(() => {
        loop = null;
      });
  }

  return {
    get state() {
      return state;
    },
    get life() {
      return life;
    },
    get version() {
      return version;
    },
    get cause() {
      return cause;
    },
    get gate() {
      return gate;
    },
    address: () => address,
    async open() {
      if (gate === "open") return;
      gate = "open";
      state = "starting";
      begin();
    },
    async restart(replacement) {
      if (replacement) config = replacement;
      if (gate === "closed" || stopping) return;
      state = "restarting";
      address = null;
      failures = [];
      restartAsked = true;
      pause.abort();
      if (loop) await current?.end();
      else begin();
    },
    async stop() {
      stopping = true;
      pause.abort();
      await current?.end();
      await loop;
      state = "waiting";
    },
  };
}
