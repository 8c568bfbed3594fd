"use client";

import { ChevronDown, ChevronUp, Download } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { IconButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { CopyButton } from "@/components/ui/copy-button";
import { Input } from "@/components/ui/input";
import { payloadHref } from "@/lib/events/events.browser";
import type { BodyOut } from "@/lib/events/events.shapes";
import { formatBytes, formatNumber } from "@/lib/platform/plain/format.pure";
import { fromBase64, hexLines } from "./hex-lines";
import { findNodes, MATCHES_MAX, openJson } from "./json-nodes";
import { JsonTree } from "./json-tree";
import { splitByMatches } from "./split-by-matches";

type Mode = "tree" | "raw" | "hex";

const HEX_STEP = 512;

function Raw({ text, words, current }: { text: string; words: string; current: number }) {
  const parts = useMemo(() => splitByMatches(text, words, MATCHES_MAX), [text, words]);
  let match = -1;
  return (
    <pre className="px-3 py-2 font-mono text-sm wrap-anywhere whitespace-pre-wrap">
      {parts.map((part) => {
        if (!part.match) return part.text;
        match += 1;
        const here = match === current;
        return (
          <mark
            key={part.at}
            ref={here ? (mark) => mark?.scrollIntoView({ block: "center" }) : undefined}
            className={classNames("bg-selected text-ink", here && "outline outline-accent")}
          >
            {part.text}
          </mark>
        );
      })}
    </pre>
  );
}

function Hex({ bytes }: { bytes: Uint8Array }) {
  const [lines, setLines] = useState(HEX_STEP);
  const shown = useMemo(() => hexLines(bytes, 0, lines), [bytes, lines]);
  const rest = bytes.length - shown.length * 16;
  return (
    <div className="overflow-x-auto px-3 py-2">
      <pre className="font-mono text-sm">
        {shown.map((line) => (
          <div key={line.offset}>
            <span className="text-faint">{line.offset}</span>
            {`  ${line.hex}  `}
            <span className="text-muted">{line.ascii}</span>
          </div>
        ))}
      </pre>
      {rest > 0 ? (
        <button
          type="button"
          className="text-accent hover:underline"
          onClick={() => setLines((now) => now + 4 * HEX_STEP)}
        >
          {formatBytes(rest)} more
        </button>
      ) : null}
    </div>
  );
}

/** A payload as received: as a tree if it is JSON, as text if it is text, and always as bytes. */
export function PayloadView({
  eventId,
  body,
  revision,
}: {
  eventId: string;
  body: BodyOut;
  /** The revision that `body` is; absent = the current one. */
  revision?: number;
}) {
  const bytes = useMemo(() => fromBase64(body.base64), [body.base64]);
  const json = useMemo(() => (body.text === null ? null : openJson(bytes)), [body.text, bytes]);
  const [chosen, setChosen] = useState<Mode | null>(null);
  const [words, setWords] = useState("");
  const [current, setCurrent] = useState(0);
  const wanted = useDeferredValue(words.trim());

  const modes: Mode[] = [
    ...(json?.doc ? (["tree"] as const) : []),
    ...(body.text === null ? [] : (["raw"] as const)),
    "hex",
  ];
  const mode = chosen !== null && modes.includes(chosen) ? chosen : (modes[0] ?? "hex");
  const found = useMemo(() => (json?.doc && wanted !== "" ? findNodes(json.doc, wanted) : []), [json, wanted]);
  const inText = useMemo(
    () =>
      mode === "raw" && wanted !== ""
        ? splitByMatches(body.text ?? "", wanted, MATCHES_MAX).filter((part) => part.match).length
        : 0,
    [mode, wanted, body.text],
  );
  const matches = mode === "tree" ? found.length : inText;
  const step = (by: number) => setCurrent((now) => (matches === 0 ? 0 : (now + by + matches) % matches));

  if (body.bytes === 0) return <p className="px-3 py-4 text-muted">The payload is empty: zero bytes.</p>;
  return (
    <div className="flex min-h-0 flex-col">
      <div className="sticky top-0 z-10 flex flex-wrap items-center gap-2 border-b border-line bg-surface px-3 py-1.5">
        <fieldset className="flex rounded-md border border-line-strong">
          <legend className="sr-only">Show the payload as</legend>
          {modes.map((entry) => (
            <button
              key={entry}
              type="button"
              aria-pressed={mode === entry}
              onClick={() => {
                setChosen(entry);
                setCurrent(0);
              }}
              className="h-6 px-2 text-sm text-muted first:rounded-l-[4px] last:rounded-r-[4px] hover:bg-hover aria-pressed:bg-hover aria-pressed:font-medium aria-pressed:text-ink"
            >
              {entry}
            </button>
          ))}
        </fieldset>
        {mode === "hex" ? null : (
          <div className="flex items-center gap-1">
            <Input
              aria-label="Search in the payload"
              placeholder="search inside"
              value={words}
              onChange={(event) => {
                setWords(event.target.value);
                setCurrent(0);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
                if (event.key === "Escape") setWords("");
              }}
              className="h-6! w-36!"
            />
            {wanted === "" ? null : (
              <>
                <span aria-live="polite" className="text-sm whitespace-nowrap text-faint">
                  {matches === 0
                    ? "none"
                    : `${formatNumber(current + 1)} of ${matches >= MATCHES_MAX ? "≥ " : ""}${formatNumber(matches)}`}
                </span>
                <IconButton size="sm" label="Previous match" onClick={() => step(-1)} disabled={matches === 0}>
                  <ChevronUp size={13} aria-hidden />
                </IconButton>
                <IconButton size="sm" label="Next match" onClick={() => step(1)} disabled={matches === 0}>
                  <ChevronDown size={13} aria-hidden />
                </IconButton>
              </>
            )}
          </div>
        )}
        <span className="ml-auto hidden truncate text-sm text-faint sm:inline">
          {body.contentType} · {formatBytes(body.bytes)}
        </span>
        <span className="ml-auto sm:hidden" />
        {body.text === null ? null : <CopyButton text={body.text} label="payload" />}
        <a
          href={payloadHref(eventId, revision)}
          download
          aria-label="Download the exact bytes"
          data-tip="Download the exact bytes"
          className="flex size-6 items-center justify-center rounded-md text-faint hover:bg-hover hover:text-ink"
        >
          <Download size={13} aria-hidden />
        </a>
      </div>
      {body.masked ? (
        <p className="border-b border-line px-3 py-1.5 text-muted">
          {json?.doc
            ? "Values under secret names are masked: you may not reveal them."
            : "This payload is not valid JSON, so its secret values cannot be found: you may not reveal it."}
        </p>
      ) : null}
      {!body.masked && json?.fault && body.contentType.includes("json") && mode !== "hex" ? (
        <p className="border-b border-line px-3 py-1.5 text-warning">
          Its content type is JSON, but it is not valid JSON: <span className="wrap-anywhere">{json.fault}</span>
        </p>
      ) : null}
      {mode === "tree" && json?.doc ? (
        <JsonTree key={eventId} doc={json.doc} matches={found} current={current} />
      ) : mode === "raw" && body.text !== null ? (
        <Raw text={body.text} words={wanted} current={current} />
      ) : (
        <Hex bytes={bytes} />
      )}
    </div>
  );
}
