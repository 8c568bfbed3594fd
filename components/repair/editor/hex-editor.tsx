"use client";

import { useId, useLayoutEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { Input } from "@/components/ui/input";
import { formatBytes } from "@/lib/platform/plain/format.pure";
import {
  BYTES_PER_LINE,
  HEX_EDIT_MAX,
  type HexDocument,
  hexDocument,
  moveTo,
  pasteHex,
  pressKey,
  readOffset,
  redo,
  undo,
} from "./hex-document";

const LINE_PX = 24;
/** Lines that are drawn above and below the visible ones. */
const MARGIN_LINES = 8;

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
const isPrintable = (byte: number) => byte >= 0x20 && byte < 0x7f;

type Props = {
  /** At first; the editor keeps its own from then on. */
  bytes: Uint8Array;
  label: string;
  autoFocus?: boolean;
  onChange: (bytes: Uint8Array) => void;
};

/** The bytes and their changes. `page`: the lines that PageUp and PageDown move by. */
function useHexDocument({ bytes, onChange }: Props) {
  const [doc, setDoc] = useState(() => hexDocument(bytes));
  const readOnly = bytes.length > HEX_EDIT_MAX;
  /** Whether there was something to do: null = nothing. */
  const apply = (next: HexDocument | null) => {
    if (next === null) return false;
    const changed = next.bytes !== doc.bytes;
    if (readOnly && (changed || next.half !== null)) return true;
    setDoc(next);
    if (changed) onChange(next.bytes);
    return true;
  };
  const press = (event: React.KeyboardEvent, page: number) => {
    if (event.altKey) return;
    const key = event.key.toLowerCase();
    const command = event.ctrlKey || event.metaKey;
    let next: HexDocument | null = null;
    if (command && key === "z") next = event.shiftKey ? redo(doc) : undo(doc);
    else if (command && key === "y") next = redo(doc);
    else if (command && key === "home") next = moveTo(doc, 0);
    else if (command && key === "end") next = moveTo(doc, doc.bytes.length);
    else if (!command) next = pressKey(doc, event.key, page);
    if (apply(next)) event.preventDefault();
  };
  return { doc, readOnly, apply, press };
}

/** Bytes in lines of 16, which the keyboard edits. Above HEX_EDIT_MAX bytes they can only be read. */
export function HexEditor(props: Props) {
  const { doc, readOnly, apply, press } = useHexDocument(props);
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ first: 0, lines: 40 });
  const help = useId();
  const id = useId();
  const lines = Math.floor(doc.bytes.length / BYTES_PER_LINE) + 1;
  const page = Math.max(1, view.lines - 2);

  const measure = () => {
    const box = scroller.current!;
    setView({ first: Math.floor(box.scrollTop / LINE_PX), lines: Math.ceil(box.clientHeight / LINE_PX) });
  };
  const cursorLine = Math.floor(doc.at / BYTES_PER_LINE);
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured once; later on each scroll
  useLayoutEffect(() => {
    measure();
    if (props.autoFocus) scroller.current!.focus();
  }, []);
  useLayoutEffect(() => {
    const box = scroller.current!;
    const top = cursorLine * LINE_PX;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + LINE_PX > box.scrollTop + box.clientHeight) box.scrollTop = top + LINE_PX - box.clientHeight;
  }, [cursorLine]);

  const from = Math.max(0, view.first - MARGIN_LINES);
  const until = Math.min(lines, view.first + view.lines + MARGIN_LINES);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1.5 text-sm">
        <OffsetField onGo={(at) => void apply(moveTo(doc, at))} />
        <Button
          size="sm"
          aria-pressed={doc.inserts}
          data-tip="Insert"
          disabled={readOnly}
          onClick={() => void apply(pressKey(doc, "Insert", page))}
        >
          {doc.inserts ? "inserting" : "replacing"}
        </Button>
        <span className="font-mono text-muted" role="status">
          {where(doc)}
        </span>
        <span className="ml-auto text-faint">{formatBytes(doc.bytes.length)}</span>
      </div>
      {/* One grid for the keyboard: a payload has more bytes than a page may have controls. */}
      {/* biome-ignore lint/a11y/useSemanticElements: a table of a million bytes is drawn in parts */}
      <div
        ref={scroller}
        role="grid"
        data-own-keys
        tabIndex={0}
        aria-label={props.label}
        aria-describedby={help}
        aria-rowcount={lines}
        aria-colcount={BYTES_PER_LINE}
        aria-readonly={readOnly}
        aria-activedescendant={`${id}-${doc.at}`}
        onScroll={measure}
        onKeyDown={(event) => press(event, page)}
        onPaste={(event) => {
          const next = pasteHex(doc, event.clipboardData.getData("text/plain"));
          if (apply(next)) event.preventDefault();
        }}
        className="relative min-h-40 flex-1 overflow-auto font-mono text-sm outline-offset-[-2px]"
      >
        <div style={{ height: lines * LINE_PX }} role="presentation" />
        {Array.from({ length: until - from }, (_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place in the payload
          <Line key={from + index} id={id} doc={doc} line={from + index} onPick={(at) => void apply(moveTo(doc, at))} />
        ))}
      </div>
      <p id={help} className="border-t border-line px-3 py-1 text-sm text-faint">
        {readOnly
          ? `More than ${formatBytes(HEX_EDIT_MAX)}: it can be read here and not edited.`
          : "Two digits 0 to f write a byte. Arrows move, Insert switches between insert and replace, Delete and Backspace remove, Ctrl Z undoes. Tab leaves."}
      </p>
    </div>
  );
}

function where({ bytes, at, half }: HexDocument): string {
  const byte = bytes[at];
  const offset = `offset ${at} (0x${hex(at, 1)})`;
  if (half !== null) return `${offset}: ${half.toString(16)}_`;
  if (byte === undefined) return `${offset}: the end`;
  return `${offset}: ${hex(byte, 2)}${isPrintable(byte) ? ` ${String.fromCharCode(byte)}` : ""}`;
}

function OffsetField({ onGo }: { onGo: (at: number) => void }) {
  const [typed, setTyped] = useState("");
  const offset = readOffset(typed);
  return (
    <form
      className="flex items-center gap-1"
      onSubmit={(event) => {
        event.preventDefault();
        if (offset !== null) onGo(offset);
      }}
    >
      <Input
        aria-label="Offset to go to"
        placeholder="offset, 0x1f"
        value={typed}
        aria-invalid={typed !== "" && offset === null ? true : undefined}
        onChange={(event) => setTyped(event.target.value)}
        className="h-6! w-28!"
      />
      <Button size="sm" type="submit" disabled={offset === null}>
        Go
      </Button>
    </form>
  );
}

function Line({ id, doc, line, onPick }: { id: string; doc: HexDocument; line: number; onPick: (at: number) => void }) {
  const start = line * BYTES_PER_LINE;
  const slice = [...doc.bytes.subarray(start, start + BYTES_PER_LINE)];
  const ends = start + slice.length === doc.bytes.length && slice.length < BYTES_PER_LINE;
  const cells: (number | null)[] = ends ? [...slice, null] : slice;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell
    // biome-ignore lint/a11y/useSemanticElements: see the grid
    <div
      role="row"
      aria-rowindex={line + 1}
      className="absolute left-0 flex w-max items-center px-3 whitespace-pre max-sm:px-1"
      style={{ top: line * LINE_PX, height: LINE_PX }}
    >
      {/* Five digits reach the largest payload that is edited, and leave room for 16 bytes on a phone. */}
      <span aria-hidden className="pr-3 text-faint max-sm:pr-1">
        <span className="max-sm:hidden">{hex(start, 8).slice(0, 3)}</span>
        {hex(start, 8).slice(3)}
      </span>
      {cells.map((byte, column) => {
        const at = start + column;
        const here = at === doc.at;
        return (
          // biome-ignore lint/a11y/useFocusableInteractive: see the row
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles the keys
          // biome-ignore lint/a11y/useSemanticElements: see the grid
          <span
            key={at}
            id={`${id}-${at}`}
            role="gridcell"
            aria-colindex={column + 1}
            aria-selected={here}
            onClick={() => onPick(at)}
            className={classNames(
              "w-6 text-center max-sm:w-5",
              column === 8 && "ml-2 max-sm:ml-1",
              here && "rounded-sm bg-selected outline outline-accent",
            )}
          >
            {here && doc.half !== null ? `${doc.half.toString(16)}_` : byte === null ? "··" : hex(byte, 2)}
          </span>
        );
      })}
      <span aria-hidden className="absolute left-[500px] text-muted max-sm:hidden">
        {slice.map((byte) => (isPrintable(byte) ? String.fromCharCode(byte) : "·")).join("")}
      </span>
    </div>
  );
}
