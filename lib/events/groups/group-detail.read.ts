import type { GroupOut } from "@/lib/events/events.shapes";
import { type AffectedRow, affectedOf } from "@/lib/events/groups/affected.pure";
import { listGroups } from "@/lib/events/groups/group-list.read";
import { readGroupHours } from "@/lib/events/groups/group-onsets.read";
import { type GroupDetail, type GroupWithin, unknownGroup } from "@/lib/events/groups/groups.shapes";
import { entriesOfEvents } from "@/lib/guard/audit/subjects.sql";
import { maskNullable, maskTags } from "@/lib/guard/masking/mask.pure";
import { oneSource } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { ofSources, seesEntry, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ANY_RANGE } from "@/lib/selection/event-kinds.read";
import { ITEM } from "@/lib/states/state.sql";

const DAY_MS = 86_400_000;
/** Days and events of a group that are looked at: who is affected now, in a read that ends in time. */
const LOOKED_AT_MS = 7 * DAY_MS;
const EVENTS_MAX = 1_000;
const PAST_MAX = 20;
const ALERTS_MAX = 10;

/** A group with all that its page shows, or the group that stands for it. Throws DomainError `unknown-group`. */
export async function readGroupDetail(
  db: Db,
  viewer: Viewer,
  { fingerprint, within }: { fingerprint: string; within: GroupWithin },
  nowMs: number,
): Promise<GroupDetail> {
  // Its events are those of any time: the window is that of its arrivals.
  const { source, ...window } = within;
  const filter = { fingerprint: [fingerprint], ...(source ? { source } : {}) };
  const { items } = await listGroups(db, viewer, { filter, window, limit: 1, cursor: null }, nowMs);
  const group = items[0];
  if (!group) throw unknownGroup(fingerprint);
  const scope = sourceScope(viewer, source);
  // The group that stands for the one that was asked for.
  const of = { fingerprint: group.fingerprint, scope };
  const [hours, rest, alerts, joined] = await Promise.all([
    readGroupHours(db, { fingerprint: group.fingerprint, sources: scope }, nowMs),
    readAffectedAndPast(db, { viewer, group, scope, nowMs }),
    readAlertsOf(db, of),
    readJoined(db, viewer, group),
  ]);
  return { group, hours: hours.map(({ atMs, ...hour }) => ({ at: iso(atMs), ...hour })), ...rest, alerts, joined };
}

type Looked = { viewer: Viewer; group: GroupOut; scope: string[] | null; nowMs: number };

/** Best effort: a part that takes too long is null, and the page says so. */
async function readAffectedAndPast(db: Db, looked: Looked): Promise<Pick<GroupDetail, "affected" | "past">> {
  const rows = await inTime(readEvents(db, looked));
  if (rows === null) return { affected: null, past: null };
  const masks = await readMasks(db);
  const masked = rows.map((row) => ({ ...row, tags: maskTags(row.tags, masks.of(row.source)) }));
  const { aggregates, tags } = affectedOf(masked);
  const affected = {
    events: rows.length,
    whole: rows.length < EVENTS_MAX,
    since: iso(looked.nowMs - LOOKED_AT_MS),
    aggregates,
    tags,
  };
  const past = await inTime(
    readPast(
      db,
      looked.viewer,
      rows.map(({ id }) => id),
    ),
  );
  return { affected, past };
}

async function inTime<Out>(read: Promise<Out>): Promise<Out | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}

/** The newest events of the group, whatever their state. Each source has some ranges of one index. */
async function readEvents(db: Db, { group, scope, nowMs }: Looked): Promise<(AffectedRow & { id: string })[]> {
  return db.query(
    `with newest as materialized (
       select e.id, s.name as source from sources s cross join ${ANY_RANGE} cross join lateral (
         select id from dlq_events
          where fingerprint = $1 and source_id = s.id and settled = r.settled and id >= $2::uuid
          order by id desc limit ${EVENTS_MAX}) e
        where s.name = any($3) and ${ofSources("s.id", "$4")} order by e.id desc limit ${EVENTS_MAX})
     select e.id, n.source, e.aggregate_type as "aggregateType", e.found_aggregate_id as "aggregateId",
            coalesce(e.tags, '{}') as tags
       from newest n join dlq_event_rows e on e.id = n.id`,
    [group.fingerprint, uuidv7LowerBound(nowMs - LOOKED_AT_MS), group.sources, scope],
    { name: "group-events" },
  );
}

type Past = NonNullable<GroupDetail["past"]>[number];

/** What was done to these events: redrives of which they are items, and entries of the audit about them. */
async function readPast(db: Queryable, viewer: Viewer, ids: readonly string[]): Promise<Past[]> {
  const scope = sourceScope(viewer);
  const redrives = await db.query<Past>(
    `with mine as (
       select redrive_id, count(*)::int as events, count(*) filter (where state = ${ITEM.delivered})::int as delivered,
              count(*) filter (where state = ${ITEM.failed})::int as failed
         from redrive_items where id = any($1::uuid[]) group by 1)
     select r.created_at as at, r.created_by as by, nullif(r.reason, '') as reason, 'redrive' as what, r.id as "redriveId",
            null as "operationId", m.events, m.delivered, m.failed, r.state
       from mine m join redrives r on r.id = m.redrive_id
      where r.mode = 'deliver' and ${seesRedrive("r", "$2")} order by r.id desc limit ${PAST_MAX}`,
    [ids, scope],
    { name: "group-redrives", isoTimes: true },
  );
  const entries = await db.query<Past>(
    `with covering as (
       select entry_id, count(*)::int as events from (${entriesOfEvents("select unnest($1::uuid[])")}) c group by 1)
     select a.at, a.actor as by, a.reason, substr(a.action, 7) as what, null as "redriveId", o.id as "operationId",
            c.events, null as delivered, null as failed, null as state
       from covering c join audit_entries a on a.id = c.entry_id left join bulk_operations o on o.audit_id = a.id
      where a.action in ('event.ignored', 'event.released', 'event.mended', 'event.edited', 'event.confirmed')
        -- Workers confirm quiet events: many entries that no person made.
        and not (a.action = 'event.confirmed' and a.actor = 'worker')
        and ($2::text[] is null or ${seesEntry("$2")}) order by a.id desc limit ${PAST_MAX}`,
    [ids, scope],
    { name: "group-entries", isoTimes: true },
  );
  const past = [...redrives, ...entries].sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, PAST_MAX);
  return withShownReasons(db, viewer, past);
}

const JOINED_MAX = 50;

/** Groups of other sources may be among them: only for whoever sees all sources of the group. */
async function readJoined(db: Queryable, viewer: Viewer, group: GroupOut): Promise<GroupDetail["joined"]> {
  const rows = await db.query<GroupDetail["joined"]["items"][number] & { total: number }>(
    `select a.fingerprint, a.pattern, a.reason, a.note, a.created_by as by, a.created_at as at, count(*) over () as total
       from group_aliases a
      where a.target = $1 and a.fingerprint <> $1 and a.reason in ('merge', 'storm') and a.family is null
        and ($2::text[] is null or not exists (
          select from dlq_group_levels l join sources s on s.id = l.source_id where l.fingerprint = $1 and s.name <> all($2)))
      order by a.created_at desc, a.fingerprint limit ${JOINED_MAX}`,
    [group.fingerprint, sourceScope(viewer)],
    { name: "joined-groups", isoTimes: true },
  );
  const set = (await readMasks(db)).of(oneSource(group.sources));
  const items = rows.map(({ total: _, ...row }) => ({
    ...row,
    pattern: maskText(row.pattern, set),
    note: maskNullable(row.note, set),
  }));
  return { total: rows[0]?.total ?? 0, items };
}

type OfGroup = { fingerprint: string; scope: string[] | null };

async function readAlertsOf(db: Queryable, { fingerprint, scope }: OfGroup): Promise<GroupDetail["alerts"]> {
  return db.query(
    `select a.id, a.rule_name as rule, a.sentence, a.severity, a.state, a.since, a.acknowledged_by as "acknowledgedBy"
       from alerts a where a.subject ->> 'fingerprint' = $1 and ($2::text[] is null or a.source = any($2))
      order by a.state = 'firing' desc, a.id desc limit ${ALERTS_MAX}`,
    [fingerprint, scope],
    { name: "alerts-of-group", isoTimes: true },
  );
}
