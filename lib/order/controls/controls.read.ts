import type { Control, ControlFacts, ControlScope } from "@/lib/order/controls/control.pure";
import type { Queryable } from "@/lib/platform/database/db";

const COLUMNS = `c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType", c.origin,
  (extract(epoch from c.expires_at) * 1000)::float8 as "expiresAtMs"`;
const LIVE = "c.lifted_at is null and (c.expires_at is null or c.expires_at > now())";

/**
 * All controls in force now that people imposed: few enough to read at once. The blacklists that Parkade imposes on
 * aggregates are rows of `aggregates`.
 */
export async function readControlsInForce(db: Queryable): Promise<Control[]> {
  return db.query<Control>(`select ${COLUMNS} from controls c where ${LIVE}`, [], { name: "controls-in-force" });
}

const hasControl = (scope: ControlScope, value: string) =>
  `exists (select 1 from controls c where ${LIVE} and c.scope = '${scope}' and c.value = ${value})`;

/** SQL: a control in force now may match the event `e` of the source `s`, whether it refuses or allows. */
export const UNDER_CONTROL = `(${hasControl("eventId", "e.event_id")} or ${hasControl("aggregateId", "e.aggregate_id")}
  or ${hasControl("errorCode", "e.error_code")} or ${hasControl("source", "s.name")})`;

/**
 * Controls in force now that can match one of these events: the cost depends on the events, not on the number of
 * controls.
 */
export async function readControlsOver(
  db: Queryable,
  events: readonly Pick<ControlFacts, "eventId" | "aggregateId" | "errorCode" | "source">[],
): Promise<Control[]> {
  const values = {
    eventId: new Set(events.map((event) => event.eventId)),
    aggregateId: new Set(events.flatMap((event) => event.aggregateId ?? [])),
    errorCode: new Set(events.map((event) => event.errorCode)),
    source: new Set(events.map((event) => event.source)),
  };
  const named = Object.entries(values).flatMap(([scope, set]) => [...set].map((value) => [scope, value] as const));
  return db.query<Control>(
    `select ${COLUMNS} from unnest($1::text[], $2::text[]) as w(scope, value)
       join controls c on c.scope = w.scope and c.value = w.value and ${LIVE}`,
    [named.map(([scope]) => scope), named.map(([, value]) => value)],
    { name: "controls-over-events" },
  );
}
