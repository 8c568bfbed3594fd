import { BULK_SLICE, CANARY_SLICE } from "@/lib/core/lane-slices";
import type { LaneName } from "@/lib/lane/port";
import type { Deps } from "@/lib/redriving/deps";

/** Rings slices of a redrive on its lane. Ringing one twice is harmless: the second finds nothing to claim. */
export async function ringSlices(
  deps: Pick<Deps, "lane">,
  lane: LaneName,
  redriveId: string,
  slices: readonly number[],
  options: { delayMs?: number } = {},
): Promise<void> {
  await deps.lane.ring(
    lane,
    slices.map((slice) => ({ redriveId, slice })),
    options,
  );
}

/** Rings a started redrive: while its canary holds it back one job works all slices in turn. */
export async function ringRedrive(
  deps: Pick<Deps, "lane">,
  redrive: { id: string; lane: LaneName; canary: boolean },
  slices: readonly number[],
  options: { delayMs?: number } = {},
): Promise<void> {
  await ringSlices(deps, redrive.lane, redrive.id, redrive.canary ? [CANARY_SLICE] : slices, options);
}

/** Rings a bulk operation. It travels the main lane, whose workers have more places. */
export async function ringBulkOperation(deps: Pick<Deps, "lane">, operationId: string): Promise<void> {
  await ringSlices(deps, "main", operationId, [BULK_SLICE]);
}
