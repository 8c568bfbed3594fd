import type { Queryable } from "@/lib/platform/database/db";

/** One confirmed event, as its producers' systems know it. Times are ISO 8601. */
export type ConfirmedEvent = {
  id: string;
  source: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: string | null;
  redriveId: string | null;
};

/** The named events, ordered by source. */
export function readConfirmedEvents(db: Queryable, ids: readonly string[]): Promise<ConfirmedEvent[]> {
  return db.query(
    `select e.id, s.name as source, e.event_id as "eventId", e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", e.version::text as version, e.confirmed_redrive as "redriveId"
       from dlq_events e join sources s on s.id = e.source_id
      where e.id = any($1::uuid[]) order by s.name, e.id`,
    [ids],
    { name: "confirmed-events" },
  );
}
