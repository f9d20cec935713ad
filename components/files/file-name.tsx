import { toNamePieces } from "@/server/protocol/shown-name.ts";

/** A name or path of a file. What could not be seen, or be taken for something else, is spelt out on a ground of its own. */
export function FileName({ name }: { name: string }) {
  return (
    <bdi>
      {toNamePieces(name).map(({ text, isSpelt }, index) =>
        isSpelt ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a name never changes
          <span key={index} className="rounded-control bg-ink/10 px-0.5 text-ink">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </bdi>
  );
}
