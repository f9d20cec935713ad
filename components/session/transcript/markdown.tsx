"use client";

import { type ComponentProps, isValidElement, memo, type ReactNode } from "react";
import { type Components, Streamdown } from "streamdown";
import { CodeLine } from "../../code/code-line.tsx";
import { useHighlight } from "../../code/use-highlight.ts";
import { CopyCode } from "./copy-code.tsx";

/** Nothing is fetched: pictures from elsewhere become links, and colours come from our own files. */
const components: Components = {
  ...plainly("p", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr", "strong"),
  ...plainly("thead", "tbody", "tr", "th", "td"),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  code: ({ children }) => <code>{children}</code>,
  inlineCode: ({ children }) => <code>{children}</code>,
  table: ({ children }) => (
    <div className="overflow-x-auto">
      <table className="text-13">{children}</table>
    </div>
  ),
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noopener noreferrer">
      {alt || "Picture"}
    </a>
  ),
};

/** Elements as they are: how they look is said in session.css alone. */
function plainly(...names: string[]): Components {
  return Object.fromEntries(names.map((name) => [name, name])) as Components;
}

export const Markdown = memo(function Markdown({ text, open }: { text: string; open: boolean }) {
  return (
    <Streamdown
      className="markdown text-15"
      mode={open ? "streaming" : "static"}
      parseIncompleteMarkdown={open}
      components={components}
      controls={false}
      linkSafety={{ enabled: false }}
    >
      {text}
    </Streamdown>
  );
});

function CodeBlock({ children }: { children: ReactNode }) {
  const { text, language } = codeOf(children);
  const colours = useHighlight(text, language);
  return (
    <div className="group/code relative rounded-card border border-line bg-raised">
      <div className="flex h-8 items-center justify-between border-b border-line pr-1 pl-3">
        <span className="font-mono text-12 text-muted">{language || "text"}</span>
        <CopyCode text={text} />
      </div>
      <pre className="overflow-x-auto px-3 py-2.5 font-mono text-12 leading-5">
        <code>
          {text.split("\n").map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line's identity is its number
            <span key={index} className="block">
              <CodeLine text={line} tokens={colours?.[index]} />
            </span>
          ))}
        </code>
      </pre>
    </div>
  );
}

function codeOf(children: ReactNode): { text: string; language: string } {
  if (!isValidElement<ComponentProps<"code">>(children)) return { text: String(children ?? ""), language: "" };
  const language = /language-(\S+)/.exec(children.props.className ?? "")?.[1] ?? "";
  return { text: String(children.props.children ?? "").replace(/\n$/, ""), language };
}
