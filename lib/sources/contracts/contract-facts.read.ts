import type { Queryable } from "@/lib/platform/database/db";
import type { ContractFacts } from "@/lib/sources/contracts/contract.pure";
import { HEARTBEAT_LOST_S, type HeartbeatInfo } from "@/lib/sources/targets/target-list.read";

/** Sends are counted over this long, seconds. */
const RATE_WINDOW_S = 60;

/** What the live workers report of each target, by its name: one read of their heartbeats, one of the last minute's sends. */
export async function readContractFacts(db: Queryable): Promise<Map<string, ContractFacts>> {
  const beats = await db.query<{ info: HeartbeatInfo }>(
    `select info from worker_heartbeats where seen_at > now() - interval '${HEARTBEAT_LOST_S} s'`,
  );
  const sent = await db.query<{ target: string; n: number }>(
    `select target, count(*) as n from redrive_attempts
      where opened_at > now() - interval '${RATE_WINDOW_S} s' group by target`,
  );
  const sentBy = new Map(sent.map(({ target, n }) => [target, n / RATE_WINDOW_S]));
  const facts = new Map<string, ContractFacts>();
  for (const { info } of beats) {
    for (const [name, engine] of Object.entries(info.targets ?? {})) {
      const before = facts.get(name);
      const count = (counter: string) => engine.counters[counter] ?? 0;
      facts.set(name, {
        operations: (before?.operations ?? 0) + count("operations"),
        attempts: (before?.attempts ?? 0) + count("attempts"),
        succeeded: (before?.succeeded ?? 0) + count("succeeded"),
        retries: (before?.retries ?? 0) + count("retries"),
        timeouts: (before?.timeouts ?? 0) + count("timeouts"),
        waitP99Ms: higher(before?.waitP99Ms, engine.waits?.p99Ms),
        latencyP95Ms: higher(before?.latencyP95Ms, engine.latency.p95Ms),
        latencyP99Ms: higher(before?.latencyP99Ms, engine.latency.p99Ms),
        permits: (before?.permits ?? 0) + engine.bulkhead.permits,
        sentPerSecond: sentBy.get(name) ?? 0,
      });
    }
  }
  return facts;
}

/** Of two workers the slower one's quantile: a caller may meet either. */
function higher(one: number | null | undefined, other: number | null | undefined): number | null {
  const known = [one, other].filter((value) => value !== null && value !== undefined);
  return known.length === 0 ? null : Math.max(...known);
}
