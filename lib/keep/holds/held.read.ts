import { coveredByHold, HELD } from "@/lib/keep/holds/hold.sql";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { idSpan } from "@/lib/platform/database/id-span";

/** The number is arbitrary. */
const HOLDS_LOCK = 7_305_127;

/**
 * Of these stored events, those that a legal hold in force covers. To be asked after the events are locked: a hold that was
 * answered before the question is seen, and the locked events cannot come under another one by a change of theirs.
 */
export async function readHeld(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_event_rows e where e.id = any($1::uuid[]) and e.id between $2 and $3 and ${HELD}`,
    [ids, ...idSpan(ids)],
    { name: "held-events" },
  );
  return new Set(rows.map(({ id }) => id));
}

/** What a hold asks of an event that is not in the store. `firstSeenMs`: epoch milliseconds. */
export type HeldFacts = {
  id: string;
  source: string;
  eventId: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
  tags: Readonly<Record<string, string>>;
  firstSeenMs: number;
};

/** The same of events that are known by their facts, such as lines of the archive. */
export async function readHeldFacts(db: Queryable, events: readonly HeldFacts[]): Promise<Set<string>> {
  if (events.length === 0) return new Set();
  const rows = await db.query<{ id: string }>(
    `select w.id from (
       select r.id, r.source, r."eventId" as event_id, r."aggregateType" as aggregate_type, r."aggregateId" as aggregate_id,
              r."errorCode" as error_code, r.tags, to_timestamp(r."firstSeenMs" / 1000) as first_seen
         from jsonb_to_recordset($1::jsonb) r(id text, source text, "eventId" text, "aggregateType" text, "aggregateId" text,
                                              "errorCode" text, tags jsonb, "firstSeenMs" float8)) w
      where ${coveredByHold("w", "w.source")}`,
    [JSON.stringify(events)],
    { name: "held-facts" },
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Keeps holds from being placed until the transaction ends. Whoever destroys events for good takes it, then asks which are
 * held: so nothing that a hold covers is destroyed after the hold was answered. To be held for moments: a person waits for it.
 */
export async function keepHoldsAsTheyAre(tx: Tx): Promise<void> {
  await tx.run("select pg_advisory_xact_lock_shared($1)", [HOLDS_LOCK]);
}

/** Waits for the transactions that destroy events now. The next ones see what this transaction writes. */
export async function waitForDestroyers(tx: Tx): Promise<void> {
  await tx.run("select pg_advisory_xact_lock($1)", [HOLDS_LOCK]);
}
