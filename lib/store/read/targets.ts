import type { Fallback } from "@/lib/core/fallback";
import type { LanePaces, TargetPace } from "@/lib/core/redrive-rate";
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
  warmUpMs: number;
  noBursts: boolean;
  fallback: Fallback | null;
  /** Changes whenever the source or the target changes: a publisher made before is out of date. */
  revision: string;
};

const COLUMNS = `t.id, t.name, t.source_id as "sourceId", s.name as source, s.kind, s.config,
  s.payload_schema as "payloadSchema", t.lane, t.rate_per_second as "ratePerSecond", t.burst, t.bulkhead,
  t.policy_name as "policyName", t.retryable, t.breaker_force as "breakerForce", t.reset_at as "resetAtMs",
  t.warm_up_ms as "warmUpMs", t.no_bursts as "noBursts", t.fallback,
  md5(s.updated_at::text || t.updated_at::text) as revision`;

/** All targets; few. */
export async function readTargets(db: Queryable): Promise<TargetRow[]> {
  return db.query<TargetRow>(
    `select ${COLUMNS} from targets t join sources s on s.id = t.source_id order by t.name`,
    [],
    { name: "targets" },
  );
}

/** Pace of each source's target, by lane and source name. */
export async function readPaces(db: Queryable, viewer: Viewer): Promise<Record<"main" | "slow", LanePaces>> {
  const rows = await db.query<TargetPace & { lane: "main" | "slow"; source: string }>(
    `select t.lane, s.name as source, t.rate_per_second as "ratePerSecond", t.warm_up_ms as "warmUpMs"
       from targets t join sources s on s.id = t.source_id
      where $1::text[] is null or s.name = any($1)`,
    [sourceScope(viewer)],
    { name: "paces" },
  );
  const of = (lane: "main" | "slow") =>
    Object.fromEntries(
      rows.filter((row) => row.lane === lane).map(({ source, lane: _lane, ...pace }) => [source, pace]),
    );
  return { main: of("main"), slow: of("slow") };
}
