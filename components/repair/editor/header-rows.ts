import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { headerFault, httpName } from "@/lib/platform/plain/header-fault.pure";

/** A header in the table: names repeat and rows move, so each row has a key of its own. */
export type HeaderRow = { key: number; header: Header };

export function rowsOf(headers: readonly Header[]): HeaderRow[] {
  return headers.map((header, key) => ({ key, header }));
}

/** What a person should know of the row; `fault`: the headers cannot be saved like this. */
type RowNote = { fault: boolean; text: string } | null;

export function noteOf(header: Header, arrived: readonly Header[]): RowNote {
  const fault = headerFault(header);
  if (fault !== null) return { fault: true, text: header[0] === "" ? "Enter a name, or remove it." : `It ${fault}.` };
  const isNew = !arrived.some(([name]) => name === header[0]);
  if (!isNew || httpName(header[0]) !== null) return null;
  return { fault: false, text: "Not a valid HTTP header name: a redrive over HTTP leaves this header out." };
}

export function moveRow(rows: readonly HeaderRow[], at: number, by: -1 | 1): HeaderRow[] {
  const to = at + by;
  if (to < 0 || to >= rows.length) return [...rows];
  const moved = [...rows];
  [moved[at], moved[to]] = [moved[to]!, moved[at]!];
  return moved;
}

export function addRow(rows: readonly HeaderRow[]): HeaderRow[] {
  const key = Math.max(-1, ...rows.map((row) => row.key)) + 1;
  return [...rows, { key, header: ["", ""] }];
}

/** The header with a typed name or value. Typed text is text, whatever the value was before. */
export function typed([name, value, encoding]: Header, part: { name?: string; value?: string }): Header {
  if (part.value !== undefined)
    return encoding === undefined || encoding === "text"
      ? [part.name ?? name, part.value]
      : [part.name ?? name, part.value, encoding];
  return encoding === undefined ? [part.name ?? name, value] : [part.name ?? name, value, encoding];
}
