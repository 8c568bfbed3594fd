import { sourceScope, type Viewer } from "@/lib/core/viewer";
import type { Queryable } from "@/lib/store/db";

/** One target with its source, as the worker sends to it. */
export type TargetRow = {
  id: string;
  name: string;
  sourceId: string;
  source: string;
  kind: string;
  config: Record<string, unknown>;
  payloadSchema: Record<string, unknown> | null;
  lane: "main" | "slow";
  ratePerSecond: number | null;
  burst: number | null;
  bulkhead: number;
  policyName: string;
  retryable: boolean;
  breakerForce: "open" | "closed" | null;
  resetAtMs: number | null;
  /** Changes whenever the source or the target does: a publisher made before is stale. */
  revision: string;
};

const COLUMNS = `t.id, t.name, t.source_id as "sourceId", s.name as source, s.kind, s.config,
  s.payload_schema as "payloadSchema", t.lane, t.rate_per_second as "ratePerSecond", t.burst, t.bulkhead,
  t.policy_name as "policyName", t.retryable, t.breaker_force as "breakerForce", t.reset_at as "resetAtMs",
  md5(s.updated_at::text || t.updated_at::text) as revision`;

/** All targets; few. */
export async function readTargets(db: Queryable): Promise<TargetRow[]> {
  return db.query<TargetRow>(
    `select ${COLUMNS} from targets t join sources s on s.id = t.source_id order by t.name`,
    [],
    { name: "targets" },
  );
}

/** Rate of each source's target on a lane, by source name; null = unlimited. */
export async function readLaneRates(
  db: Queryable,
  viewer: Viewer,
  lane: "main" | "slow",
): Promise<Record<string, number | null>> {
  const rows = await db.query<{ source: string; rate: number | null }>(
    `select s.name as source, t.rate_per_second as rate from targets t join sources s on s.id = t.source_id
      where t.lane = $1 and ($2::text[] is null or s.name = any($2))`,
    [lane, sourceScope(viewer)],
    { name: "lane-rates" },
  );
  return Object.fromEntries(rows.map((row) => [row.source, row.rate]));
}
