import { host } from "@/lib/kit/host";
import { EVENT_VERSION_HEADER, type HeaderInput, storedHeaders } from "@/lib/kit/outbox/message";
import { outboxChannel } from "@/lib/kit/outbox/table";
import { quotedTable, runnerOf, type SqlSession } from "@/lib/kit/sql";
import { uuidv7 } from "@/lib/platform/ids";

/** An event to publish after the transaction has committed. */
export type OutboxEvent = {
  /** Unique in the table; a UUIDv7 by default. */
  id?: string;
  aggregateId: string;
  /** Empty by default. The order is kept within type and id together. */
  aggregateType?: string;
  /** Of the aggregate, after this event: consumers read it as the header `event-version` and reject older ones. */
  version?: bigint | number;
  eventType: string;
  /** Topic, queue, subject, stream or URL, as the publisher's transport reads it. */
  destination: string;
  /** Decides the partition or the group; the aggregate's id by default. Events of one aggregate need one key. */
  key?: string;
  /** Bytes as they are; text as UTF-8; anything else as JSON. */
  payload: unknown;
  headers?: readonly HeaderInput[];
};

export type InsertOptions = {
  table?: string;
  /**
   * Wakes the publisher at the commit, by NOTIFY. PostgreSQL commits the transactions that notify one after the other: with
   * thousands of commits a second turn it off, and the publisher polls. Default true.
   */
  notify?: boolean;
  /**
   * Holds an advisory lock for each aggregate until the end of the transaction, so that two transactions cannot commit
   * events of one aggregate in another order than they inserted them. Unnecessary where each transaction locks or
   * updates the aggregate's own row first. Default false.
   */
  lockAggregate?: boolean;
};

/** Parameters of one statement, of the 65,535 that PostgreSQL takes. */
const ROWS_MAX = 1_000;

/**
 * Inserts events within the caller's transaction and resolves with their ids: they are published if it commits, and never
 * if it does not. The order of the events of an aggregate is the order of their insertion.
 */
export async function insertOutbox(
  tx: SqlSession,
  events: OutboxEvent | readonly OutboxEvent[],
  options: InsertOptions = {},
): Promise<string[]> {
  const run = runnerOf(tx);
  const given: readonly OutboxEvent[] = Array.isArray(events) ? events : [events];
  const rows = given.map(rowOf);
  // A table of version 0.1.0 has no column for versions.
  const columns = given.some(({ version }) => version !== undefined) ? COLUMNS : COLUMNS.slice(0, -1);
  for (let at = 0; at < rows.length; at += ROWS_MAX) {
    const chunk = rows.slice(at, at + ROWS_MAX);
    const values = chunk.flatMap((row) => row.slice(0, columns.length));
    await run(insertSql(chunk.length, columns, options), values);
  }
  return rows.map(([id]) => id);
}

const COLUMNS = [
  ...(["id", "aggregate_type", "aggregate_id", "event_type", "destination", "message_key"] as const).map((name) => ({
    name,
    cast: "text",
  })),
  { name: "payload", cast: "bytea" },
  { name: "headers", cast: "jsonb" },
  { name: "version", cast: "bigint" },
];

function rowOf(event: OutboxEvent): [id: string, ...unknown[]] {
  for (const field of ["aggregateId", "eventType", "destination"] as const) {
    if (typeof event[field] !== "string" || event[field] === "") {
      throw new TypeError(`${field} of the outbox event is ${JSON.stringify(event[field])}: give a text`);
    }
  }
  const version = versionText(event.version);
  const headers = event.headers ?? [];
  return [
    event.id ?? uuidv7(host.clock.wallMs()),
    event.aggregateType ?? "",
    event.aggregateId,
    event.eventType,
    event.destination,
    event.key ?? null,
    bytesOf(event.payload),
    JSON.stringify(storedHeaders(version === null ? headers : [...headers, [EVENT_VERSION_HEADER, version]])),
    version,
  ];
}

function versionText(version: OutboxEvent["version"]): string | null {
  if (version === undefined) return null;
  if (typeof version === "number" && !Number.isSafeInteger(version)) {
    throw new TypeError(`version of the outbox event is ${version}: give a whole number, a bigint beyond 2^53`);
  }
  return String(version);
}

function bytesOf(payload: unknown): Buffer {
  if (payload instanceof Uint8Array) return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  if (text === undefined) throw new TypeError("payload of the outbox event is undefined: give bytes, text or JSON");
  return Buffer.from(text, "utf8");
}

function insertSql(
  rows: number,
  columns: typeof COLUMNS,
  { table = "outbox", notify = true, lockAggregate = false }: InsertOptions,
): string {
  const name = quotedTable("table", table);
  const names = columns.map((column) => column.name).join(", ");
  const width = columns.length;
  const tuples = Array.from({ length: rows }, (_, row) => {
    return `(${row}, ${columns.map(({ cast }, column) => `$${row * width + column + 1}::${cast}`).join(", ")})`;
  });
  // The locks are taken before the first row gets its place in the order, and in one order by all transactions.
  const locks = `held as materialized (
    select pg_advisory_xact_lock(key)::text from (
      select distinct hashtextextended('${outboxChannel(table)}' || aggregate_type || chr(31) || aggregate_id, 0) as key from given
       order by 1) as keys
  ), `;
  return `with given (n, ${names}) as (values ${tuples.join(", ")}), ${lockAggregate ? locks : ""}added as (
    insert into ${name} (${names})
    select ${names} from given${lockAggregate ? ", (select count(*) from held) as locked" : ""} order by n
  ) select ${notify ? `pg_notify('${outboxChannel(table)}', '')::text` : "1"}`;
}
