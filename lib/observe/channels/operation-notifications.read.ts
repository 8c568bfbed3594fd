import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import type { ReportedOperation } from "@/lib/observe/channels/operation-message.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { FINAL_REDRIVES } from "@/lib/states/state.sql";

/** An operation about which a channel still has to be notified. */
type AwaitedOperation = ReportedOperation & {
  ended: boolean;
  /** A channel knows of a standstill, or a standstill has begun. */
  noted: boolean;
};

/** A cancelled redrive has ended when its open items were given back, which takes a while for many. */
const AWAITED = `
with open as (
  select t.operation_id, bool_or(t.still_since is not null) as noted
    from operation_tells t join alert_channels c on c.id = t.channel_id and c.enabled where t.ended_told_at is null group by 1)
select r.id, case when r.mode = 'verify' then 'verify' else 'redrive' end as kind, r.state, r.reason, r.created_by as "createdBy",
       r.cancelled_by as "cancelledBy", r.created_at as "createdAtMs", r.total,
       r.delivered, r.passed, null as changed, r.failed, r.refused, r.cancelled,
       r.failed_by_reason as "failedByReason", r.refused_by_reason as "refusedByReason",
       r.state in ${FINAL_REDRIVES} and r.delivered + r.passed + r.failed + r.refused + r.cancelled >= r.total as ended, o.noted
  from open o join redrives r on r.id = o.operation_id
union all
select b.id, b.kind, b.state, b.reason, b.created_by, b.cancelled_by, b.created_at, greatest(b.expected, b.changed + b.refused),
       null, null, b.changed, null, b.refused, null, '{}'::jsonb, b.refused_by_reason,
       b.finished_at is not null, o.noted
  from open o join bulk_operations b on b.id = o.operation_id
order by ended desc, 1
limit $1`;

/** In the order in which they are said. */
const ENDS = ["delivered", "passed", "changed", "failed", "refused", "cancelled"] as const;
type AwaitedRow = Omit<AwaitedOperation, "ends"> & Record<(typeof ENDS)[number], number | null>;

/** Those that have ended first, then the oldest: many that go on keep no end waiting. Channels that are off wait until they are on. */
export async function readAwaitedOperations(db: Queryable, limit: number): Promise<AwaitedOperation[]> {
  const rows = await db.query<AwaitedRow>(AWAITED, [limit], { name: "awaited-operations" });
  const set = (await readMasks(db)).of(null);
  return rows.map((row) => ({
    ...row,
    reason: maskText(row.reason, set),
    ends: Object.fromEntries(ENDS.map((end) => [end, row[end] ?? 0])),
  }));
}
