import { configAt } from "@/lib/brokers/kinds/destination.shapes";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import type { Contract } from "@/lib/sources/contracts/contract.pure";
import type { TargetOut, TargetSettings } from "@/lib/sources/sources.shapes";
import type { LanePaces, TargetPace } from "@/lib/sources/targets/target-pace.pure";

/** One target with its source, as the worker sends to it. */
export type TargetRow = Omit<TargetSettings, "contract"> &
  Pick<TargetOut, "id" | "name" | "source" | "kind" | "lane" | "destination"> & {
    sourceId: string;
    /** Of the source; of a named target with its destination. */
    config: Record<string, unknown>;
    resetAtMs: number | null;
    /** A person has stopped the sends to it, or all sends. */
    stopped: boolean;
    /** When such a stop was lifted last; null = never. */
    resumedAtMs: number | null;
    /** What is promised of it; null or absent = nothing. */
    contract?: Contract | null;
    /** Changes whenever the source or the target changes: a publisher made before is out of date. */
    revision: string;
  };

const COLUMNS = `t.id, t.name, t.source_id as "sourceId", s.name as source, s.kind, s.config,
  t.lane, t.destination, t.rate_per_second as "ratePerSecond", t.burst, t.bulkhead,
  t.policy_name as "policyName", t.retryable, t.breaker_force as "breakerForce", t.reset_at as "resetAtMs",
  t.warm_up_ms as "warmUpMs", t.no_bursts as "noBursts", t.fallback,
  t.needs_approval as "needsApproval", t.contract, stop.stopped, stop."resumedAtMs",
  md5(s.updated_at::text || t.updated_at::text) as revision`;

const STOP = `select count(*) filter (where lifted_at is null) > 0 as stopped, max(lifted_at) as "resumedAtMs"
  from stops where target_id is null or target_id = t.id`;

/** All targets; few. */
export async function readTargets(db: Queryable): Promise<TargetRow[]> {
  const rows = await db.query<TargetRow>(
    `select ${COLUMNS} from targets t join sources s on s.id = t.source_id cross join lateral (${STOP}) stop order by t.name`,
    [],
    { name: "targets" },
  );
  return rows.map((row) => (row.destination === null ? row : { ...row, config: configAt(row, row.destination) }));
}

/** Keeps the target from being removed until the transaction ends. False = it was removed. */
export async function holdTarget(tx: Tx, id: string): Promise<boolean> {
  return (await tx.query("select 1 from targets where id = $1 for key share", [id])).length > 0;
}

/** Paces of the targets of both lanes by source name, and of all targets by their ids. */
export type Paces = Record<"main" | "slow", LanePaces> & { byId: Readonly<Record<string, TargetPace>> };

export async function readPaces(db: Queryable, viewer: Viewer): Promise<Paces> {
  const rows = await db.query<TargetPace & { id: string; lane: "main" | "slow" | null; source: string }>(
    `select t.id, t.lane, s.name as source, t.rate_per_second as "ratePerSecond", t.warm_up_ms as "warmUpMs", t.bulkhead
       from targets t join sources s on s.id = t.source_id
      where $1::text[] is null or s.name = any($1)`,
    [sourceScope(viewer)],
    { name: "paces" },
  );
  const paceOf = ({ ratePerSecond, warmUpMs, bulkhead }: TargetPace) => ({ ratePerSecond, warmUpMs, bulkhead });
  const of = (lane: "main" | "slow") =>
    Object.fromEntries(rows.filter((row) => row.lane === lane).map((row) => [row.source, paceOf(row)]));
  return { main: of("main"), slow: of("slow"), byId: Object.fromEntries(rows.map((row) => [row.id, paceOf(row)])) };
}
