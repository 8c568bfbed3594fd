import { entriesOfEvents } from "@/lib/guard/audit/subjects.sql";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";
import {
  ARRIVAL_KINDS,
  CODE_FLOW,
  DELTA_KINDS,
  FLOW_KINDS,
  GROUP_ARRIVALS,
  GROUP_FLOW,
  NARROW_SINCE,
  SIZE_EFFECT_SQL,
  SOURCE_FLOW,
  UNGROUPED_KINDS,
} from "@/lib/states/flow-tables.sql";
import { lineFaults } from "@/lib/testing/lines";

/** The narrowest that are never removed: by group, and for the kinds that are not kept by group. */
const KEPT = GROUP_FLOW.find(({ table }) => table.endsWith("hours"))!;
const KEPT_BY_CODE = CODE_FLOW.find(({ table }) => table.endsWith("hours"))!;
const GROUPED_KINDS = FLOW_KINDS.filter((kind) => !(UNGROUPED_KINDS as readonly string[]).includes(kind));

const among = (tables: typeof CODE_FLOW, table: string) => tables.some((one) => one.table === table);

/** Rows of a table of the flow that are not the sum of the kept hours; of a narrower one those of each hour together. */
function againstKept(
  { table, widthMs }: (typeof CODE_FLOW)[number],
  kept: string = KEPT.table,
  kinds: readonly string[] = GROUPED_KINDS,
): string {
  const columns: Record<string, boolean> = {
    source_id: !among(GROUP_ARRIVALS, table),
    error_code: !among([...SOURCE_FLOW, ...GROUP_ARRIVALS], table),
    fingerprint: among([...GROUP_FLOW, ...GROUP_ARRIVALS], table),
  };
  const keys = Object.keys(columns)
    .filter((column) => columns[column])
    .join(", ");
  const sums = `array[${kinds.map((kind) => `sum(${kind})`).join(", ")}] as n`;
  const some = kinds.map((kind) => `${kind} <> 0`).join(" or ");
  const width = `'${Math.max(widthMs, KEPT.widthMs) / 1000} s'`;
  const since = `where (${some})${widthMs < KEPT.widthMs ? ` and at >= ${NARROW_SINCE}` : ""}`;
  // An event that moved to another group of its source is no change of the source.
  const any = kinds.map((kind) => `sum(${kind}) <> 0`).join(" or ");
  const binned = (from: string) =>
    `select date_bin(${width}, at, 'epoch') as at, ${keys}, ${sums} from ${from} ${since} group by 1, ${keys} having ${any}`;
  return `
    union all
    select '${table}', row_to_json(l), row_to_json(c)
      from (${binned(table)}) l full join (${binned(kept)}) c using (at, ${keys})
     where l.n is distinct from c.n`;
}

/**
 * The differences between the rollups and a full count: empty when they are exact. The flow is checked three times: the
 * parked arrivals equal the stored and the archived events; the sum of all kinds equals the events parked now, for each source, error
 * code and group; and each table of the flow has the same sums.
 */
export async function rollupDrift(db: Queryable): Promise<unknown[]> {
  return db.query(`
    with levels as (
      select source_id, error_code, status, hour, sum(n) as n from dlq_level_ages group by 1, 2, 3, 4 having sum(n) <> 0),
    counted as (
      select source_id, error_code, status, date_trunc('hour', first_seen, 'UTC') as hour, count(*) as n
        from dlq_events group by 1, 2, 3, 4),
    group_levels as (
      select fingerprint, source_id, status, sum(n) as n from dlq_group_levels group by 1, 2, 3 having sum(n) <> 0),
    group_counted as (select fingerprint, source_id, status, count(*) as n from dlq_events group by 1, 2, 3),
    flow as (
      select minute as at, source_id, error_code, fingerprint, ${DELTA_KINDS} from dlq_flow
      union all
      select at, source_id, error_code, fingerprint, ${FLOW_KINDS.join(", ")} from ${KEPT.table}),
    parked as (select source_id, sum(parked) as n from flow group by 1 having sum(parked) > 0),
    parked_counted as (
      select source_id, count(*) as n
        from (select source_id from dlq_events union all select source_id from archived_events
                union all select source_id from forgotten_events cross join lateral generate_series(1, times)) known group by 1),
    size as (
      select source_id, error_code, fingerprint, sum(${SIZE_EFFECT_SQL}) as n
        from flow group by 1, 2, 3 having sum(${SIZE_EFFECT_SQL}) <> 0),
    size_counted as (
      select source_id, error_code, fingerprint, count(*) as n
        from dlq_events where status = any(array['${PARKED_STATUSES.join("', '")}']) group by 1, 2, 3)
    select 'levels' as rollup, row_to_json(l) as rolled, row_to_json(c) as counted
      from levels l full join counted c using (source_id, error_code, status, hour) where l.n is distinct from c.n
    union all
    select 'level_totals', row_to_json(l), row_to_json(c)
      from (select source_id, error_code, status, sum(n) as n from dlq_level_sums group by 1, 2, 3 having sum(n) <> 0) l
      full join (select source_id, error_code, status, count(*) as n from dlq_events group by 1, 2, 3) c
     using (source_id, error_code, status) where l.n is distinct from c.n
    union all
    select 'group_levels', row_to_json(l), row_to_json(c)
      from group_levels l full join group_counted c using (fingerprint, source_id, status) where l.n is distinct from c.n
    union all
    select 'flow', row_to_json(l), row_to_json(c)
      from parked l full join parked_counted c using (source_id) where l.n is distinct from c.n
    union all
    select 'size', row_to_json(l), row_to_json(c)
      from size l full join size_counted c using (source_id, error_code, fingerprint) where l.n is distinct from c.n
    union all
    select 'source_levels', row_to_json(l), row_to_json(c)
      from (select source_id, status, hour, sum(n) as n from dlq_source_level_ages group by 1, 2, 3 having sum(n) <> 0) l
      full join (select source_id, status, hour, sum(n) as n from levels group by 1, 2, 3) c using (source_id, status, hour)
     where l.n is distinct from c.n
    ${[...SOURCE_FLOW, ...CODE_FLOW, ...GROUP_FLOW]
      .filter((table) => table !== KEPT)
      .map((table) => againstKept(table))
      .join("")}
    ${GROUP_ARRIVALS.map((table) => againstKept(table, KEPT.table, ARRIVAL_KINDS)).join("")}
    ${[...SOURCE_FLOW, ...CODE_FLOW]
      .filter((table) => table !== KEPT_BY_CODE)
      .map((table) => againstKept(table, KEPT_BY_CODE.table, UNGROUPED_KINDS))
      .join("")}`);
}

/** The events of each entry as the entries and their rows say it, and as the items of redrives say it. */
const LISTED = `select event_id, entry_id from audit_subjects
    union all select unnest(event_ids), id from audit_entries`;
const NAMED = `select event_id, entry_id from audit_subjects
    union all select id, queued_entry from redrive_items where queued_entry is not null
    union all select id, ended_entry from redrive_items where ended_entry is not null
    union all select p.id, e.entry_id from (select unnest(event_ids) as id from audit_entries where action = 'event.parked') p
                cross join lateral (${entriesOfEvents("select p.id")}) e`;
const SUBJECTS = `with subjects as (${LISTED})`;

/** Changes of events that have no audit entry, or more than one: empty when each has exactly one. An export changes none, and counts. */
export async function auditGaps(db: Db): Promise<unknown[]> {
  return db.query(`${SUBJECTS}
    select 'count' as gap, a.id, a.action, coalesce(o.changed, a.count) as count, count(s.event_id) as subjects
      from audit_entries a left join subjects s on s.entry_id = a.id left join bulk_operations o on o.audit_id = a.id
     where a.subject_kind = 'event' and a.action <> 'event.export-ended' group by a.id, o.changed having coalesce(o.changed, a.count) <> count(s.event_id)
    union all
    select 'subjects without an entry', s.entry_id, null, 0, count(*)
      from (${NAMED}) s where not exists (select 1 from audit_entries a where a.id = s.entry_id) group by s.entry_id
    union all
    select 'an entry lists other events than name it', entry_id, null, null, count(*)
      from (${LISTED}) l full join (${NAMED}) n using (event_id, entry_id)
     where (l is null or n is null)
       -- A removed redrive has no items: nothing refers to its entries any more.
       and not exists (select 1 from audit_entries a where a.id = entry_id and a.redrive_id is not null
                          and not exists (select 1 from redrives r where r.id = a.redrive_id))
     group by entry_id
    union all
    select 'a confirmation without its state', a.id, a.after ->> 'status', null, null
      from audit_entries a where a.action = 'event.confirmed' and a.after ->> 'status' is distinct from 'REDRIVEN'
    union all
    select 'parked', e.id, e.status, e.bounces, count(a.id)
      from dlq_events e
      left join subjects s on s.event_id = e.id
      left join audit_entries a
        on a.id = s.entry_id and a.action in ('event.parked', 'event.imported', 'event.removed', 'event.expired')
     group by e.id, e.status, e.bounces
    having sum(case when a.action is null then 0 when a.action in ('event.removed', 'event.expired') then -1 else 1 end) <> 1`);
}

/**
 * Rows that contradict each other; empty when every event is in exactly one state and its items, attempts and counters
 * agree.
 */
export async function contradictions(db: Db): Promise<unknown[]> {
  const found = await db.query(`${SUBJECTS}
    select 'queued without open item, or open item without queued' as broken, e.event_id, e.status
      from dlq_events e
      left join open_items i on i.id = e.id
     where (e.status = 'QUEUED') <> (i.id is not null)
    union all
    select 'an open item that the manifest does not hold as open, or one that is open there alone', coalesce(i.id, m.id)::text, m.state
      from open_items i full join (select * from redrive_items where state = 'open') m on m.id = i.id and m.redrive_id = i.redrive_id
     where m.id is null or i.id is null or (i.slice, i.source_id, i.revision) <> (m.slice, m.source_id, m.revision)
    union all
    select 'redrive counters differ from its items', r.id::text, r.state
      from redrives r
      left join lateral (
        select count(*) as total, count(*) filter (where state = 'delivered') as delivered,
               count(*) filter (where state = 'delivered' and result in ('ALREADY_PROCESSED', 'DEDUPLICATED')) as deduplicated,
               count(*) filter (where state = 'failed') as failed, count(*) filter (where state = 'refused') as refused,
               count(*) filter (where state = 'cancelled') as cancelled, count(*) filter (where state = 'passed') as passed
          from redrive_items where redrive_id = r.id) i on true
     where (r.total, r.delivered, r.deduplicated, r.failed, r.refused, r.cancelled, r.passed)
           <> (i.total, i.delivered, i.deduplicated, i.failed, i.refused, i.cancelled, i.passed)
    union all
    select 'a current revision that is not stored, or of another size', e.event_id, e.revision::text
      from dlq_events e join dlq_event_facts f on f.id = e.id left join dlq_event_bodies b on b.id = e.id
      left join event_revisions r on r.id = e.id and r.revision = e.revision
     where (case e.revision when 1 then octet_length(b.payload) else octet_length(r.payload) end) is distinct from f.payload_bytes
    union all
    select 'an attempt with another revision than its item', a.id::text, a.revision::text
      from sends a join redrive_items i on i.id = a.id and i.redrive_id = a.redrive_id
     where a.revision <> i.revision
    union all
    select 'delivered, and in no quiet window', e.event_id, e.status
      from dlq_events e
     where e.status = 'REDRIVEN' and e.confirmed_at is null
       and not exists (select 1 from quiet_windows w where e.id = any(w.event_ids) and w.since >= e.redrive_at)
    union all
    select 'a key of two revisions, or a revision with two keys', min(a.idempotency_key), null
      from redrive_attempts a group by a.id, a.revision having count(distinct a.idempotency_key) > 1
    union all
    select 'a key of two revisions, or a revision with two keys', a.idempotency_key, null
      from redrive_attempts a
     where not exists (select 1 from archived_events r where r.id = a.id)
     group by a.idempotency_key having count(distinct (a.id, a.revision)) > 1
    union all
    select 'redrive counts other confirmations than its events', r.id::text, r.confirmed::text
      from redrives r
      left join (select confirmed_redrive as id, count(*) as n from dlq_events group by 1) c using (id)
     where r.confirmed <> coalesce(c.n, 0)
       and not exists (select 1 from redrive_items i join archived_events a on a.id = i.id where i.redrive_id = r.id)
    union all
    select 'moves of an event without exactly one audit entry', e.event_id, m.moves || ' moves, ' || a.entries || ' entries'
      from dlq_events e
      join lateral (
        select count(*) + count(*) filter (where i.state <> 'open') as moves
          from redrive_items i
         where i.id = e.id and (i.state <> 'refused' or i.fence > 0 or i.queued_entry is not null)) m on true
      join lateral (
        select count(*) as entries from subjects s join audit_entries x on x.id = s.entry_id
         where s.event_id = e.id and exists (select 1 from redrives r where r.id = x.redrive_id) and x.action <> 'event.bounced'
            and not (x.action = 'event.confirmed' and x.before->>'status' = 'REDRIVEN')) a on true
     where m.moves <> a.entries and not exists (
       select 1 from subjects s join audit_entries x on x.id = s.entry_id
        where s.event_id = e.id and x.action in ('event.ignored'))`);
  return [...found, ...(await lineFaults(db))];
}
