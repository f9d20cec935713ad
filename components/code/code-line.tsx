import type { TokenLine } from "./highlighter.ts";

/** One line, coloured where the colours are of this very text. */
export function CodeLine({ text, tokens }: { text: string; tokens: TokenLine | undefined }) {
  if (!tokens || tokens.map((token) => token.content).join("") !== text) return text || "\u200b";
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no identity but their position
    <span key={index} style={token.htmlStyle ?? { color: token.color }}>
      {token.content}
    </span>
  ));
}
