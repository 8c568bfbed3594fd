"use client";

import { ChevronDown, ChevronUp } from "lucide-react";
import { useDeferredValue, useMemo, useState } from "react";
import { MaskedText } from "@/components/guard/masking/masked-text";
import { DownloadPayload } from "@/components/guard/masking/reveal";
import { IconButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { CopyButton } from "@/components/ui/copy-button";
import { Input } from "@/components/ui/input";
import { Toggles } from "@/components/ui/toggles";
import type { BodyOut } from "@/lib/events/events.shapes";
import { formatBytes, formatNumber } from "@/lib/platform/plain/format.pure";
import { isJsonType } from "@/lib/sources/schemas/body-form.pure";
import { fromBase64 } from "./hex-lines";
import { HexView } from "./hex-view";
import { findNodes, type JsonDoc, MATCHES_MAX, openJson } from "./json-nodes";
import { JsonTree } from "./json-tree";
import { readableLines } from "./readable-lines";
import { splitByMatches } from "./split-by-matches";

type Mode = "tree" | "lines" | "raw" | "hex";

function Raw({ text, words, current }: { text: string; words: string; current: number }) {
  const parts = useMemo(() => splitByMatches(text, words, MATCHES_MAX), [text, words]);
  let match = -1;
  return (
    <pre className="px-3 py-2 font-mono text-sm wrap-anywhere whitespace-pre-wrap">
      {parts.map((part) => {
        if (!part.match) return <MaskedText key={part.at} text={part.text} />;
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

/** The words that are searched in a payload, and the match that is shown. */
function useSearchInside(mode: Mode, doc: JsonDoc | null, text: string | null) {
  const [words, setWords] = useState("");
  const [current, setCurrent] = useState(0);
  const wanted = useDeferredValue(words.trim());
  const found = useMemo(() => (doc && wanted !== "" ? findNodes(doc, wanted) : []), [doc, wanted]);
  const inText = useMemo(
    () =>
      mode !== "tree" && wanted !== ""
        ? splitByMatches(text ?? "", wanted, MATCHES_MAX).filter((part) => part.match).length
        : 0,
    [mode, wanted, text],
  );
  const matches = mode === "tree" ? found.length : inText;
  const step = (by: number) => setCurrent((now) => (matches === 0 ? 0 : (now + by + matches) % matches));
  return { words, setWords, wanted, found, matches, current, setCurrent, step };
}

function SearchInside({ search }: { search: ReturnType<typeof useSearchInside> }) {
  const { words, setWords, wanted, matches, current, setCurrent, step } = search;
  return (
    <div className="flex max-w-72 min-w-24 flex-1 items-center gap-1">
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
        className="h-6! w-full! max-w-36 min-w-24"
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
  );
}

/** The text that is shown: the decoded one, where the message declares its body as encoded. */
function useShownText({ decoded, text, maskedCount }: BodyOut, bytes: Uint8Array) {
  const inner = decoded?.text ?? null;
  const textBytes = useMemo(() => (inner === null ? bytes : new TextEncoder().encode(inner)), [inner, bytes]);
  return inner === null
    ? { text, textBytes, maskedCount }
    : { text: inner, textBytes, maskedCount: decoded!.maskedCount };
}

/** What was decoded for the eye: what is stored, downloaded and sent stays as it is. */
function DecodedLine({ body: { decoded, bytes } }: { body: BodyOut }) {
  if (decoded === null) return null;
  return (
    <p className="border-b border-line px-3 py-1.5 wrap-anywhere text-muted">
      {decoded.text === null
        ? `The message declares its body as ${decoded.from}, but it could not be decoded (${decoded.fault}). The stored bytes are shown.`
        : `Decoded from ${decoded.from}: ${formatBytes(bytes)} stored, ${formatBytes(decoded.bytes)} decoded. Hex, downloads and redrives use the stored bytes.`}
    </p>
  );
}

/** A payload as received: as a tree if it is JSON, as text if it is text, and always as bytes. */
export function PayloadView(props: {
  eventId: string;
  body: BodyOut;
  /** The revision that `body` is; absent = the current one. */
  revision?: number;
}) {
  const { eventId, body, revision } = props;
  const bytes = useMemo(() => fromBase64(body.base64), [body.base64]);
  const { text, textBytes, maskedCount } = useShownText(body, bytes);
  const json = useMemo(() => (text === null ? null : openJson(textBytes)), [text, textBytes]);
  const lines = useMemo(() => (text === null ? null : readableLines(text, body.contentType)), [text, body.contentType]);
  const [chosen, setChosen] = useState<Mode | null>(null);
  const modes: Mode[] = [
    ...(json?.doc ? (["tree"] as const) : []),
    ...(lines === null ? [] : (["lines"] as const)),
    ...(text === null ? [] : (["raw"] as const)),
    "hex",
  ];
  const mode = chosen !== null && modes.includes(chosen) ? chosen : (modes[0] ?? "hex");
  const search = useSearchInside(mode, json?.doc ?? null, mode === "lines" ? lines : text);
  const { wanted, found, current } = search;

  if (body.bytes === 0) return <p className="px-3 py-4 text-muted">The payload is empty: zero bytes.</p>;
  return (
    <div className="flex min-h-0 flex-col">
      <div className="sticky top-0 z-10 flex flex-wrap items-center gap-2 border-b border-line bg-surface px-3 py-1.5">
        <Toggles
          label="Show the payload as"
          joined
          options={modes.map((value) => ({ value, label: value }))}
          value={mode}
          onChange={(entry) => {
            setChosen(entry);
            search.setCurrent(0);
          }}
        />
        {mode === "hex" ? null : <SearchInside search={search} />}
        <span className="ml-auto hidden truncate text-sm text-faint sm:inline">
          {body.contentType} · {formatBytes(body.bytes)}
        </span>
        <span className="ml-auto sm:hidden" />
        {text === null ? null : <CopyButton text={text} label="payload" />}
        <DownloadPayload eventId={eventId} revision={revision} />
      </div>
      <DecodedLine body={body} />
      {!body.masked && body.decoded === null && json?.fault && isJsonType(body.contentType) && mode !== "hex" ? (
        <p className="border-b border-line px-3 py-1.5 text-warning">
          Its content type is JSON, but it is not valid JSON: <span className="wrap-anywhere">{json.fault}</span>
        </p>
      ) : null}
      {(mode === "hex" ? body.maskedCount : maskedCount) === null ? (
        <p className="px-3 py-4 text-muted">{formatBytes(body.bytes)}, masked as a whole.</p>
      ) : mode === "tree" && json?.doc ? (
        <JsonTree key={eventId} doc={json.doc} matches={found} current={current} />
      ) : mode === "lines" && lines !== null ? (
        <Raw text={lines} words={wanted} current={current} />
      ) : mode === "raw" && text !== null ? (
        <Raw text={text} words={wanted} current={current} />
      ) : (
        <HexView bytes={bytes} />
      )}
    </div>
  );
}
