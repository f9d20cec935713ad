import { describe, expect, it } from "vitest";
import type { OperationView, SandboxView } from "@/server/protocol/sandbox-views.ts";
import {
  currentStep,
  idleChoicesWith,
  idleWords,
  overdueAdvice,
  stateWords,
  toActions,
  toProblem,
  toSteps,
  whereWords,
} from "./sandbox-words.ts";

const begun = Date.parse("2026-01-01T00:00:00Z");
const after = (seconds: number) => new Date(begun + seconds * 1000);

const operation = (changes: Partial<OperationView>): OperationView => ({
  id: "o",
  verb: "sleep",
  state: "running",
  phase: "quiescing",
  cause: null,
  reason: "asked",
  requestedBy: null,
  options: {},
  phases: [],
  requestedAt: after(0),
  startedAt: after(0),
  deadlineAt: after(600),
  endedAt: null,
  ...changes,
});

const sandbox = (changes: Partial<SandboxView>): SandboxView => ({
  id: "s",
  personName: "Ada",
  personEmail: "ada@example.org",
  backend: "local",
  isolation: "sandboxed",
  state: "running",
  wantedState: "running",
  cause: null,
  home: null,
  sessionCount: 1,
  lastActiveAt: null,
  createdAt: after(0),
  savedAt: null,
  unsavedSince: null,
  idle: { minutes: 60, own: false },
  keepAwakeUntil: null,
  noSleepBefore: null,
  operation: null,
  ...changes,
});

const phases = (...entered: [string, number][]) =>
  entered.map(([phase, seconds]) => ({ phase, at: after(seconds).toISOString() })) as OperationView["phases"];

const offered = (view: SandboxView, now = begun) =>
  toActions(view, now)
    .filter(({ refusal }) => refusal === null)
    .map(({ verb }) => verb);

describe("the state of a sandbox", () => {
  it("is a plain word, or what is being done", () => {
    const words = (["running", "sleeping", "provisioning", "failed", "terminated"] as const).map(
      (state) => stateWords(sandbox({ state })).word,
    );
    expect(words).toEqual(["Awake", "Asleep", "Starting", "Needs attention", "Not started"]);
    expect(stateWords(sandbox({ operation: operation({}) }))).toEqual({ tone: "working", word: "Going to sleep" });
    expect(stateWords(sandbox({ operation: operation({ state: "failed" }) })).word).toBe("Awake");
    expect(whereWords({ backend: "local", isolation: "host" })).toBe("Without isolation, on the server");
    expect(whereWords({ backend: "moon", isolation: "vacuum" })).toBe("vacuum, moon");
  });
});

describe("the steps of an operation", () => {
  it("have their times, the current one goes on, and the end is none of them", () => {
    const steps = toSteps(operation({ phases: phases(["quiescing", 0], ["archiving", 2]) }));
    expect(steps).toEqual([
      { label: "Pausing the agent", state: "done", from: begun, to: begun + 2000 },
      { label: "Saving memory and files", state: "current", from: begun + 2000, to: null },
      { label: "Stopping the sandbox", state: "ahead", from: null, to: null },
    ]);
  });

  it("are all ahead until somebody takes it up", () => {
    const asked = operation({ verb: "wake", state: "requested", phase: "starting-sandbox" });
    expect(toSteps(asked).map(({ state }) => state)).toEqual(["ahead", "ahead", "ahead"]);
    expect(currentStep(asked)).toBe("Waiting for a server");
  });

  it("end where it failed, and leave out what was passed over", () => {
    const recovery = operation({
      verb: "recover",
      state: "failed",
      phases: phases(["terminating", 1], ["starting-sandbox", 3]),
      endedAt: after(9),
    });
    expect(toSteps(recovery)).toEqual([
      { label: "Stopping the sandbox", state: "done", from: begun + 1000, to: begun + 3000 },
      { label: "Starting the sandbox", state: "failed", from: begun + 3000, to: begun + 9000 },
    ]);
  });

  it("say of a reset what goes", () => {
    const labels = (files: boolean) =>
      toSteps(operation({ verb: "reset", state: "requested", options: { files } })).map(({ label }) => label);
    expect(labels(false)).toContain("Deleting the saved memory");
    expect(labels(true)).toContain("Deleting saved memory and files");
  });

  it("come with what usually helps", () => {
    expect(overdueAdvice(operation({ phase: "archiving" }))).toContain("Wake it to keep working");
    expect(overdueAdvice(operation({ verb: "wake", phase: "starting-sandbox" }))).toContain("server may have stopped");
    expect(overdueAdvice(operation({ state: "requested" }))).toContain("Try again");
  });
});

describe("what can be done", () => {
  it("depends on the state, and says why not", () => {
    expect(offered(sandbox({}))).toEqual(["sleep", "restart-agent", "recover", "reset"]);
    expect(offered(sandbox({ state: "sleeping" }))).toEqual(["wake", "reset"]);
    expect(offered(sandbox({ state: "failed" }))).toEqual(["wake", "recover", "reset"]);
    expect(offered(sandbox({ state: "terminated" }))).toEqual(["wake", "reset"]);
    expect(toActions(sandbox({ state: "sleeping" }), begun).find(({ verb }) => verb === "sleep")?.refusal).toBe(
      "This sandbox is asleep, so it cannot go to sleep now.",
    );
  });

  it("is what may call off a sleep while one is under way, and nothing once it is decided", () => {
    expect(offered(sandbox({ operation: operation({ phase: "archiving" }) }))).toEqual(["wake", "recover", "reset"]);
    expect(offered(sandbox({ operation: operation({ phase: "terminating" }) }))).toEqual([]);
    expect(offered(sandbox({ operation: operation({ verb: "recover", phase: "archiving" }) }))).toEqual([]);
  });

  it("is everything again once nobody took up what was asked for", () => {
    const asked = sandbox({ state: "sleeping", operation: operation({ verb: "wake", state: "requested" }) });
    expect(offered(asked)).toEqual([]);
    expect(offered(asked, after(601).getTime())).toContain("reset");
  });

  it("is nothing while its machine is away", () => {
    const away = sandbox({ home: { machine: "oak", seenAt: null, isAway: true } });
    expect(offered(away)).toEqual([]);
    expect(toActions(away, begun)[0]?.refusal).toBe("oak is away, and nobody else can reach this sandbox.");
    expect(stateWords(away)).toEqual({ tone: "still", word: "Machine away" });
  });

  it("has one that a person most likely wants where something has to be done", () => {
    const first = (view: SandboxView) => toActions(view, begun).filter((one) => one.first)[0]?.verb;
    expect([first(sandbox({ state: "failed" })), first(sandbox({ state: "sleeping" }))]).toEqual(["recover", "wake"]);
    expect(first(sandbox({}))).toBeUndefined();
  });
});

describe("what is wrong", () => {
  it("is said with its cause, and not while something is being done about it", () => {
    const broken = sandbox({ state: "failed", cause: "No space left." });
    expect(toProblem(broken)).toMatchObject({ title: "The sandbox is not working", cause: "No space left." });
    expect(toProblem({ ...broken, operation: operation({ verb: "recover" }) })).toBeNull();
    const awake = sandbox({ operation: operation({ state: "failed", cause: "The file store is full." }) });
    expect(toProblem(awake)).toMatchObject({ title: "It could not be put to sleep", cause: "The file store is full." });
    expect(toProblem(sandbox({ operation: operation({ state: "cancelled", cause: "Somebody." }) }))).toBeNull();
  });
});

describe("the idle limit", () => {
  it("is said in minutes or hours, and one that is not offered is still shown", () => {
    expect([10, 60, 120, 90, 0].map(idleWords)).toEqual(["10 minutes", "1 hour", "2 hours", "90 minutes", "Never"]);
    expect(idleChoicesWith(45)[0]).toBe(45);
    expect(idleChoicesWith(60)).toEqual(idleChoicesWith(null));
  });
});
