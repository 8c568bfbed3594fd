import type { Queryable, Tx } from "@/lib/platform/database/db";
import type { RedriveRuleTrial } from "@/lib/rules/redrive-rules.shapes";

/** A run that must not be made: the rules were changed, or another worker made it. */
export class RunTaken extends Error {}

/**
 * Makes a run of a rule the run of this redrive, in the transaction that stores the redrive. Throws RunTaken when the rules
 * have another revision than `revision`, the rule is off, or another worker made a run since `run` was read.
 */
export async function claimRun(
  tx: Tx,
  { id, version, run }: { id: string; version: number; run: string },
  facts: { revision: string; redriveId: string; events: number; lookedTo: string | null },
): Promise<void> {
  const [now] = await tx.query<{ revision: string }>(
    "select revision::text from redrive_rule_revision where id = 1 for share",
  );
  if (now?.revision !== facts.revision) throw new RunTaken();
  const stored = await tx.run(
    `with moved as (
       update redrive_rules set run = run + 1, looked_to = $3, fault = null
        where id = $1 and run = $2 and enabled returning authors, enabled_by
     )
     insert into redrive_rule_runs (redrive_id, rule_id, version, events, authors)
     select $4, $1, $5, $6, authors || enabled_by from moved`,
    [id, run, facts.lookedTo, facts.redriveId, version, facts.events],
  );
  if (stored === 0) throw new RunTaken();
}

/** Stores how far a round without a due event has looked, and why it could not apply the rule. */
export async function noteRound(
  db: Queryable,
  { id, run }: { id: string; run: string },
  { lookedTo, fault }: { lookedTo: string | null; fault: string | null },
): Promise<void> {
  await db.run("update redrive_rules set looked_to = $3, fault = $4 where id = $1 and run = $2", [
    id,
    run,
    lookedTo,
    fault,
  ]);
}

export async function insertTrial(
  db: Queryable,
  { id, digest, ...result }: RedriveRuleTrial,
  { actor, atMs }: { actor: string; atMs: number },
): Promise<void> {
  await db.run(
    `insert into redrive_rule_trials (id, digest, result, created_by, created_at)
     values ($1, $2, $3::jsonb, $4, to_timestamp($5::float8 / 1000))`,
    [id, digest, JSON.stringify(result), actor, atMs],
  );
}

/** A rule that is switched on later is tried again. */
const TRIALS_KEPT = "30 days";

export async function removeExpiredTrials(db: Queryable): Promise<void> {
  await db.run(`delete from redrive_rule_trials where created_at < now() - interval '${TRIALS_KEPT}'`);
}
