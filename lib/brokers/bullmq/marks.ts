import type { RedriveMark } from "@/lib/platform/plain/dead-letter.pure";

/**
 * BullMQ jobs have no headers, and a failed job stays in its set. What Parkade has done with a job is written beside it under
 * this name, and for people into its log. The log alone would not do: `keepLogs` and `clearLogs` of the application trim it.
 */
export const MARKS = "parkade";

export type Marks = {
  /** The `finishedOn` of the failure that was parked last; null = none. */
  parked: number | null;
  /** The redrive that put the job back after that; null = none. */
  redrive: RedriveMark | null;
  /** Where the job was, as `x-redrive-origin` says it elsewhere. Written with `redrive`, and read by people and consumers alone. */
  origin?: string;
};

/** What stands beside a job. Anything else under the name is not Parkade's, and reads as nothing. */
export function marksOf(text: string | null): Marks {
  let found: { parked?: unknown; redrive?: { redriveId?: unknown; attempt?: unknown } | null } | null = null;
  try {
    found = JSON.parse(text ?? "null");
  } catch {
    // no JSON
  }
  const parked = typeof found?.parked === "number" ? found.parked : null;
  const { redriveId, attempt } = found?.redrive ?? {};
  const isRedrive = typeof redriveId === "string" && typeof attempt === "number";
  return { parked, redrive: isRedrive ? { redriveId, attempt } : null };
}

export function logLine({ parked, redrive, origin }: Marks): string {
  return redrive === null
    ? `parkade: parked the failure of ${parked}`
    : `parkade: redrive ${redrive.redriveId} attempt ${redrive.attempt}${origin === undefined ? "" : ` from ${origin}`}`;
}

/**
 * What a job is known by. BullMQ counts the ids that it gives itself, and counts from 1 again once a queue was obliterated
 * or its Redis was flushed: such an id tells a job only with the time at which it was added. An application's id is no
 * number: BullMQ refuses it.
 */
export function jobKey({ id, timestamp }: { id: string; timestamp: number }): string {
  return /^\d+$/.test(id) ? `${id}-${timestamp}` : id;
}

const NEW_JOB = /^(.*)-r([0-9a-f]{32})-(\d+)$/s;

/** The id of the job that one attempt adds. Another attempt adds another job: BullMQ ignores an id that it knows. */
export function newJobId(key: string, { redriveId, attempt }: RedriveMark): string {
  const { id: first } = originalJob(key);
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
