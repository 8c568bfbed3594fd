import type { Control, ControlFacts, ControlScope } from "@/lib/order/controls/control.pure";
import { IN_FORCE } from "@/lib/order/controls/control.sql";
import { inLine } from "@/lib/order/line.sql";
import type { Queryable } from "@/lib/platform/database/db";

export type ImposedControl = Control & { reason: string; createdBy: string };

const COLUMNS = `c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType", c.origin, c.reason,
  c.created_by as "createdBy", (extract(epoch from c.expires_at) * 1000)::float8 as "expiresAtMs"`;

/** The controls in force now that people imposed: few enough to read at once. */
export async function readControlsOfPeople(db: Queryable): Promise<Control[]> {
  return db.query<Control>(`select ${COLUMNS} from controls c where ${IN_FORCE} and c.origin = 'person'`, [], {
    name: "controls-of-people",
  });
}

/** The most blacklists that Parkade imposed, and the most events parked in their aggregates, that are looked up. */
const BLACKLISTED_MAX = { aggregates: 5_000, events: 20_000 };

/** The ids of the events that are parked in the aggregates that Parkade has blacklisted; null = these are too many. */
export async function readBlacklistedByParkade(db: Queryable): Promise<string[] | null> {
  const { aggregates, events } = BLACKLISTED_MAX;
  const [found] = await db.query<{ aggregates: number; ids: string[] }>(
    `with blacklisted as materialized (
       select c.value as aggregate_id, s.id as source_id, c.aggregate_type from controls c join sources s on s.name = c.source
        where c.lifted_at is null and c.origin = 'automatic' limit ${aggregates + 1})
     select (select count(*) from blacklisted) as aggregates, array(
       select l.id from blacklisted b cross join lateral (
         select l.id from aggregate_lines l where ${inLine("l", "b", "parked", "skipped")} offset 0) l limit ${events + 1}) as ids`,
    [],
    { name: "blacklisted-by-parkade" },
  );
  return found!.aggregates > aggregates || found!.ids.length > events ? null : found!.ids;
}

const hasControl = (scope: ControlScope, value: string) =>
  `exists (select 1 from controls c where ${IN_FORCE} and c.scope = '${scope}' and c.value = ${value})`;

/** SQL: a control in force now may match the event `e` of the source `s`, whether it refuses or allows. */
export const UNDER_CONTROL = `(${hasControl("eventId", "e.event_id")} or ${hasControl("aggregateId", "e.aggregate_id")}
  or ${hasControl("errorCode", "e.error_code")} or ${hasControl("source", "s.name")})`;

/**
 * Controls in force now that can match one of these events, the oldest first: the cost depends on the events, not on the number of
 * controls.
 */
export async function readControlsOver(
  db: Queryable,
  events: readonly Pick<ControlFacts, "eventId" | "aggregateId" | "errorCode" | "source">[],
): Promise<ImposedControl[]> {
  const values = {
    eventId: new Set(events.map((event) => event.eventId)),
    aggregateId: new Set(events.flatMap((event) => event.aggregateId ?? [])),
    errorCode: new Set(events.map((event) => event.errorCode)),
    source: new Set(events.map((event) => event.source)),
  };
  const named = Object.entries(values).flatMap(([scope, set]) => [...set].map((value) => [scope, value] as const));
  return db.query<ImposedControl>(
    `select ${COLUMNS} from unnest($1::text[], $2::text[]) as w(scope, value)
       join controls c on c.scope = w.scope and c.value = w.value and ${IN_FORCE}
      order by c.id`,
    [named.map(([scope]) => scope), named.map(([, value]) => value)],
    { name: "controls-over-events" },
  );
}
