import { createHash } from "node:crypto";
import type { Convention } from "@/lib/brokers/conventions/convention";
import { dotnetChain, javaChain } from "@/lib/brokers/conventions/exception-text";
import { generic } from "@/lib/brokers/conventions/generic";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { HeaderView, type Message } from "@/lib/brokers/message";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import type { OutboxTable } from "@/lib/brokers/outbox/table";
import type { DeadLetter, Header } from "@/lib/platform/plain/dead-letter.pure";

/** One row as it is read. `version`: the transaction that wrote it, which no other version of the row shares. */
export type OutboxRow = {
  id: string;
  version: string;
  position: string | null;
  payload: Buffer | string | null;
  headers: string | null;
  status: string;
  aggregate_type: string | null;
  aggregate_id: string | null;
  event_type: string | null;
  attempts: string | null;
  error: string | null;
  created_ms: number | null;
};

/** The column by which rows are read in their order, before their id. */
export function orderColumn({ columns }: OutboxTable) {
  return columns.order ?? columns.created ?? columns.id;
}

const TIMES = ["timestamptz", "timestamp"];

/** The select list of OutboxRow. A transaction's number is shown with its epoch, so that it grows for ever. */
export function rowSql(table: OutboxTable): string {
  const { columns } = table;
  const asText = (part: keyof OutboxTable["columns"]) => {
    const column = columns[part];
    return column === undefined ? "null::text" : `${column.sql}::text`;
  };
  const created = columns.created;
  return `${columns.id.sql}::text as id, ${VERSION} as version, ${orderColumn(table).sql}::text as position,
    ${columns.payload.base === "bytea" ? columns.payload.sql : asText("payload")} as payload,
    ${asText("headers")} as headers, ${asText("status")} as status, ${asText("aggregateType")} as aggregate_type,
    ${asText("aggregateId")} as aggregate_id, ${asText("eventType")} as event_type, ${asText("attempts")} as attempts,
    ${asText("error")} as error, ${
      created !== undefined && TIMES.includes(created.base)
        ? `(extract(epoch from ${created.sql}) * 1000)::float8`
        : "null::float8"
    } as created_ms`;
}

/** The transaction that wrote the row, as a number with 64 bits: xmin holds the low 32. Frozen rows may come out younger. */
const NEXT = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
export const VERSION = `(${NEXT} - ((${NEXT} - xmin::text::bigint) % 4294967296 + 4294967296) % 4294967296)`;

/** `object`: names and values. `pairs`: what parkade/outbox writes, a list of `[name, value, encoding?]`. */
type HeadersShape = "object" | "pairs" | "other";

/** The headers in their stored form. A value that is no text is shown as JSON; the row keeps it. */
export function rowHeaders(text: string | null): { shape: HeadersShape; headers: Header[] } {
  if (text === null || text.trim() === "") return { shape: "object", headers: [] };
  try {
    return shaped(JSON.parse(text));
  } catch {
    return { shape: "other", headers: [] }; // no JSON, or nested too deep to be written again
  }
}

function shaped(value: unknown): { shape: HeadersShape; headers: Header[] } {
  if (Array.isArray(value)) {
    const pairs = value.filter((one): one is [string, string | null, string?] => Array.isArray(one) && isHeader(one));
    return pairs.length === value.length
      ? { shape: "pairs", headers: pairs.map((pair) => (pair[2] === "bytes" ? pair : [pair[0], pair[1]]) as Header) }
      : { shape: "other", headers: [] };
  }
  if (typeof value !== "object" || value === null) return { shape: "other", headers: [] };
  const headers = Object.entries(value).map(([name, one]): Header => [name, one === null ? null : asText(one)]);
  return { shape: "object", headers };
}

function isHeader([name, value]: unknown[]): boolean {
  return typeof name === "string" && (value === null || typeof value === "string");
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The facts of a row that its own columns hold precede those that headers and payload may hold too. */
const MAPPING = {
  eventId: "property:id",
  aggregateType: "property:aggregateType",
  aggregateId: "property:aggregateId",
  eventType: "property:eventType",
};

export function letterOf(row: OutboxRow, config: OutboxConfig): DeadLetter {
  return readDeadLetter(messageOf(row, config), { ...MAPPING, ...config.mapping });
}

/** Says whether the payload differs from the one that was read: a redrive then writes it. */
export function payloadMark(payload: Uint8Array): string {
  return createHash("sha256").update(payload).digest("base64");
}

function messageOf(row: OutboxRow, { table }: OutboxConfig): Message {
  const { headers, shape } = rowHeaders(row.headers);
  const view = new HeaderView(
    headers.map(([name, value, encoding]) => [
      name,
      value !== null && encoding === "bytes" ? Buffer.from(value, "base64") : value,
    ]),
  );
  const body = typeof row.payload === "string" ? Buffer.from(row.payload) : row.payload;
  const facts: Record<string, string | null> = {
    id: row.id,
    table,
    status: row.status,
    attempts: row.attempts,
    aggregateType: row.aggregate_type,
    aggregateId: row.aggregate_id,
    eventType: row.event_type,
    error: row.error,
  };
  const { error: _, table: __, id: ___, ...shown } = facts;
  return {
    container: table,
    headers: view,
    storedHeaders: () => headers,
    body,
    messageId: row.id,
    type: row.event_type,
    contentType: view.text("content-type"),
    sentAtMs: row.created_ms,
    orderKey: row.aggregate_id,
    property: (name) => facts[name] ?? null,
    origin: {
      table,
      rowId: row.id,
      headersShape: shape,
      ...(body === null ? {} : { payloadMark: payloadMark(body) }),
      properties: shown,
      deadLetter: { table, id: row.id, status: row.status },
    },
    ownId: () => row.id,
  };
}

/** The first line of an error's text as `TypeError: text`, of any language. */
const TYPE_AND_TEXT = /^([A-Za-z_][\w.$]*(?:Error|Exception|Fault)): ?(.*)$/;

/** A row of an outbox table: its failure lies in columns of its own. */
export const outboxRow: Convention = {
  name: "outbox",
  owns: generic.owns,
  read(message) {
    const error = message.property("error");
    if (message.origin.rowId === undefined || message.origin.table === undefined) return null;
    const read = generic.read(message)!;
    const chain = [...javaChain(error ?? ""), ...dotnetChain(error ?? "")];
    const first = TYPE_AND_TEXT.exec((error ?? "").split(/\r?\n/, 1)[0]!);
    const type = chain[0]?.type ?? first?.[1] ?? read.error.type;
    const hasStack = error?.includes("\n") ?? false;
    return {
      ...read,
      convention: "outbox",
      error: {
        type,
        message: (hasStack ? error!.split(/\r?\n/, 1)[0]! : error) ?? read.error.message,
        stack: hasStack ? error : read.error.stack,
      },
      exceptionTypes: chain.length > 0 ? chain.map((link) => link.type) : type === null ? [] : [type],
      attempts: Math.max(read.attempts, Math.min(Number(message.property("attempts") ?? 0) || 0, 2 ** 31 - 1)),
    };
  },
};
