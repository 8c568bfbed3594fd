import type { Header } from "@/lib/intake/dead-letter.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { openParts, openPayload } from "@/lib/platform/sealing/sealed-rows";

type SealedRecord = {
  id: string;
  payload: Buffer;
  /** JSON text. */
  headers: string;
  errorStack: string | null;
  dataKey: string | null;
  sealed: Buffer | null;
};

/** As PostgreSQL writes a jsonb, so that a line is the same whether its event is encrypted or not. */
function jsonbText(headers: readonly Header[]): string {
  return `[${headers.map((header) => `[${header.map((part) => JSON.stringify(part)).join(", ")}]`).join(", ")}]`;
}

/** Decrypts what arrived first. Events for which that fails are left out, and `faults` says why, by id. */
export async function openRecordRows<Row extends SealedRecord>(
  db: Queryable,
  rows: readonly Row[],
  faults: Map<string, string>,
): Promise<Row[]> {
  const open = await db.sealing.opener(
    db,
    rows.map(({ dataKey }) => dataKey),
  );
  return rows.flatMap((row) => {
    const place = { id: row.id, revision: 1 };
    const payload = openPayload(open, place, row);
    const parts = openParts<Header[]>(open, place, row);
    if ("fault" in payload) faults.set(row.id, payload.fault);
    else if (parts === null) return [row];
    else if ("fault" in parts) faults.set(row.id, parts.fault);
    else return [{ ...row, payload, headers: jsonbText(parts.headers), errorStack: parts.errorDetail }];
    return [];
  });
}

type Texts = {
  /** JSON texts by event id. */
  texts: ReadonlyMap<string, string>;
  /** What stands for a sealed value begins with it: no text of an event can hold it by chance or on purpose. */
  token: string;
  of: "event_revisions" | "event_bounces";
  faults: Map<string, string>;
};

type SealedRow = { id: string; number: number; dataKey: string; sealed: Buffer; payload: Buffer | null };

/** Encryption was switched off between the statements that read the texts and the sealed values. */
const CHANGED = "it was decrypted while it was read: try again";

/** The texts with their sealed values decrypted in place. `faults` says for which events that fails, and why. */
export async function openTexts(db: Queryable, { texts, token, of, faults }: Texts): Promise<Map<string, string>> {
  const ids = [...texts].flatMap(([id, text]) => (text.includes(token) ? [id] : []));
  if (ids.length === 0) return new Map(texts);
  const revisions = of === "event_revisions";
  const rows = await db.query<SealedRow>(
    `select id, ${revisions ? "revision" : "bounce"} as number, data_key as "dataKey", sealed,
            ${revisions ? "payload" : "null::bytea as payload"}
       from ${of} where id = any($1::uuid[]) and id between $2 and $3 and data_key is not null`,
    [ids, ...idSpan(ids)],
  );
  const open = await db.sealing.opener(
    db,
    rows.map(({ dataKey }) => dataKey),
  );
  const values = new Map<string, string>();
  for (const { id, number, payload: sealedPayload, ...columns } of rows) {
    const parts = openParts<Header[]>(open, revisions ? { id, revision: number } : { id, bounce: number }, columns);
    const payload =
      sealedPayload && openPayload(open, { id, revision: number }, { ...columns, payload: sealedPayload });
    const key = `${id}:${number}`;
    if (parts !== null && "fault" in parts) faults.set(id, parts.fault);
    else if (payload !== null && "fault" in payload) faults.set(id, payload.fault);
    else {
      values.set(`headers:${key}`, jsonbText(parts?.headers ?? []));
      values.set(`stack:${key}`, JSON.stringify(parts?.errorDetail ?? null));
      if (payload !== null) values.set(`payload:${key}`, `"${payload.toString("base64")}"`);
    }
  }
  const standIns = new RegExp(`"${token}([^"]+)"`, "g");
  return new Map(
    [...texts].map(([id, text]) => {
      const opened = text.replace(standIns, (standIn, name: string) => {
        const value = values.get(name);
        if (value === undefined && !faults.has(id)) faults.set(id, CHANGED);
        return value ?? standIn;
      });
      return [id, opened];
    }),
  );
}
