import type { Queryable } from "@/lib/platform/database/db";
import { type ContractFacts, contractFacts, NO_REPEATS, type RepeatFacts } from "@/lib/sources/contracts/contract.pure";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import { ATTEMPT } from "@/lib/states/state.sql";

/** Repeats are looked at over this long, and at most this many of them, the newest: a report must not wait for more. */
const REPEATS_MINUTES = 10;
const REPEATS_MAX = 10_000;

/** What the live workers report of each target, by its name, and what the last repeats say. */
export async function readContractFacts(db: Queryable): Promise<Map<string, ContractFacts>> {
  const beats = await db.query<{ info: HeartbeatInfo }>(`select info from worker_heartbeats where ${IS_ALIVE}`);
  const repeated = await db.query<RepeatFacts & { target: string }>(
    `with repeats as materialized (
       select id, redrive_id, attempt, target, idempotency_key, revision, opened_at from redrive_attempts
        where opened_at > now() - interval '${REPEATS_MINUTES} minutes' and attempt > 1
        order by opened_at desc limit ${REPEATS_MAX}
     ), each as (
       select a.target, bool_or(b.idempotency_key <> a.idempotency_key) as other_key,
              max(extract(epoch from a.opened_at - b.opened_at) * 1000) filter (where b.state in (${ATTEMPT.delivered}, ${ATTEMPT.ambiguous})) as again_ms
         from repeats a join redrive_attempts b
           on b.id = a.id and b.redrive_id = a.redrive_id and b.attempt < a.attempt and b.revision = a.revision
        group by a.id, a.redrive_id, a.attempt, a.target)
     select target, count(*) as repeats, count(*) filter (where other_key) as "otherKeys", max(again_ms)::float8 as "againMs"
       from each group by target`,
  );
  const repeatsOf = new Map(repeated.map(({ target, ...facts }) => [target, facts]));
  const names = new Set(beats.flatMap(({ info }) => Object.keys(info.targets ?? {})));
  return new Map(
    [...names].map((name) => {
      const engines = beats.flatMap(({ info }) => info.targets?.[name] ?? []);
      const sent = engines.reduce((sum, { sent }) => sum + (sent?.minute ?? 0), 0);
      return [name, contractFacts(engines, sent / 60, repeatsOf.get(name) ?? NO_REPEATS)!];
    }),
  );
}
