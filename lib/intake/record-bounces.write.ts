import { type KnownEvent, placeOf } from "@/lib/intake/bounce.pure";
import { type BroughtRevision, currentRevisions, keepBrought } from "@/lib/intake/brought-revisions.write";
import type { Parking } from "@/lib/intake/park.write";
import { followLines } from "@/lib/order/lines.write";
import { addedReasons } from "@/lib/platform/database/added-reasons.sql";
import type { Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { errorSummary, INT4_MAX } from "@/lib/platform/plain/storable.pure";
import { BODY_HOLDS_BYTES, bytesHash, REVISION_HOLDS_BYTES } from "@/lib/repair/revisions/revise-events.write";
import { bounceBecomesCurrent } from "@/lib/repair/revisions/revision.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";
import { lockEvents } from "@/lib/states/fence.write";
import { flowBesideBounce } from "@/lib/states/flow.pure";
import { rollupOf } from "@/lib/states/rollup.write";
import { FINAL_REDRIVES, ITEM, PARKED } from "@/lib/states/state.sql";

/** A stored event whose key is the key of an arrival. */
export type StoredEvent = KnownEvent & {
  id: string;
  sourceId: string;
  eventId: string;
  /** As in the key: '' = none. */
  producer: string;
  errorCode: string;
  fingerprint: string;
  aggregateType: string | null;
  aggregateId: string | null;
  attempts: number;
  bounces: number;
  failures: number;
  confirmed: boolean;
  confirmedRedrive: string | null;
  /** Redrives in which the event's item ended as failed. */
  failedRedrives: string[];
};

/**
 * The stored events of these keys. A key whose event has left the store (retention) has none: its letter is new again,
 * see `reviveKeys`.
 */
export async function findKnown(tx: Tx, parkings: Parking[]): Promise<StoredEvent[]> {
  const rows = await tx.query<Omit<StoredEvent, keyof FirstArrival> & { n: number }>(
    `with intended as materialized (
       select w.id, w.redrive_id, min(s.opened_at) as opened_at
         from send_intents s cross join lateral unnest(s.ids, s.redrive_ids) as w (id, redrive_id) group by 1, 2
     )
     select w.n::int as n, e.id, e.source_id as "sourceId", e.event_id as "eventId", e.producer, e.error_code as "errorCode", e.fingerprint,
            e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId", e.attempts, e.bounces, e.failures,
            e.confirmed_at is not null as confirmed, e.confirmed_redrive as "confirmedRedrive",
            (extract(epoch from e.first_seen) * 1000)::float8 as "firstSeenMs",
            (select (extract(epoch from least(i.sent_at, u.opened_at, min(t.opened_at))) * 1000)::float8
               from redrive_items i left join redrive_attempts t on t.id = i.id and t.redrive_id = i.redrive_id
              where i.id = e.id and i.redrive_id = coalesce(sending.redrive_id, delivered.redrive_id)
              group by i.id, i.redrive_id) as "sentAtMs",
            e.status, e.redrives, coalesce(e.bounced_redrives, '{}') as "bouncedRedrives",
            array(select i.redrive_id from redrive_items i where i.id = e.id and i.state = ${ITEM.failed}) as "failedRedrives",
            sending.redrive_id as "sendingRedrive", delivered.redrive_id as "deliveredRedrive"
       from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as w (source_id, event_id, producer, n)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id and k.producer = w.producer
       join dlq_events e on e.id = k.id
       left join lateral (
         select i.redrive_id from open_items i
          where i.id = e.id
            and ((i.id, i.redrive_id) in (select id, redrive_id from intended)
              or exists (select 1 from redrive_attempts t where t.id = i.id and t.redrive_id = i.redrive_id))) sending on true
       left join lateral (
         select i.redrive_id from redrive_items i where i.id = e.id and i.state = ${ITEM.delivered}
          order by i.finished_at desc limit 1) delivered on true
       left join intended u on u.id = e.id and u.redrive_id = coalesce(sending.redrive_id, delivered.redrive_id)`,
    [
      parkings.map((parking) => parking.sourceId),
      parkings.map((parking) => parking.letter.eventId),
      parkings.map((parking) => parking.letter.producer ?? ""),
    ],
    { name: "find-known" },
  );
  const first = await firstArrivals(
    tx,
    rows.map(({ n, id }) => ({ n, id, letter: parkings[n - 1]!.letter })),
  );
  return rows.map(({ n, ...event }) => ({
    ...event,
    // Without a body there is nothing to compare with.
    ...(first.get(n) ?? { isStoredLetter: false, firstStoredMs: null, hasBytes: true }),
  }));
}

type FirstArrival = Pick<StoredEvent, "isStoredLetter" | "firstStoredMs" | "hasBytes">;

/**
 * What the stored letters of events say of the place and the bytes of an arrival, by its number. A statement of its own: the bodies may
 * lie on other servers than the events (docs/scale-out.md). Bytes are compared by their SHA-256, and only those of one length.
 */
async function firstArrivals(
  tx: Tx,
  wanted: readonly { n: number; id: string; letter: DeadLetter }[],
): Promise<Map<number, FirstArrival>> {
  if (wanted.length === 0) return new Map();
  const ids = wanted.map(({ id }) => id);
  const rows = await tx.query<FirstArrival & { n: number }>(
    `select w.n, coalesce(b.origin @> w.place or exists (
              select 1 from event_bounces x where x.id = b.id and x.origin @> w.place
              union all
              select 1 from event_revisions x where x.id = b.id and x.origin @> w.place), false) as "isStoredLetter",
            ${BODY_HOLDS_BYTES} or exists (
              select 1 from event_revisions r where r.id = b.id and r.id between $4 and $5 and ${REVISION_HOLDS_BYTES}) as "hasBytes",
            case when jsonb_typeof(b.origin -> 'deadLetter' -> 'storedAtMs') = 'number'
                 then (b.origin -> 'deadLetter' ->> 'storedAtMs')::float8 end as "firstStoredMs"
       from unnest($1::int[], $2::uuid[], $3::jsonb[], $6::int[], $7::bytea[], $8::text[])
              as w (n, id, place, bytes, hash, content_type)
       join dlq_event_bodies b on b.id = w.id
      where b.id = any($2::uuid[]) and b.id between $4 and $5`,
    [
      wanted.map(({ n }) => n),
      ids,
      wanted.map(({ letter }) => storable(placeOf(letter.origin))),
      ...idSpan(ids),
      wanted.map(({ letter }) => letter.payload.byteLength),
      wanted.map(({ letter }) => bytesHash(letter.payload)),
      wanted.map(({ letter }) => letter.contentType),
    ],
    { name: "first-arrivals" },
  );
  return new Map(rows.map(({ n, ...first }) => [n, first]));
}

const storable = (place: object | null) => place && JSON.stringify(place);

/** The stored redrives among these: a mark of any other redrive is not ours. */
export async function knownRedrives(tx: Tx, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>("select id from redrives where id = any($1::uuid[])", [ids], {
    name: "known-redrives",
  });
  return new Set(rows.map((row) => row.id));
}

/**
 * Counts the kinds of flow beside `bounced` (see `flowBesideBounce`), each under the error code and group that it
 * belongs to:
 * - an event that had not left the parked events (its send had counted as failed, or is not committed yet) leaves them
 *   now: under its old error;
 * - an event that was ignored meanwhile leaves and is not parked again: both under the new error;
 * - an event that came back at the redrive limit is ignored at once;
 * - an event that was confirmed no longer is: under the error that it was confirmed with.
 */
const BOUNCE_FLOW = `, moved_beside as (
  insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
  select date_trunc('minute', to_timestamp($12::float8 / 1000), 'UTC'), source_id, code, print, kind, count(*)
    from (select source_id,
                 case when old_status in ${PARKED} or kind = 'unconfirmed' then old_error_code else error_code end as code,
                 case when old_status in ${PARKED} or kind = 'unconfirmed' then old_fingerprint else fingerprint end as print,
                 kind
            from moved cross join lateral unnest(string_to_array(beside, ',')) as kind) beside
   group by source_id, code, print, kind
)`;

/**
 * `failed` false: it is no failure, but other bytes of an event that had left the parked events. `counts`: it is a failure that is
 * not counted yet. `cooldownMs` runs from now, by the store's clock.
 */
export type Bounce = {
  found: StoredEvent;
  parking: Parking;
  status: EventStatus;
  redriveId: string | null;
  failed: boolean;
  counts: boolean;
  cooldownMs: number;
};

/**
 * Records bounces by compare-and-set on the values that were read, with counters. Returns the ids that it moved;
 * another transaction has changed the others, and they must be read again.
 */
export async function recordBounces(tx: Tx, bounces: Bounce[], nowMs: number): Promise<Set<string>> {
  const column = <T>(of: (bounce: Bounce) => T) => bounces.map(of);
  await lockEvents(
    tx,
    bounces.map(({ found }) => found.id),
  );
  const rows = await tx.query<{ id: string }>(
    `with moved as (
       update dlq_events e set
         status = w.status, bounces = e.bounces + 1, attempts = least(e.attempts::bigint + w.attempts, ${INT4_MAX}),
         error_code = w.error_code, fingerprint = w.fingerprint, admission = w.admission,
         last_attempt_at = to_timestamp(coalesce(w.failed_at, $12::float8) / 1000), confirmed_at = null, confirmed_redrive = null,
         bounced_redrives = case when w.redrive is null then e.bounced_redrives
                                 else e.bounced_redrives || w.redrive end,
         failures = e.failures + w.failed,
         cooldown_until = greatest(e.cooldown_until, now() + make_interval(secs => w.cooldown_ms / 1000))
       from unnest($1::uuid[], $2::text[], $3::text[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[],
                   $9::text[], $10::int[], $11::float8[], $13::int[], $14::float8[], $15::text[], $16::boolean[], $17::text[])
         as w (id, old_status, status, old_bounces, redrive, old_error_code, error_code, old_fingerprint, fingerprint,
               attempts, failed_at, failed, cooldown_ms, beside, confirmed, admission)
       where e.id = w.id and e.status = w.old_status and e.bounces = w.old_bounces and e.fingerprint = w.old_fingerprint
         and (e.confirmed_at is not null) = w.confirmed
       returning e.id, e.source_id, e.error_code, e.fingerprint, e.first_seen, w.old_status,
                 e.status as new_status, w.old_error_code, w.old_fingerprint, w.beside
     )${rollupOf("moved", { flow: { kinds: "'{bounced}'::text[]", at: "to_timestamp($12::float8 / 1000)" }, regrouped: true })}${BOUNCE_FLOW}
     select id from moved`,
    [
      column(({ found }) => found.id),
      column(({ found }) => found.status),
      column(({ status }) => status),
      column(({ found }) => found.bounces),
      column(({ redriveId }) => redriveId),
      column(({ found }) => found.errorCode),
      column(({ parking }) => parking.letter.errorCode),
      column(({ found }) => found.fingerprint),
      column(({ parking }) => parking.group.fingerprint),
      column(({ parking }) => parking.letter.attempts),
      column(({ parking }) => parking.letter.failedAtMs),
      nowMs,
      column(({ counts }) => (counts ? 1 : 0)),
      column(({ counts, cooldownMs }) => (counts ? cooldownMs : null)),
      column(({ found, status }) => flowBesideBounce(found.status, status, found.confirmed).join()),
      column(({ found }) => found.confirmed),
      column(({ parking }) => parking.mark),
    ],
    { name: "record-bounces" },
  );
  const moved = new Set(rows.map((row) => row.id));
  await followLines(tx, [...moved]);
  await updateFacts(
    tx,
    bounces.filter(({ found }) => moved.has(found.id)),
  );
  return moved;
}

async function updateFacts(tx: Tx, bounces: Bounce[]): Promise<void> {
  if (bounces.length === 0) return;
  const column = <T>(of: (letter: DeadLetter) => T) => bounces.map(({ parking }) => of(parking.letter));
  await tx.run(
    `update dlq_event_facts f
        set last_error_code = w.error_code, last_error = w.error,
            first_failed_at = case when w.failed_at is null then f.first_failed_at else coalesce(f.first_failed_at, f.failed_at) end,
            failed_at = coalesce(to_timestamp(w.failed_at / 1000), f.failed_at)
       from unnest($1::uuid[], $2::text[], $3::text[], $4::float8[])
         as w (id, error_code, error, failed_at)
      where f.id = w.id`,
    [
      bounces.map(({ found }) => found.id),
      column((letter) => letter.errorCode),
      column((letter) => errorSummary(letter.error)),
      column((letter) => letter.failedAtMs),
    ],
    { name: "update-facts" },
  );
}

/**
 * Keeps what each bounce brought: its error, headers, origin and what admission did; and its bytes as a revision, by the
 * event's id, when no revision holds them. The events must be locked by this transaction.
 */
export async function storeBounces(
  tx: Tx,
  bounces: Bounce[],
  { actor, nowMs }: { actor: string; nowMs: number },
): Promise<ReadonlyMap<string, BroughtRevision>> {
  const column = <T>(of: (bounce: Bounce) => T) => bounces.map(of);
  // The intent of a send is stored before the send: what came back has one. Without one, a consumer had confirmed
  // an event that Parkade had not sent.
  const sent = await tx.query<{ id: string; sent: number }>(
    `insert into event_bounces
       (id, bounce, at, redrive_id, sent, error_type, error_message, error_detail, headers, origin, admission, error_code)
     select w.id, w.bounce, to_timestamp($10::float8 / 1000), w.redrive,
            coalesce((select a.revision from sends a
                       where a.id = w.id and (w.redrive is null or a.redrive_id = w.redrive)
                       order by a.opened_at desc limit 1), 1),
            w.type, w.message, w.stack, w.headers, w.origin, w.admission, w.error_code
       from unnest($1::uuid[], $2::int[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::jsonb[], $8::jsonb[], $9::jsonb[],
                   $11::text[])
         as w (id, bounce, redrive, type, message, stack, headers, origin, admission, error_code)
     returning id, sent`,
    [
      column(({ found }) => found.id),
      column(({ found }) => found.bounces + 1),
      column(({ redriveId }) => redriveId),
      column(({ parking }) => parking.letter.error.type),
      column(({ parking }) => parking.letter.error.message),
      column(({ parking }) => parking.letter.error.stack),
      column(({ parking }) => JSON.stringify(parking.letter.headers)),
      column(({ parking }) => JSON.stringify(parking.letter.origin)),
      column(({ parking }) => parking.record && JSON.stringify(parking.record)),
      nowMs,
      column(({ parking }) => parking.letter.errorCode),
    ],
    { name: "store-bounces" },
  );
  const revisionSent = new Map(sent.map((row) => [row.id, row.sent]));
  const current = await currentRevisions(
    tx,
    column(({ found }) => found.id),
  );
  return keepBrought(
    tx,
    bounces.map(({ found: { id, bounces }, parking: { letter }, failed }) => {
      const was = current.get(id)!;
      const sent = revisionSent.get(id)!;
      const beside = { id, bounce: bounces + 1, letter, origin: null };
      return failed
        ? // The headers of a bounce carry the marks of its failure: the revision is sent with those that were sent before.
          { ...beside, headers: null, base: sent, becomes: bounceBecomesCurrent({ sent, current: was.revision }) }
        : { ...beside, headers: letter.headers, base: was.revision, becomes: was.revision === was.newest };
    }),
    { actor, nowMs },
  );
}

/** A redrive that may continue, and brakes or widens by its bounces. `sampled` of them were sent since it last started or resumed. */
type RedriveBounces = { redriveId: string; sampled: number };

/**
 * For each redrive, counts its deliveries that bounced, by error code those whose send had not counted as failed, and subtracts the
 * confirmations that it had counted of them.
 * The redrives are locked in one order: see `claimKeys`. Returns those whose brake or canary may react.
 */
export async function countBounces(tx: Tx, bounces: readonly Bounce[]): Promise<RedriveBounces[]> {
  const bounced = Map.groupBy(bounces, ({ redriveId }) => redriveId);
  const confirmed = Map.groupBy(bounces, ({ found }) => found.confirmedRedrive);
  const redriveIds = [...new Set([...bounced.keys(), ...confirmed.keys()])].filter((id) => id !== null);
  if (redriveIds.length === 0) return [];
  return tx.query<RedriveBounces>(
    `with counts as materialized (
       select redrive, string_to_array(list, ',')::uuid[] as ids, unconfirmed, codes
         from unnest($1::uuid[], $2::text[], $3::int[], $4::jsonb[]) as w (redrive, list, unconfirmed, codes)
     ), locked as materialized (
       select id from redrives where id in (select redrive from counts) order by id for update
     ), counted as (
       update redrives r set bounced = bounced + cardinality(c.ids), confirmed = confirmed - c.unconfirmed,
              bounced_by_reason = ${addedReasons("bounced_by_reason", "c.codes")}
         from counts c join locked l on l.id = c.redrive
        where r.id = c.redrive
       returning r.id, r.state, r.brake, r.canary,
                 (select count(*) from redrive_items i
                   where i.id = any(c.ids) and i.redrive_id = r.id and i.state = ${ITEM.delivered}
                     and i.finished_at >= r.sampled_from)::int as sampled
     )
     select id as "redriveId", sampled from counted
      where state not in ${FINAL_REDRIVES} and (brake is not null or canary is not null)
      order by id`,
    [
      redriveIds,
      redriveIds.map((id) => (bounced.get(id) ?? []).map(({ found }) => found.id).join(",")),
      redriveIds.map((id) => confirmed.get(id)?.length ?? 0),
      redriveIds.map((id) => JSON.stringify(codesOf(bounced.get(id) ?? []))),
    ],
    { name: "count-bounces" },
  );
}

function codesOf(bounces: readonly Bounce[]): Record<string, number> {
  const codes: Record<string, number> = {};
  for (const { found, redriveId, parking } of bounces) {
    if (redriveId === null || found.failedRedrives.includes(redriveId)) continue;
    const { errorCode } = parking.letter;
    codes[errorCode] = (codes[errorCode] ?? 0) + 1;
  }
  return codes;
}
