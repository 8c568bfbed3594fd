import type pg from "pg";
import { abortable } from "@/lib/brokers/abortable";
import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { REDRIVE_ID } from "@/lib/brokers/conventions/redrive-mark";
import { storedHeader, textOrNull } from "@/lib/brokers/message";
import { outboundHeaders, type WireHeader } from "@/lib/brokers/outbound-headers";
import {
  addressOf,
  codeOf,
  connected,
  describeOutbox,
  isRefusal,
  OutboxFailure,
  openPool,
} from "@/lib/brokers/outbox/connection";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import { payloadMark, rowHeaders } from "@/lib/brokers/outbox/row";
import { assertWritable, deadSql, deadValues, type OutboxTable, openTable } from "@/lib/brokers/outbox/table";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import type { AddressFilter } from "@/lib/platform/address-filter";
import type { PostgresPool } from "@/lib/platform/postgres-pool";

const CONNECTIONS = 8;

/** Makes rows new again, each in its place: one UPDATE that writes only while the row is still dead or parked. */
export class OutboxPublisher implements Publisher {
  private readonly config: OutboxConfig;
  private readonly addresses: AddressFilter | undefined;
  private pool: PostgresPool | null = null;
  private table: Promise<OutboxTable> | null = null;
  private closed = false;

  constructor(config: OutboxConfig, { addresses }: AdapterDeps) {
    this.config = config;
    this.addresses = addresses;
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    let client: pg.PoolClient | null = null;
    let sent: "no" | "maybe" = "no";
    let broken = true;
    try {
      const pool = this.open();
      const table = await abortable(this.describedTable(pool), signal);
      client = await connected(pool, signal);
      onPhase?.("connected");
      const held = keepsJsonTypes(message) ? (await abortable(rowOf(client, table, message), signal))?.headers : null;
      const { text, values } = updateOf(message, table, this.config, held ?? null);
      sent = "maybe";
      const { rows } = await abortable(client.query<{ status: string }>(text, values), signal);
      const receipt = rows.length > 0 ? `row ${rowIdOf(message)} is ${rows[0]!.status}` : null;
      const settled = receipt ?? (await abortable(this.unwritten(client, table, message), signal));
      broken = false;
      return { status: settled };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isRefusal(error)) {
        broken = false;
        sent = "no";
        this.table = null; // a table that has changed is looked at again
      }
      const tail = sent === "maybe" ? ": the row may have been written" : "";
      throw new PublishError(codeOf(error), describeOutbox(error, this.config) + tail, { sent, cause: error });
    } finally {
      client?.release(broken);
    }
  }

  /** Why no row was written: throws OutboxFailure, unless an earlier attempt of the same redrive had written it. */
  private async unwritten(client: pg.PoolClient, table: OutboxTable, message: OutboundMessage): Promise<string> {
    const row = await rowOf(client, table, message);
    if (row === undefined)
      throw new OutboxFailure("OUTBOX_ROW_GONE", `table ${this.config.table} no longer has row ${rowIdOf(message)}`);
    const mark = rowHeaders(row.headers).headers.find(([name]) => name.toLowerCase() === REDRIVE_ID);
    if (mark?.[1] === message.redriveId) return `row ${rowIdOf(message)} is ${row.status} already`;
    throw new OutboxFailure(
      "OUTBOX_ROW_CHANGED",
      `row ${rowIdOf(message)} of table ${this.config.table} is ${row.status}: it was changed elsewhere, so nothing was written`,
    );
  }

  private open(): PostgresPool {
    if (this.closed) throw new OutboxFailure("OUTBOX_CLOSED", "the publisher is closed");
    this.pool ??= openPool(this.config, { name: "parkade-redrive", max: CONNECTIONS, addresses: this.addresses });
    return this.pool;
  }

  private describedTable(pool: PostgresPool): Promise<OutboxTable> {
    this.table ??= openTable(pool, this.config).then((table) => {
      assertWritable(table, this.config);
      return table;
    });
    const opening = this.table;
    opening.catch(() => {
      if (this.table === opening) this.table = null;
    });
    return opening;
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const pool = openPool(this.config, { name: "parkade-probe", max: 1, addresses: this.addresses });
    try {
      assertWritable(await abortable(openTable(pool, this.config), signal), this.config);
      return { reachable: true, detail: `connected to ${addressOf(this.config)}`, depth: null, sample: [] };
    } catch (error) {
      signal.throwIfAborted();
      return { reachable: false, detail: describeOutbox(error, this.config) };
    } finally {
      void pool.end().catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.pool?.end();
    this.pool = null;
  }
}

type HeldRow = { status: string; headers: string | null };

async function rowOf(
  client: pg.PoolClient,
  table: OutboxTable,
  message: OutboundMessage,
): Promise<HeldRow | undefined> {
  const { id, status, headers } = table.columns;
  const { rows } = await client.query<HeldRow>(
    `select ${status.sql}::text as status, ${headers === undefined ? "null" : `${headers.sql}::text`} as headers
       from ${table.sql} where ${id.sql} = $1::text::${id.type}`,
    [rowIdOf(message)],
  );
  return rows[0];
}

function rowIdOf({ origin, eventId }: OutboundMessage): string {
  return typeof origin.rowId === "string" ? origin.rowId : eventId;
}

/** An edit of headers in an object: the row that holds them shows which ones it left unchanged. */
function keepsJsonTypes({ origin, revised }: OutboundMessage): boolean {
  return revised === true && origin.headersShape === "object";
}

/** Whether the payload must be written: it was edited, nothing is known of the row's own, or another revision was sent last. */
function isEdited({ origin, payload, revised }: OutboundMessage): boolean {
  if (revised) return true;
  if (origin.absentBody === true && payload.byteLength === 0) return false;
  return origin.payloadMark !== payloadMark(payload);
}

function updateOf(
  message: OutboundMessage,
  table: OutboxTable,
  { table: name }: OutboxConfig,
  held: string | null,
): { text: string; values: unknown[] } {
  const { id, status, attempts, availableAt, headers, payload } = table.columns;
  const values: unknown[] = [...deadValues(table), rowIdOf(message), table.parkedStatus];
  const next = (value: unknown) => `$${values.push(value)}`;
  const set = [`${status.sql} = $2::text::${status.type}`];
  if (attempts !== undefined) set.push(`${attempts.sql} = 0`);
  if (availableAt !== undefined)
    // Without a zone nobody knows which one is meant: a day ago is past in all of them.
    set.push(
      `${availableAt.sql} = ${availableAt.base === "timestamptz" ? "now()" : "localtimestamp - interval '1 day'"}`,
    );
  if (headers !== undefined) {
    const changed = headersSql(message, { column: headers.sql, type: headers.type, held }, next);
    if (changed !== null) set.push(`${headers.sql} = ${changed}`);
  }
  if (isEdited(message)) {
    const bytes = Buffer.from(message.payload);
    const written = payload.base === "bytea" ? bytes : textOrNull(bytes);
    if (written === null)
      throw new OutboxFailure(
        "OUTBOX_PAYLOAD",
        `column ${payload.name} of table ${name} is of type ${payload.type}, and the payload is not UTF-8 text`,
      );
    set.push(`${payload.sql} = ${next(written)}::${payload.base === "bytea" ? "bytea" : payload.type}`);
  }
  const text = `update ${table.sql} set ${set.join(", ")}
    where ${id.sql} = $4::text::${id.type} and (${deadSql(table)} or ${status.sql}::text = $5::text)
    returning ${status.sql}::text as status`;
  return { text, values };
}

/**
 * The headers of the row with the mark of the redrive. A list of pairs is rewritten; in an object the values that nobody
 * edited stay as they are, numbers and objects too. null: they are in a form that Parkade does not write.
 */
function headersSql(
  message: OutboundMessage,
  { column, type, held }: { column: string; type: string; held: string | null },
  next: (value: unknown) => string,
): string | null {
  const { headersShape = "pairs" } = message.origin;
  if (headersShape === "other") return null;
  const outgoing = outboundHeaders(message);
  if (headersShape === "pairs")
    return `${next(JSON.stringify(outgoing.map(([name, value]) => storedHeader(name, value))))}::text::${type}`;
  const { removed, written } = keepsJsonTypes(message) ? edited(outgoing, held) : marked(outgoing, message);
  const before = `coalesce(nullif(${column}::text, ''), '{}')::jsonb`;
  return `((${before} - ${next(removed)}::text[]) || ${next(JSON.stringify(written))}::text::jsonb)::${type}`;
}

type HeadersChange = { removed: string[]; written: Record<string, string | null> };

/** The row holds the headers of another revision, or of this one. */
function edited(outgoing: readonly WireHeader[], held: string | null): HeadersChange {
  const wanted = new Map(outgoing.map(([name, value]) => [name, value?.toString() ?? null]));
  const shown = new Map(rowHeaders(held).headers.map(([name, value]) => [name, value]));
  return {
    removed: [...shown.keys()].filter((name) => !wanted.has(name)),
    written: Object.fromEntries([...wanted].filter(([name, value]) => shown.get(name) !== value)),
  };
}

/** The row holds the headers as they were parked. */
function marked(outgoing: readonly WireHeader[], message: OutboundMessage): HeadersChange {
  const kept = new Set(stripFailureHeaders(message.headers, message.origin.convention).map(([name]) => name));
  const removed = message.headers.map(([name]) => name).filter((name) => !kept.has(name));
  // The trace of the send takes the place of the parked one.
  const own = new Set(
    message.headers.map(([name]) => name).filter((name) => name !== "traceparent" || message.traceparent === undefined),
  );
  const marks = outgoing.filter(isMark(own)).map(([name, value]) => [name, value!.toString()]);
  return { removed, written: Object.fromEntries(marks) };
}

/** What a redrive adds, and the headers that it writes with another value. */
const isMark =
  (own: ReadonlySet<string>) =>
  ([name, value]: WireHeader): boolean =>
    value !== null && (name.startsWith("x-redrive-") || name === "x-retry-count" || !own.has(name));
