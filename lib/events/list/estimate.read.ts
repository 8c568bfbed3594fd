import type { CandidatePage } from "@/lib/events/selection/candidates.read";
import { compileSelection } from "@/lib/events/selection/candidates.read";
import type { Tx } from "@/lib/platform/database/db";

type Plan = { "QUERY PLAN": [{ Plan: { "Plan Rows": number } }] };

/** The planner's guess of how many events match, at least `atLeast`. Good enough to choose the number of slices. */
export async function estimateCandidates(
  tx: Tx,
  page: Omit<CandidatePage, "after" | "limit">,
  atLeast: number,
): Promise<number> {
  const compiled = compileSelection(page.selection, page.asOfMs, 2);
  const [row] = await tx.query<Plan>(
    `explain (format json) select 1 from dlq_event_rows e where e.id <= $1 and ${compiled.where}`,
    [page.cutoff, ...compiled.values],
  );
  return Math.max(atLeast, Math.round(row!["QUERY PLAN"][0].Plan["Plan Rows"]));
}
