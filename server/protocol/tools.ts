import type { ToolCallBody } from "./log-entry.ts";

/**
 * The tools that the log knows, in one table: what a tool is called in the Agent Client Protocol, how its card
 * reads, and how a permission for it is asked. The names are those of `tool_call` entries; which tool of which
 * agent that is, and where in its input the target stands, is known by the adapter in `server/agent` alone.
 */
export interface Tool {
  kind: ToolCallBody["kind"];
  icon: ToolIcon;
  /** While it runs, and afterwards. */
  verbs: readonly [string, string];
  /** What stands beside the verb; null where there is nothing to name. */
  target: ToolTarget | null;
  /** Several in a row: `Read 3 files`. */
  many: string;
  /** In a few words, from the target, which is empty while it is not known. */
  title: (target: string) => string;
  /** As in “May the agent …?”. */
  permission?: string;
  /** What opens below the row, where it is not simply text and changes. */
  body?: "terminal" | "file";
  /** Another entry stands for it: the plan, the question. */
  shownElsewhere?: true;
}

export type ToolIcon = "read" | "write" | "edit" | "run" | "search" | "list" | "fetch" | "subagent" | "plan" | "other";
export type ToolTarget =
  | "file"
  | "folder"
  | "command"
  | "pattern"
  | "query"
  | "address"
  | "task"
  | "skill"
  | "question"
  | "tool";

const file = { target: "file", many: "files" } as const;
const edit = { kind: "edit", icon: "edit", target: "file", many: "times" } as const;
const editPermission = "change these files";

const tools = {
  bash: {
    kind: "execute",
    icon: "run",
    verbs: ["Running", "Ran"],
    target: "command",
    many: "commands",
    title: (command) => command || "Run a command",
    permission: "run this command",
    body: "terminal",
  },
  read: {
    ...file,
    kind: "read",
    icon: "read",
    verbs: ["Reading", "Read"],
    title: fileTitle("Read"),
    permission: "read this file",
    body: "file",
  },
  write: {
    ...file,
    kind: "edit",
    icon: "write",
    verbs: ["Writing", "Wrote"],
    title: fileTitle("Write"),
    permission: editPermission,
  },
  edit: { ...edit, verbs: ["Editing", "Edited"], title: fileTitle("Edit"), permission: editPermission },
  multiedit: { ...edit, verbs: ["Editing", "Edited"], title: fileTitle("Edit"), permission: editPermission },
  patch: { ...edit, verbs: ["Patching", "Patched"], title: () => "Apply a patch", permission: editPermission },
  apply_patch: { ...edit, verbs: ["Patching", "Patched"], title: () => "Apply a patch", permission: editPermission },
  list: {
    kind: "search",
    icon: "list",
    verbs: ["Listing", "Listed"],
    target: "folder",
    many: "folders",
    title: (folder) => `List ${folder || "files"}`,
    permission: "list this folder",
  },
  glob: {
    kind: "search",
    icon: "search",
    verbs: ["Looking for", "Looked for"],
    target: "pattern",
    many: "patterns",
    title: (pattern) => `Find ${quoted(pattern)}`.trim(),
    permission: "look for these files",
  },
  grep: {
    kind: "search",
    icon: "search",
    verbs: ["Searching", "Searched"],
    target: "pattern",
    many: "times",
    title: (pattern) => `Search ${quoted(pattern)}`.trim(),
    permission: "search the files",
  },
  codesearch: {
    kind: "search",
    icon: "search",
    verbs: ["Searching code", "Searched code"],
    target: "query",
    many: "times",
    title: (query) => `Search ${quoted(query)}`.trim(),
    permission: "search for code on the web",
  },
  lsp: {
    kind: "search",
    icon: "search",
    verbs: ["Looking up code", "Looked up code"],
    target: "file",
    many: "times",
    title: () => "Look up code",
    permission: "look up code",
  },
  webfetch: {
    kind: "fetch",
    icon: "fetch",
    verbs: ["Fetching", "Fetched"],
    target: "address",
    many: "pages",
    title: (address) => `Fetch ${address}`.trim(),
    permission: "read this web page",
  },
  websearch: {
    kind: "fetch",
    icon: "fetch",
    verbs: ["Searching the web", "Searched the web"],
    target: "query",
    many: "times",
    title: (query) => `Search the web ${quoted(query)}`.trim(),
    permission: "search the web",
  },
  task: {
    kind: "think",
    icon: "subagent",
    verbs: ["Subagent working on", "Subagent finished"],
    target: "task",
    many: "subagents",
    title: (task) => task || "Start a subagent",
    permission: "start a subagent",
  },
  skill: {
    kind: "read",
    icon: "other",
    verbs: ["Loading skill", "Loaded skill"],
    target: "skill",
    many: "times",
    title: (skill) => `Use the skill ${skill}`.trim(),
    permission: "load this skill",
  },
  todowrite: {
    kind: "think",
    icon: "plan",
    verbs: ["Planning", "Planned"],
    target: null,
    many: "times",
    title: () => "Update the plan",
    permission: "update the plan",
    shownElsewhere: true,
  },
  todoread: {
    kind: "think",
    icon: "plan",
    verbs: ["Reading the plan", "Read the plan"],
    target: null,
    many: "times",
    title: () => "Read the plan",
    permission: "read the plan",
    shownElsewhere: true,
  },
  question: {
    kind: "other",
    icon: "other",
    verbs: ["Asking", "Asked"],
    target: "question",
    many: "questions",
    title: (question) => (question ? `Ask: ${question}` : "Ask a question"),
    permission: "ask you a question",
    shownElsewhere: true,
  },
  invalid: {
    kind: "other",
    icon: "other",
    verbs: ["Trying", "Tried"],
    target: "tool",
    many: "times",
    title: (tool) => `Unknown tool ${tool}`.trim(),
  },
} satisfies Record<string, Tool>;

/** What is asked for that is no tool of its own. */
const otherPermissions = new Map([
  ["external_directory", "work outside the session's directory"],
  ["doom_loop", "repeat the same step"],
]);

/** Any tool: one that is not in the table, for example of a server that people added, is named as it is. */
export function toolOf(name: string): Tool {
  const known = Object.hasOwn(tools, name) ? tools[name as keyof typeof tools] : undefined;
  if (known) return known;
  const verbs = [`Using ${name}`, `Used ${name}`] as const;
  return { kind: "other", icon: "other", verbs, target: null, many: "times", title: () => "" };
}

/** As in “May the agent …?”. */
export function permissionPhrase(name: string): string {
  return otherPermissions.get(name) ?? toolOf(name).permission ?? `use ${name}`;
}

function fileTitle(verb: string): (path: string) => string {
  return (path) => `${verb} ${path.split("/").findLast((part) => part !== "") ?? "a file"}`;
}

function quoted(text: string): string {
  return text ? `“${text}”` : "";
}
