"use client";

import { Plus, X } from "lucide-react";
import { useId, useRef, useState } from "react";
import { MoveButtons, onMoveKey } from "@/components/repair/move-buttons";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { addRow, type HeaderRow, moveRow, noteOf, rowsOf, typed } from "./header-rows";

const ENCODINGS = { text: null, bytes: "base64", amqp: "AMQP value" } as const;

type Props = {
  /** At first; the table keeps its own from then on. */
  headers: readonly Header[];
  /** As they were before the edit. */
  arrived: readonly Header[];
  onChange: (headers: Header[]) => void;
};

/** The rows of the table and their changes, which keep the focus in the row that changed. */
function useRows({ headers, onChange }: Props) {
  const [rows, setRows] = useState(() => rowsOf(headers));
  const list = useRef<HTMLOListElement>(null);
  const apply = (next: HeaderRow[], focus?: number, selector = "input") => {
    setRows(next);
    onChange(next.map(({ header }) => header));
    if (focus !== undefined) {
      requestAnimationFrame(() => list.current?.children[focus]?.querySelector<HTMLElement>(selector)?.focus());
    }
  };
  return {
    rows,
    list,
    change: (key: number, part: { name?: string; value?: string }) =>
      apply(rows.map((row) => (row.key === key ? { key, header: typed(row.header, part) } : row))),
    add: () => apply(addRow(rows), rows.length),
    /** `selector`: the control of the row that takes the focus; absent = the focus stays. */
    move: (at: number, by: -1 | 1, selector?: string) =>
      apply(
        moveRow(rows, at, by),
        selector === undefined ? undefined : Math.min(Math.max(at + by, 0), rows.length - 1),
        selector,
      ),
    remove: (at: number) => {
      const next = rows.toSpliced(at, 1);
      apply(next, next.length === 0 ? undefined : Math.min(at, next.length - 1), "[data-remove]");
    },
  };
}

/** The headers as an ordered table. A name may repeat. Alt with an arrow key moves a row. */
export function HeadersEditor(props: Props) {
  const table = useRows(props);
  const { rows } = table;
  const help = useId();
  return (
    <div className="grid gap-2 px-3 py-2">
      <p id={help} className="text-sm text-faint">
        In order; names may repeat. Alt ↑ and Alt ↓ move a header.
      </p>
      {rows.length === 0 ? <p className="text-muted">No headers.</p> : null}
      <ol ref={table.list} aria-label="Headers" className="grid gap-1.5">
        {rows.map((row, at) => (
          <Row key={row.key} row={row} at={at} table={table} arrived={props.arrived} help={help} />
        ))}
      </ol>
      <div>
        <Button size="sm" onClick={table.add}>
          <Plus size={12} aria-hidden /> Add a header
        </Button>
      </div>
    </div>
  );
}

function Row({
  row: { key, header },
  at,
  table: { rows, change, move, remove },
  arrived,
  help,
}: Pick<Props, "arrived"> & { row: HeaderRow; at: number; table: ReturnType<typeof useRows>; help: string }) {
  const [name, value, encoding = "text"] = header;
  // A row that was added just now has no name yet: that is no mistake.
  const note = name === "" && value === "" ? null : noteOf(header, arrived);
  const ofRow = note === null ? help : `${help} ${help}-${key}`;
  const which = name === "" ? `header ${at + 1}` : name;
  return (
    <li
      onKeyDown={onMoveKey((by, { target }) => {
        const inValue = (target as HTMLElement).getAttribute("aria-label")?.startsWith("Value");
        move(at, by, inValue ? "[data-value]" : "input");
      })}
      className="grid grid-cols-[minmax(0,1fr)_auto] gap-1 sm:grid-cols-[minmax(8rem,16rem)_minmax(0,1fr)_auto]"
    >
      <Input
        aria-label={`Name of header ${at + 1}`}
        aria-describedby={ofRow}
        aria-invalid={note?.fault ? true : undefined}
        value={name}
        onChange={(event) => change(key, { name: event.target.value })}
        className="font-mono text-sm"
      />
      <span className="flex items-center gap-1 max-sm:order-last max-sm:col-span-2">
        <Input
          data-value
          aria-label={`Value of ${which}`}
          aria-describedby={note === null ? undefined : `${help}-${key}`}
          value={value ?? ""}
          placeholder={value === null ? "no value" : "empty"}
          onChange={(event) => change(key, { value: event.target.value })}
          className="font-mono text-sm"
        />
        {ENCODINGS[encoding] === null ? null : (
          <span className="text-xs whitespace-nowrap text-faint">{ENCODINGS[encoding]}</span>
        )}
      </span>
      <span className="flex">
        <MoveButtons name={which} first={at === 0} last={at === rows.length - 1} onMove={(by) => move(at, by)} />
        <IconButton data-remove label={`Remove ${which}`} onClick={() => remove(at)}>
          <X size={13} aria-hidden />
        </IconButton>
      </span>
      {note === null ? null : (
        <p
          id={`${help}-${key}`}
          className={`order-last col-span-full text-sm ${note.fault ? "text-danger" : "text-warning"}`}
        >
          {note.text}
        </p>
      )}
    </li>
  );
}
