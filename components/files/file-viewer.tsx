"use client";

import { Download, X } from "lucide-react";
import { useEffect, useState } from "react";
import { fileSize } from "@/server/protocol/file-size.ts";
import { shownName } from "@/server/protocol/shown-name.ts";
import type { FileEntry } from "@/server/protocol/sidecar.ts";
import { CodeView } from "../code/code-view.tsx";
import { readBytes } from "../session/session-api.ts";
import { Button, buttonClasses } from "../ui/button.tsx";
import { LoadingLines } from "../ui/loading-lines.tsx";
import { asText, maxShownBytes, pictureType } from "./file-kind.ts";
import { FileName } from "./file-name.tsx";

const maxPictureBytes = 10 * maxShownBytes;

interface FileViewerProps {
  /** Replaced when the file changed: its time and size tell that it has to be read again. */
  entry: FileEntry;
  /** Of its bytes. */
  address: string;
  onClose: () => void;
}

export function FileViewer({ entry, address, onClose }: FileViewerProps) {
  return (
    <section aria-label={shownName(entry.path)} className="flex min-h-0 flex-1 flex-col">
      <header className="flex h-10 shrink-0 items-center gap-1 border-b border-line pr-1.5 pl-4">
        <span className="min-w-0 flex-1 truncate whitespace-pre font-mono text-12" title={shownName(entry.path)}>
          <FileName name={entry.path} />
        </span>
        <span className="shrink-0 pr-1 font-mono text-12 text-muted tabular-nums">{fileSize(entry.size)}</span>
        {entry.kind === "file" && (
          <a
            href={`${address}&download=1`}
            download={entry.name}
            aria-label={`Download ${shownName(entry.name)}`}
            className={buttonClasses({ look: "quiet", size: "icon" })}
          >
            <Download aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
          </a>
        )}
        <Button look="quiet" size="icon" aria-label="Close the file" onClick={onClose}>
          <X aria-hidden="true" className="size-3.5" strokeWidth={1.75} />
        </Button>
      </header>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable without a mouse
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto bg-raised focus-visible:-outline-offset-2"
      >
        <Content entry={entry} address={address} />
      </div>
    </section>
  );
}

type Loaded = { text: string } | { picture: string } | { remark: string };

function Content({ entry, address }: Pick<FileViewerProps, "entry" | "address">) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const { path, size, modifiedAt } = entry;
  const tooLarge = size > (pictureType(path) ? maxPictureBytes : maxShownBytes);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a file that changed is read again
  useEffect(() => {
    if (tooLarge) return;
    const stop = new AbortController();
    let picture: string | null = null;
    readBytes(address, stop.signal).then((outcome) => {
      if (stop.signal.aborted) return;
      const next: Loaded = outcome.ok ? show(path, outcome.bytes) : { remark: outcome.message };
      picture = "picture" in next ? next.picture : null;
      setLoaded(next);
    });
    return () => {
      stop.abort();
      if (picture) URL.revokeObjectURL(picture);
    };
  }, [address, path, size, modifiedAt, tooLarge]);

  if (tooLarge) {
    return <Remark>{`This file is ${fileSize(size)}, too large to show here. Download it to open it.`}</Remark>;
  }
  if (!loaded) {
    return (
      <div className="p-4">
        <LoadingLines />
      </div>
    );
  }
  if ("remark" in loaded) return <Remark>{loaded.remark}</Remark>;
  // biome-ignore lint/performance/noImgElement: a file of the sandbox, shown as it is
  if ("picture" in loaded) return <img src={loaded.picture} alt={shownName(path)} className="mx-auto max-w-full p-4" />;
  if (loaded.text === "") return <Remark>This file is empty.</Remark>;
  return <CodeView text={loaded.text} name={path} />;
}

/** Files come as plain bytes, so that nothing of them can run here; a picture gets its type only as a picture. */
function show(path: string, bytes: Uint8Array<ArrayBuffer>): Loaded {
  const type = pictureType(path);
  if (type) return { picture: URL.createObjectURL(new Blob([bytes], { type })) };
  const text = asText(bytes);
  return text === null ? { remark: "This file is not text. Download it to open it." } : { text };
}

function Remark({ children }: { children: string }) {
  return <p className="px-4 py-3 text-13 text-muted">{children}</p>;
}
