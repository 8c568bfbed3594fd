import type { Patterns } from "@/lib/keep/forget/forget-key.pure";
import { replaceIn, TRACES } from "@/lib/keep/forget/traces.sql";
import type { Tx } from "@/lib/platform/database/db";

/** Replaces what the patterns find in all texts beside events. Returns the number of changed rows. */
export async function replaceTraces(tx: Tx, { text, json }: Patterns): Promise<number> {
  let changed = 0;
  for (const trace of TRACES) changed += await tx.run(replaceIn(trace), [text, json]);
  return changed;
}

/** A control over something that is forgotten has nothing to catch any more: it ends. */
export async function endNamedControls(tx: Tx, { text }: Patterns, by: string): Promise<number> {
  return tx.run(
    `update controls set lifted_at = now(), lifted_by = $2, lift_reason = 'what it was over was forgotten'
      where lifted_at is null and value ~ $1`,
    [text, by],
  );
}

/** Keys and messages that name one of these values: they are of no use without it. Returns the number of rows. */
export async function forgetMessages(tx: Tx, values: readonly string[]): Promise<number> {
  const named = await tx.run(
    `delete from outbox o using unnest($1::text[]) v
      where o.aggregate_id = v or o.message_key = v or (length(v) >= 6 and position(convert_to(v, 'UTF8') in o.payload) > 0)`,
    [values],
  );
  const drops = await tx.run("delete from admission_drops where event_id = any($1::text[])", [values]);
  return named + drops + (await tx.run("delete from idempotency_keys where key = any($1::text[])", [values]));
}

/** Of these names, the ids of events, and those of aggregates without events. */
export async function forgetNamedKeys(
  tx: Tx,
  names: readonly string[],
  emptyAggregates: ReadonlySet<string>,
): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select name from unnest($1::text[]) name
      where not exists (select 1 from dlq_event_facts f where f.aggregate_id = name)
        and not exists (select 1 from archived_events a where a.aggregate_id = name or a.event_id = name)
        and not exists (select 1 from event_keys k where k.event_id = name)`,
    [names],
  );
  return [...new Set([...rows.map(({ name }) => name), ...emptyAggregates])];
}
