import { type LaneJob, laneJobKey } from "@/lib/lane/jobs.shapes";
import { uuidv7 } from "@/lib/platform/ids";

/**
 * BullMQ job id of one enqueue: `<id>.<slice, or plan, canary or bulk>.<uuid>`. New for every enqueue, because BullMQ silently
 * ignores an id it has seen, also when that job is long finished. Never all digits and without a colon, which BullMQ
 * refuses. The job can be read back from it, so that listing a lane takes no read per job.
 */
export function laneJobId(job: LaneJob, wallMs: number): string {
  return `${laneJobKey(job)}.${uuidv7(wallMs)}`;
}

/** null for an id that `laneJobId` did not make. */
export function parseLaneJobId(jobId: string): LaneJob | null {
  const [, id, name] = /^([0-9a-f-]{36})\.(plan|canary|bulk|\d{1,9})\.[0-9a-f-]{36}$/.exec(jobId) ?? [];
  if (id === undefined || name === undefined) return null;
  if (name === "bulk") return { kind: name, operationId: id };
  if (name === "plan" || name === "canary") return { kind: name, redriveId: id };
  return { kind: "slice", redriveId: id, slice: Number(name) };
}
