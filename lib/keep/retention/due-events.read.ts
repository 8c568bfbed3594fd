import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { beforeParked, readHoldingLater } from "@/lib/keep/removal/held-tails.read";
import type { KeptReason } from "@/lib/keep/removal/removal.pure";
import { daysKept, dueBeforeMs, RECENT_DAYS, type Retention, whyUnexpired } from "@/lib/keep/retention/retention.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { EVENT } from "@/lib/states/state.sql";

const SINCE = `now() - interval '${RECENT_DAYS} days'`;

/** SQL over `e` (dlq_events): something happened to it within RECENT_DAYS. A producer's time in the future counts for nothing. */
const recent = (e: string) => `(greatest(${e}.redrive_at, ${e}.confirmed_at) > ${SINCE}
  or ${e}.last_attempt_at > ${SINCE} and ${e}.last_attempt_at < now() + interval '1 day'
  or ${e}.revision > 1 and exists (select 1 from event_revisions v where v.id = ${e}.id and v.at > ${SINCE})
  or ${e}.bounces > 0 and exists (select 1 from event_bounces n where n.id = ${e}.id and n.at > ${SINCE})
  or exists (select 1 from restored_events k where k.id = ${e}.id and k.kept_until > now())) is true`;

const RECENT = recent("e");

/** Of these events, those that something happened to within RECENT_DAYS. */
export async function readRecent(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_events e where e.id = any($1::uuid[]) and e.id between $2 and $3 and ${RECENT}`,
    [ids, ...idSpan(ids)],
    { name: "recent-events" },
  );
  return new Set(rows.map(({ id }) => id));
}

/** Due events of a UTC day (`2026-11-25`), and why they stay; null = they expire. Bytes of their current payloads. */
type DueCount = { day: string; reason: KeptReason | null; n: number; bytes: number };

export type DueQuery = {
  retention: Retention;
  nowMs: number;
  /** Only events that were parked before this, epoch milliseconds, of this source and error code; null = of every one. */
  beforeMs: number;
  source: string | null;
  errorCode: string | null;
};

/** Counts the due events that the viewer sees. An event that holds others counts as one that expires, see `countHolding`. */
export async function countDue(db: Queryable, viewer: Viewer, query: DueQuery): Promise<DueCount[]> {
  const { retention, nowMs, beforeMs, source, errorCode } = query;
  const rows = await db.query<{
    day: string;
    dayMs: number;
    source: string;
    errorCode: string;
    status: EventStatus;
    confirmed: boolean;
    recent: boolean;
    n: number;
    bytes: number;
  }>(
    `select to_char(c.day, 'YYYY-MM-DD') as day, extract(epoch from c.day at time zone 'UTC')::float8 * 1000 as "dayMs",
            s.name as source, c.error_code as "errorCode", c.status, c.confirmed, c.recent, c.n, c.bytes
       from (select date_trunc('day', e.first_seen at time zone 'UTC') as day, e.source_id, e.error_code, e.status,
                    e.confirmed_at is not null as confirmed, ${RECENT} as recent, count(*)::int as n,
                    coalesce(sum(e.payload_bytes), 0)::float8 as bytes
               from dlq_event_rows e
              where e.id < $1 and ($2::text is null or e.error_code = $2)
                and ($3::text[] is null or e.source_id = any(array(select id from sources where name = any($3))))
              group by 1, 2, 3, 4, 5, 6) c
       join sources s on s.id = c.source_id order by 1`,
    [uuidv7LowerBound(beforeMs), errorCode, sourceScope(viewer, source === null ? undefined : [source])],
  );
  return rows.flatMap((row) => {
    if (row.dayMs >= dueBeforeMs(nowMs, daysKept(retention, row))) return [];
    // In the order in which a chunk asks.
    const reason = whyUnexpired(row) ?? (row.recent ? "recent" : null);
    return [{ day: row.day, reason, n: row.n, bytes: row.bytes }];
  });
}

/** Parameter of `due`. */
function boundsOf({ days, rules }: Retention, nowMs: number): string {
  const all = [...rules, { source: null, errorCode: null, days }];
  return JSON.stringify(
    all.map(({ days, ...named }) => ({ ...named, before: uuidv7LowerBound(dueBeforeMs(nowMs, days)) })),
  );
}

/** SQL over `e`, an alias of dlq_events: it is due by its own period, see `daysKept`. `bounds`: parameter of `boundsOf`. */
const due = (e: string, bounds: string) => `${e}.id < (
  select (p ->> 'before')::uuid from jsonb_array_elements(${bounds}::jsonb) p
   where (p ->> 'source' is null or p ->> 'source' = (select s.name from sources s where s.id = ${e}.source_id))
     and (p ->> 'errorCode' is null or p ->> 'errorCode' = ${e}.error_code)
   order by p ->> 'source' is null, p ->> 'errorCode' is null limit 1)`;

/** Due events, by day, that stay for that reason alone: a later version of their aggregate is parked and does not expire. */
export async function countHolding(
  db: Queryable,
  viewer: Viewer,
  { retention, nowMs, beforeMs }: Pick<DueQuery, "retention" | "nowMs" | "beforeMs">,
): Promise<Map<string, { n: number; bytes: number }>> {
  const stays = `not (l.status = ${EVENT.PENDING} and ${due("l", "$3")} and not ${recent("l")})`;
  const heads = await db.query<{ id: string; day: string; bytes: number }>(
    `select e.id, to_char(e.first_seen at time zone 'UTC', 'YYYY-MM-DD') as day, coalesce(e.payload_bytes, 0) as bytes
       from dlq_event_rows e
      where e.id < $1 and ${due("e", "$3")} and not ${RECENT} and ${beforeParked(stays, "dlq_event_rows")}
        and ($2::text[] is null or e.source_id = any(array(select id from sources where name = any($2))))`,
    [uuidv7LowerBound(beforeMs), sourceScope(viewer), boundsOf(retention, nowMs)],
  );
  const holding = await readHoldingLater(
    db,
    heads.map(({ id }) => id),
  );
  const stay = heads.filter(({ id }) => holding.has(id));
  const bytesOf = (of: typeof stay) => of.reduce((sum, { bytes }) => sum + bytes, 0);
  return new Map(
    [...Map.groupBy(stay, ({ day }) => day)].map(([day, of]) => [day, { n: of.length, bytes: bytesOf(of) }]),
  );
}
