import { type ForgetKey, matchesKey } from "@/lib/keep/forget/forget-key.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import type { EventStatus } from "@/lib/states/event-state.pure";

/** Where a key is looked for: first seen in [fromMs, toMs), epoch milliseconds, null = open. */
export type ForgetScope = { key: ForgetKey; source: string | null; fromMs: number | null; toMs: number | null };

export type MatchingEvent = { id: string; status: EventStatus; confirmed: boolean };

/** Payloads of a page are read whole: all their states, of at most this many events and about as many bytes. */
const PAYLOAD_PAGE = 50;
const PAGE_BYTES_MAX = 16 * 1024 * 1024;

export type MatchingPage = {
  events: MatchingEvent[];
  /** Where the next page begins; null = this was the last one. */
  cursor: string | null;
};

/**
 * Stored events that the key names, of all or `among` these, newest first. A tag and an aggregate are found by index; for a pointer each payload of the scope is read.
 */
export async function readMatching(
  db: Queryable,
  scope: ForgetScope,
  { before, limit, among }: { before: string | null; limit: number; among?: readonly string[] },
): Promise<MatchingPage> {
  if (among?.length === 0) return { events: [], cursor: null };
  const { key } = scope;
  const values: unknown[] = [];
  const add = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    ...(among === undefined ? [] : [`e.id = any(${add(among)}::uuid[])`]),
    ...(before === null ? [] : [`e.id < ${add(before)}::uuid`]),
    ...(scope.fromMs === null ? [] : [`e.id >= ${add(uuidv7LowerBound(scope.fromMs))}::uuid`]),
    ...(scope.toMs === null ? [] : [`e.id < ${add(uuidv7LowerBound(scope.toMs))}::uuid`]),
    ...(scope.source === null
      ? []
      : [`e.source_id = any(array(select id from sources where name = ${add(scope.source)}))`]),
    ...("tag" in key ? [`f.tags @> ${add(JSON.stringify({ [key.tag.name]: key.tag.value }))}::jsonb`] : []),
    ...("aggregateId" in key ? [`f.aggregate_id = ${add(key.aggregateId)}`] : []),
    ...("aggregateId" in key && key.aggregateType !== undefined
      ? [`coalesce(e.aggregate_type, '') = ${add(key.aggregateType)}`]
      : []),
  ];
  const pageLimit = "payload" in key ? Math.min(limit, PAYLOAD_PAGE) : limit;
  const rows = await db.query<MatchingEvent & { bytes: number }>(
    `select e.id, e.status, e.confirmed_at is not null as confirmed, coalesce(f.payload_bytes, 0) as bytes
       from dlq_events e join dlq_event_facts f on f.id = e.id
      where ${conditions.length === 0 ? "true" : conditions.join(" and ")}
      order by e.id desc limit ${add(pageLimit)}`,
    values,
  );
  let bytes = 0;
  const cut = rows.findIndex((row, index) => {
    bytes += row.bytes;
    return "payload" in key && index > 0 && bytes > PAGE_BYTES_MAX;
  });
  const page = cut < 0 ? rows : rows.slice(0, cut);
  const cursor = page.length > 0 && (cut >= 0 || page.length === pageLimit) ? page.at(-1)!.id : null;
  const found = "payload" in key ? await withPayload(db, key, page) : page;
  return { events: found.map(({ id, status, confirmed }) => ({ id, status, confirmed })), cursor };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What is no UTF-8 is no JSON. */
export function textOf(payload: Uint8Array): string[] {
  try {
    return [utf8.decode(payload)];
  } catch {
    return [];
  }
}

async function withPayload<Row extends { id: string }>(db: Queryable, key: ForgetKey, page: Row[]): Promise<Row[]> {
  if (page.length === 0) return [];
  const ids = page.map(({ id }) => id);
  const rows = await db.query<{ id: string; payload: Buffer }>(
    `select b.id, b.payload
       from dlq_event_bodies b where b.id = any($1::uuid[]) and b.id between $2 and $3
     union all
     select r.id, r.payload
       from event_revisions r where r.id = any($1::uuid[]) and r.id between $2 and $3`,
    [ids, ...idSpan(ids)],
  );
  const payloads = Map.groupBy(rows, ({ id }) => id);
  return page.filter(({ id }) =>
    matchesKey(key, {
      ...{ aggregateId: null, aggregateType: null, tags: {} },
      payloads: (payloads.get(id) ?? []).flatMap(({ payload }) => textOf(payload)),
    }),
  );
}
