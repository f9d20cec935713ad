/** What a session is asked, one prompt after another. Chosen so that every kind of entry comes up. */
export interface Scenario {
  name: string;
  prompts: readonly [string, ...string[]];
}

export const scenarios = {
  text: { name: "text", prompts: ["Write a long text of 50 words"] },
  thought: { name: "thought", prompts: ["think about dormice"] },
  command: { name: "command", prompts: ["run `for i in 1 2 3 4; do echo line $i; sleep 0.2; done`"] },
  plan: { name: "plan", prompts: ["make a todo list and work through it"] },
  page: { name: "page", prompts: ["make a web page about hazelnuts"] },
  subagent: { name: "subagent", prompts: ["start a subagent"] },
  question: { name: "question", prompts: ["ask me a question"] },
  // Longer than an entry takes.
  burst: { name: "burst", prompts: ["say a burst of 3000"] },
  three: { name: "three", prompts: ["Write a long text of 20 words", "think about dormice", "what is my name?"] },
} satisfies Record<string, Scenario>;

export const anyScenario = [
  scenarios.text,
  scenarios.thought,
  scenarios.command,
  scenarios.plan,
  scenarios.page,
  scenarios.subagent,
  scenarios.question,
  scenarios.burst,
  scenarios.three,
] as const satisfies readonly [Scenario, ...Scenario[]];
