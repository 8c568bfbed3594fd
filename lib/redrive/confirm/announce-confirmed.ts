import { CONFIRMED_DESTINATION } from "@/lib/guard/settings/settings.pure";
import { readConfirmedUrl } from "@/lib/guard/settings/settings.read";
import { insertOutbox } from "@/lib/kit/outbox/insert";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/**
 * Inserts a message about confirmed events into the outbox, for the address in the settings, if there is one. It is sent if
 * this transaction commits and never otherwise. One message for each source.
 */
export async function announceConfirmed(
  tx: Tx,
  ids: readonly string[],
  { by, nowMs }: { by: string; nowMs: number },
): Promise<void> {
  if (ids.length === 0 || (await readConfirmedUrl(tx)) === null) return;
  const bySource = Map.groupBy(await readConfirmedEvents(tx, ids), ({ source }) => source);
  const messages = [...bySource].map(([source, events]) => {
    const data = { source, by, events: events.map(({ source: _, ...event }) => event) };
    return {
      id: uuidv7(nowMs),
      aggregateType: "source",
      aggregateId: source,
      eventType: "events.confirmed",
      destination: CONFIRMED_DESTINATION,
      payload: { type: "events.confirmed", timestamp: iso(nowMs), data },
    };
  });
  // The worker polls: a NOTIFY would make all commits of the store wait for each other.
  await insertOutbox(tx, messages, { notify: false });
}

/** One confirmed event, as its producers' systems know it. Times are ISO 8601. */
type ConfirmedEvent = {
  id: string;
  source: string;
  eventId: string;
  /** Within which the id is unique; null = in the source. */
  producer: string | null;
  aggregateType: string | null;
  aggregateId: string | null;
  version: string | null;
  redriveId: string | null;
};

/** The named events, ordered by source. */
function readConfirmedEvents(db: Queryable, ids: readonly string[]): Promise<ConfirmedEvent[]> {
  return db.query(
    `select e.id, s.name as source, e.event_id as "eventId", nullif(e.producer, '') as producer, e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", e.version::text as version, e.confirmed_redrive as "redriveId"
       from dlq_events e join sources s on s.id = e.source_id
      where e.id = any($1::uuid[]) order by s.name, e.id`,
    [ids],
    { name: "confirmed-events" },
  );
}
