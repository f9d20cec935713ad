"use client";

import type { SandboxView } from "@/server/protocol/sandbox-views.ts";
import { idleChoicesWith, idleWords } from "../../sandbox/sandbox-words.ts";
import { Choice } from "../../ui/choice.tsx";
import type { Outcome } from "../../ui/outcome.ts";
import { useInBrowser } from "../../ui/use-in-browser.ts";
import { useToldOutcome } from "../../ui/use-told-outcome.ts";
import { awakeChoices, untilWords } from "./keep-awake.ts";

export type ConfigureSandbox = (input: {
  sandboxId: string;
  idleMinutes?: number | null;
  /** ISO 8601. */
  keepAwakeUntil?: string | null;
}) => Promise<Outcome>;

const asTenant = "tenant";
const off = "off";

/** When it may sleep by itself. */
export function SleepChoices(props: { sandbox: SandboxView; tenantIdleMinutes: number; configure: ConfigureSandbox }) {
  const { sandbox, tenantIdleMinutes, configure } = props;
  const idle = useToldOutcome();
  const awake = useToldOutcome();
  const ownMinutes = sandbox.idle.own ? sandbox.idle.minutes : null;

  function change(control: typeof idle, changes: { idleMinutes?: number | null; keepAwakeUntil?: string | null }) {
    control.run(() => configure({ sandboxId: sandbox.id, ...changes }));
  }

  return (
    <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
      <Choice
        label="Sleeps after"
        value={ownMinutes === null ? asTenant : String(ownMinutes)}
        pending={idle.pending}
        onChoose={(value) => change(idle, { idleMinutes: value === asTenant ? null : Number(value) })}
      >
        <option value={asTenant}>Default ({idleWords(tenantIdleMinutes).toLowerCase()})</option>
        {idleChoicesWith(ownMinutes).map((minutes) => (
          <option key={minutes} value={minutes}>
            {idleWords(minutes)}
          </option>
        ))}
      </Choice>
      <KeepAwake
        until={sandbox.keepAwakeUntil}
        pending={awake.pending}
        keep={(until) => change(awake, { keepAwakeUntil: until?.toISOString() ?? null })}
      />
    </div>
  );
}

function KeepAwake(props: { until: Date | null; pending: boolean; keep: (until: Date | null) => void }) {
  const { pending, keep } = props;
  const inBrowser = useInBrowser();
  const until = props.until && props.until.getTime() > Date.now() ? props.until : null;
  return (
    <Choice
      label="Keep awake"
      value={until ? "until" : off}
      pending={pending}
      onChoose={(value) => keep(awakeChoices.find(({ name }) => name === value)?.until(new Date()) ?? null)}
    >
      <option value={off}>Off</option>
      {until && <option value="until">{inBrowser ? untilWords(until, new Date()) : "On"}</option>}
      {awakeChoices.map(({ name, label }) => (
        <option key={name} value={name}>
          {label}
        </option>
      ))}
    </Choice>
  );
}
