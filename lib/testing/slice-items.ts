import type { Db } from "@/lib/platform/database/db";
import { readSliceItems, SLICE_START, type SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { abandonSlices, takeSlices } from "@/lib/redrive/run/store/slice-owners.write";

/** A worker that no test starts. */
export const WORKER = "00000000-0000-7000-8000-0000000000aa";

type Taking = { redriveId: string; slices?: [first: number, last: number]; limit?: number; workerId?: string };

/** Takes slices as a worker does, and reads their next items. None when another worker works one of the slices. */
export async function takeItems(
  db: Db,
  { redriveId, slices = [0, 99], limit = 100, workerId = WORKER }: Taking,
): Promise<SliceItem[]> {
  const epochs = await takeSlices(db, { redriveId, slices, workerId });
  if (epochs === null) return [];
  const page = { redriveId, slices, epochs, after: SLICE_START, limit, withoutSources: [] };
  return (await readSliceItems(db, page)).items;
}

/** Gives up the owners of slices, as if they had sent no heartbeat. `redrives`: SQL of their ids with $1. */
export async function loseSlices(db: Db, redrives = "select id from redrives", values: unknown[] = []): Promise<void> {
  const owned = await db.query<{ redriveId: string; slice: number; workerId: string }>(
    `select redrive_id as "redriveId", slice, owner as "workerId" from slice_owners
      where owner is not null and redrive_id in (${redrives}) order by redrive_id, slice`,
    values,
  );
  for (const { redriveId, slice, workerId } of owned) {
    await db.transaction((tx) => abandonSlices(tx, { redriveId, slices: [slice, slice], workerId }));
  }
}
