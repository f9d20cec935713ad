import type { HighlighterCore, ThemedToken } from "shiki/core";

export type TokenLine = Pick<ThemedToken, "content" | "htmlStyle" | "color">[];

/** Longer than this, colour costs more than it tells. */
const maxHighlighted = 200_000;

// Each grammar is a file of its own, loaded when first needed.
const grammars = {
  bash: () => import("shiki/langs/bash.mjs"),
  c: () => import("shiki/langs/c.mjs"),
  cpp: () => import("shiki/langs/cpp.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  html: () => import("shiki/langs/html.mjs"),
  ini: () => import("shiki/langs/ini.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  javascript: () => import("shiki/langs/javascript.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  jsx: () => import("shiki/langs/jsx.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  lua: () => import("shiki/langs/lua.mjs"),
  make: () => import("shiki/langs/make.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  php: () => import("shiki/langs/php.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  ruby: () => import("shiki/langs/ruby.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  scss: () => import("shiki/langs/scss.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  svelte: () => import("shiki/langs/svelte.mjs"),
  swift: () => import("shiki/langs/swift.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  typescript: () => import("shiki/langs/typescript.mjs"),
  vue: () => import("shiki/langs/vue.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
} as const;

type Grammar = keyof typeof grammars;

/** What people and files call them. */
const otherNames: Record<string, Grammar> = {
  sh: "bash",
  shell: "bash",
  shellscript: "bash",
  zsh: "bash",
  console: "bash",
  h: "c",
  cc: "cpp",
  hpp: "cpp",
  cs: "csharp",
  patch: "diff",
  dockerfile: "docker",
  htm: "html",
  conf: "ini",
  env: "ini",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsonc: "json",
  kt: "kotlin",
  makefile: "make",
  md: "markdown",
  mdx: "markdown",
  py: "python",
  rb: "ruby",
  rs: "rust",
  golang: "go",
  ts: "typescript",
  mts: "typescript",
  cts: "typescript",
  svg: "xml",
  yml: "yaml",
};

/** By a fence's word, or by a file's name; null for what has no grammar here. */
export function grammarOf(name: string): Grammar | null {
  const base = name.toLowerCase().split("/").at(-1) ?? "";
  for (const word of [base, base.split(".").at(-1) ?? ""]) {
    if (Object.hasOwn(grammars, word)) return word as Grammar;
    const other = otherNames[word];
    if (other) return other;
  }
  return null;
}

let loading: Promise<HighlighterCore> | null = null;

/** Null when there is nothing to colour; the plain text is then already right. */
export async function highlight(code: string, name: string): Promise<TokenLine[] | null> {
  const grammar = grammarOf(name);
  if (!grammar || code.length > maxHighlighted) return null;
  loading ??= load();
  const highlighter = await loading;
  if (!highlighter.getLoadedLanguages().includes(grammar)) await highlighter.loadLanguage(grammars[grammar]());
  // The first line of a grammar compiles its rules; cut off by the default limit it would be coloured wrongly.
  return highlighter.codeToTokensBase(code, {
    lang: grammar,
    theme: "dormouse",
    tokenizeTimeLimit: 5000,
    tokenizeMaxLineLength: 2000,
  });
}

// The JavaScript engine needs no WebAssembly, which the content security policy forbids; the theme is
// made of CSS variables, so that light and dark are one result.
async function load(): Promise<HighlighterCore> {
  const [{ createCssVariablesTheme, createHighlighterCore }, { createJavaScriptRegexEngine }] = await Promise.all([
    import("shiki/core"),
    import("shiki/engine/javascript"),
  ]);
  const theme = createCssVariablesTheme({ name: "dormouse", variablePrefix: "--code-", fontStyle: true });
  return createHighlighterCore({
    themes: [theme],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
}
