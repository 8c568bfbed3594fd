import type { RedriveMark } from "@/lib/core/dead-letter";

/**
 * BullMQ jobs have no headers, and a failed job stays in its set. What Parkade has done with a job is written where
 * people look too: in the job's own log (BullMQ "Job logs"), and, for a new job, in its id.
 */
export function parkedLine(finishedOn: number): string {
  return `parkade: parked the failure of ${finishedOn}`;
}

export function redriveLine({ redriveId, attempt }: RedriveMark): string {
  return `parkade: redrive ${redriveId} attempt ${attempt}`;
}

const PARKED = /^parkade: parked the failure of (\d+)$/;
const REDRIVE = /^parkade: redrive ([0-9a-f-]{36}) attempt (\d+)$/;

export type LogMarks = {
  /** The `finishedOn` of the failure that was parked last; null = none. */
  parked: number | null;
  /** The redrive that put the job back after that; null = none. */
  redrive: RedriveMark | null;
};

/** What the lines of a job's log, oldest first, say. Other lines are the application's. */
export function marksIn(lines: readonly string[]): LogMarks {
  let marks: LogMarks = { parked: null, redrive: null };
  for (const line of lines) {
    const parked = PARKED.exec(line);
    if (parked !== null) marks = { parked: Number(parked[1]), redrive: null };
    const redrive = REDRIVE.exec(line);
    if (redrive !== null) marks = { ...marks, redrive: { redriveId: redrive[1]!, attempt: Number(redrive[2]) } };
  }
  return marks;
}

const NEW_JOB = /^(.*)-r([0-9a-f]{32})-(\d+)$/s;

/** The id of the job that one attempt adds. Another attempt adds another job: BullMQ ignores an id that it knows. */
export function newJobId(id: string, { redriveId, attempt }: RedriveMark): string {
  const { id: first } = originalJob(id);
  return `${first.replaceAll(":", "_")}-r${redriveId.replaceAll("-", "")}-${attempt}`;
}

/** The job that was first parked, and the redrive that a new job came from. */
export function originalJob(id: string): { id: string; redrive: RedriveMark | null } {
  const match = NEW_JOB.exec(id);
  if (match === null) return { id, redrive: null };
  const [, first, hex, attempt] = match as unknown as [string, string, string, string];
  const redriveId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { id: first, redrive: { redriveId, attempt: Number(attempt) } };
}
