"use client";

import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useId, useRef, useState } from "react";
import { Button, IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import type { Header } from "@/lib/intake/dead-letter.pure";
import { addRow, type HeaderRow, isHidden, moveRow, noteOf, rowsOf, typed } from "./header-rows";

const ENCODINGS = { text: null, bytes: "base64", amqp: "AMQP value" } as const;

/** The headers as an ordered table. A name may repeat. Alt with an arrow key moves a row. */
export function HeadersEditor({
  headers,
  arrived,
  onChange,
}: {
  /** At first; the table keeps its own from then on. */
  headers: readonly Header[];
  /** As they were before the edit: hidden values are known by it. */
  arrived: readonly Header[];
  onChange: (headers: Header[]) => void;
}) {
  const [rows, setRows] = useState(() => rowsOf(headers));
  const list = useRef<HTMLOListElement>(null);
  const help = useId();
  const apply = (next: HeaderRow[], focus?: number, selector = "input") => {
    setRows(next);
    onChange(next.map(({ header }) => header));
    if (focus !== undefined) {
      requestAnimationFrame(() => list.current?.children[focus]?.querySelector<HTMLElement>(selector)?.focus());
    }
  };
  const change = (key: number, part: { name?: string; value?: string }) =>
    apply(rows.map((row) => (row.key === key ? { key, header: typed(row.header, part) } : row)));
  const remove = (at: number) => {
    const next = rows.toSpliced(at, 1);
    apply(next, next.length === 0 ? undefined : Math.min(at, next.length - 1), "[data-remove]");
  };
  return (
    <div className="grid gap-2 px-3 py-2">
      <p id={help} className="text-sm text-faint">
        In their order; a name may repeat. Alt ↑ and Alt ↓ move a header. Values that are credentials are not shown:
        they stay as they are, or are removed.
      </p>
      {rows.length === 0 ? <p className="text-muted">There are no headers.</p> : null}
      <ol ref={list} aria-label="Headers" className="grid gap-1.5">
        {rows.map(({ key, header }, at) => {
          const [name, value, encoding = "text"] = header;
          const hidden = isHidden(header, arrived);
          // A row that was added just now has no name yet: that is no mistake.
          const note = name === "" && value === "" ? null : noteOf(header, arrived);
          const ofRow = note === null ? help : `${help} ${help}-${key}`;
          const which = name === "" ? `header ${at + 1}` : name;
          return (
            <li
              key={key}
              onKeyDown={(event) => {
                const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
                if (by === 0 || !event.altKey) return;
                event.preventDefault();
                const focused = (event.target as HTMLElement).getAttribute("aria-label")?.startsWith("Value")
                  ? "[data-value]"
                  : "input";
                apply(moveRow(rows, at, by), Math.min(Math.max(at + by, 0), rows.length - 1), focused);
              }}
              className="grid grid-cols-[minmax(0,1fr)_auto] gap-1 sm:grid-cols-[minmax(8rem,16rem)_minmax(0,1fr)_auto]"
            >
              <Input
                aria-label={`Name of header ${at + 1}`}
                aria-describedby={ofRow}
                aria-invalid={note?.fault ? true : undefined}
                disabled={hidden}
                value={name}
                onChange={(event) => change(key, { name: event.target.value })}
                className="font-mono text-sm"
              />
              <span className="flex items-center gap-1 max-sm:order-last max-sm:col-span-2">
                <Input
                  data-value
                  aria-label={`Value of ${which}`}
                  aria-describedby={note === null ? undefined : `${help}-${key}`}
                  disabled={hidden}
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
                <IconButton
                  label={`Move ${which} up`}
                  shortcut="Alt ↑"
                  disabled={at === 0}
                  onClick={() => apply(moveRow(rows, at, -1))}
                >
                  <ArrowUp size={13} aria-hidden />
                </IconButton>
                <IconButton
                  label={`Move ${which} down`}
                  shortcut="Alt ↓"
                  disabled={at === rows.length - 1}
                  onClick={() => apply(moveRow(rows, at, 1))}
                >
                  <ArrowDown size={13} aria-hidden />
                </IconButton>
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
        })}
      </ol>
      <div>
        <Button size="sm" onClick={() => apply(addRow(rows), rows.length)}>
          <Plus size={12} aria-hidden /> Add a header
        </Button>
      </div>
    </div>
  );
}
