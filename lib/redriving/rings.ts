import type { LaneJob } from "@/lib/contract/jobs";
import type { LaneName } from "@/lib/lane/port";
import type { Deps } from "@/lib/redriving/deps";

/** Rings a started redrive: while its canary holds it back one job works all slices in turn. */
export async function ringRedrive(
  deps: Pick<Deps, "lane">,
  redrive: { id: string; lane: LaneName; canary: boolean },
  slices: readonly number[],
  options: { delayMs?: number } = {},
): Promise<void> {
  await deps.lane.ring(redrive.lane, jobsOf(redrive, slices), options);
}

function jobsOf({ id, canary }: { id: string; canary: boolean }, slices: readonly number[]): LaneJob[] {
  if (canary) return [{ kind: "canary", redriveId: id }];
  return slices.map((slice) => ({ kind: "slice", redriveId: id, slice }));
}

/** Rings a bulk operation. It travels the main lane, whose workers have more places. */
export async function ringBulkOperation(deps: Pick<Deps, "lane">, operationId: string): Promise<void> {
  await deps.lane.ring("main", [{ kind: "bulk", operationId }]);
}
