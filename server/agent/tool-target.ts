import type { ToolCallBody } from "../protocol/log-entry.ts";
import { type ToolTarget, toolOf } from "../protocol/tools.ts";
import { isFields } from "./tool-content.ts";

type Input = Record<string, unknown>;

/** Where opencode's inputs name what a tool works on. */
const targets: Record<ToolTarget, (input: Input) => unknown> = {
  file: (input) => input.filePath ?? input.path,
  folder: (input) => input.path,
  command: (input) => input.command,
  pattern: (input) => input.pattern,
  query: (input) => input.query,
  address: (input) => input.url,
  task: (input) => input.description,
  skill: (input) => input.name,
  question: (input) =>
    Array.isArray(input.questions) && isFields(input.questions[0]) ? input.questions[0].header : "",
  tool: (input) => input.tool,
};

/** Empty where nothing is named, or not yet. A patch names its files in what it changed. */
export function targetOfTool(tool: string, input: Input, locations: ToolCallBody["locations"]): string {
  const { target } = toolOf(tool);
  if (!target) return "";
  const named = targets[target](input);
  if (typeof named === "string" && named) return named;
  const paths = [...new Set(locations.map(({ path }) => path))];
  if (target !== "file" || paths.length === 0) return "";
  return paths.length === 1 ? (paths[0] ?? "") : `${paths[0]} and ${paths.length - 1} more`;
}
