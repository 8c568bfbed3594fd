import { uuidv7 } from "@/lib/platform/ids";
import type { SliceJob } from "./port";

/**
 * BullMQ job id of one ring: `<redriveId>.<slice>.<uuid>`. New for every ring, because BullMQ silently ignores an id it
 * has seen, also when that job is long finished. Never all digits and without a colon, which BullMQ refuses. The slice
 * can be read back from it, so that listing a lane takes no read per job.
 */
export function sliceJobId(job: SliceJob, wallMs: number): string {
  return `${job.redriveId}.${job.slice}.${uuidv7(wallMs)}`;
}

/** null for an id that `sliceJobId` did not make. */
export function parseSliceJobId(id: string): SliceJob | null {
  const match = /^([0-9a-f-]{36})\.(\d{1,9})\.[0-9a-f-]{36}$/.exec(id);
  return match ? { redriveId: match[1]!, slice: Number(match[2]) } : null;
}
