import { readTypedTexts, type TypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { ofSources, seesControl } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type StoredScope, scopeOut } from "@/lib/order/controls/control.pure";
import type { ControlList, ControlOut } from "@/lib/order/controls/controls.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { PARKED } from "@/lib/redrive/states/state.sql";

type ControlRow = StoredScope & Omit<ControlOut, "scope"> & { live: boolean };

/** The count of the events of one control stops here, so that the list stays quick. */
const CATCHES_MAX = 10_000;

const SOURCE_ID = "(select id from sources where name = c.source)";

/** Parked events under a control's scope, of the sources whose names `$n` holds; null = of all. */
const catches = (scope: string) => `case c.scope
    when 'eventId' then (select count(*) from event_keys k join dlq_events e on e.id = k.id
                          where k.event_id = c.value and e.status in ${PARKED}
                            and (c.source is null or k.source_id = ${SOURCE_ID})
                            and ${ofSources("k.source_id", scope)})
    when 'aggregateId' then (select count(*) from (select 1 from dlq_event_rows e where e.found_aggregate_id = c.value
                          and e.status in ${PARKED}
                          and (c.source is null or e.source_id = ${SOURCE_ID})
                          and ${ofSources("e.source_id", scope)}
                          and (c."aggregateType" is null or coalesce(e.aggregate_type, '') = c."aggregateType")
                          limit ${CATCHES_MAX}) few)
    when 'errorCode' then (select coalesce(sum(l.n), 0)::bigint from dlq_level_sums l
                          where l.error_code = c.value and l.status in ${PARKED}
                            and (c.source is null or l.source_id = ${SOURCE_ID})
                            and ${ofSources("l.source_id", scope)})
    else (select coalesce(sum(l.n), 0)::bigint from dlq_level_sums l join sources s on s.id = l.source_id
           where s.name = c.value and l.status in ${PARKED} and ${ofSources("s.id", scope)})
  end`;

const COLUMNS = `c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType", c.reason, c.origin,
  c.created_by as "createdBy", c.created_at as "createdAt", c.expires_at as "expiresAt",
  c.lifted_at as "liftedAt", c.lifted_by as "liftedBy", c.lift_reason as "liftReason"`;

/** The blacklists that Parkade imposed on aggregates, in the form of controls. */
const AUTOMATIC = `select a.blacklist_id, 'blacklist', 'aggregateId', a.aggregate_id, s.name, a.aggregate_type,
    a.blacklist_reason, 'automatic', 'worker', a.blacklisted_at, null::timestamptz, null::timestamptz, null, null, true
  from aggregates a join sources s on s.id = a.source_id`;

const LIVE = "c.lifted_at is null and (c.expires_at is null or c.expires_at > now())";

/** Controls, newest first: the controls in force, the controls that ended, or both. */
export async function listControls(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: "live" | "ended" | null },
): Promise<ControlList> {
  const rows = await db.query<ControlRow>(
    `with imposed as (
       select ${COLUMNS}, (${LIVE}) as live from controls c
        where ($1::uuid is null or c.id < $1) and ($2::boolean is null or (${LIVE}) = $2) and ${seesControl("$4")}
        order by c.id desc limit $3
     ), automatic as (
       ${AUTOMATIC} where a.blacklist_id is not null and ($1::uuid is null or a.blacklist_id < $1) and $2 is not false
          and ($4::text[] is null or s.name = any($4))
        order by a.blacklist_id desc limit $3
     ), page as (
       select * from imposed union all select * from automatic order by id desc limit $3
     )
     select c.*, case when c.live then ${catches("$4")} end as catches from page c order by c.id desc`,
    [query.cursor, query.state === null ? null : query.state === "live", query.limit + 1, sourceScope(viewer)],
    { isoTimes: true },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  const typed = await readTypedTexts(db, viewer);
  return { items: page.items.map((row) => controlOut(row, typed)), nextCursor: page.nextCursor };
}

/** null = there is no such control, in force or ended. */
export async function readControl(db: Queryable, viewer: Viewer, id: string): Promise<ControlOut | null> {
  const [row] = await db.query<ControlRow>(
    `with found as (
       select ${COLUMNS}, (${LIVE}) as live from controls c where c.id = $1 and ${seesControl("$2")}
       union all ${AUTOMATIC} where a.blacklist_id = $1 and ($2::text[] is null or s.name = any($2))
     )
     select c.*, case when c.live then ${catches("$2")} end as catches from found c`,
    [id, sourceScope(viewer)],
    { isoTimes: true },
  );
  return row ? controlOut(row, await readTypedTexts(db, viewer)) : null;
}

function controlOut(
  { scope, value, source, aggregateType, live: _, ...row }: ControlRow,
  { text }: TypedTexts,
): ControlOut {
  const reasons = { reason: text(row.reason), liftReason: text(row.liftReason) };
  return { ...row, ...reasons, scope: scopeOut({ scope, value, source, aggregateType }) };
}
