import { readTypedTexts, type TypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { ofSources, seesControl } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type StoredScope, scopeOut } from "@/lib/order/controls/control.pure";
import { IN_FORCE } from "@/lib/order/controls/control.sql";
import type { ControlList, ControlOut } from "@/lib/order/controls/controls.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { PARKED } from "@/lib/states/state.sql";

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

/** The controls `c` of a page, of the sources whose names `scope` holds. */
const withCatches = (page: string, scope: string) => `with page as (
    select c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType", c.reason, c.origin,
           c.created_by as "createdBy", c.created_at as "createdAt", c.expires_at as "expiresAt",
           c.lifted_at as "liftedAt", c.lifted_by as "liftedBy", c.lift_reason as "liftReason", (${IN_FORCE}) as live
      from controls c where ${seesControl(scope)} and ${page}
  )
  select c.*, case when c.live then ${catches(scope)} end as catches from page c order by c.id desc`;

/** In the words of the indexes of each, which find a page among any number of the others. */
const STATES = { live: IN_FORCE, ended: "(c.lifted_at is not null or c.expires_at <= now())" };

/** Controls, newest first: the controls in force, the controls that ended, or both. */
export async function listControls(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: keyof typeof STATES | null },
): Promise<ControlList> {
  const state = query.state === null ? "true" : STATES[query.state];
  const rows = await db.query<ControlRow>(
    withCatches(`($1::uuid is null or c.id < $1) and ${state} order by c.id desc limit $2`, "$3"),
    [query.cursor, query.limit + 1, sourceScope(viewer)],
    { isoTimes: true },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  const typed = await readTypedTexts(db, viewer);
  return { items: page.items.map((row) => controlOut(row, typed)), nextCursor: page.nextCursor };
}

/** null = there is no such control, in force or ended. */
export async function readControl(db: Queryable, viewer: Viewer, id: string): Promise<ControlOut | null> {
  const [row] = await db.query<ControlRow>(withCatches("c.id = $1", "$2"), [id, sourceScope(viewer)], {
    isoTimes: true,
  });
  return row ? controlOut(row, await readTypedTexts(db, viewer)) : null;
}

function controlOut(
  { scope, value, source, aggregateType, live: _, ...row }: ControlRow,
  { text }: TypedTexts,
): ControlOut {
  const reasons = { reason: text(row.reason), liftReason: text(row.liftReason) };
  return { ...row, ...reasons, scope: scopeOut({ scope, value, source, aggregateType }) };
}
