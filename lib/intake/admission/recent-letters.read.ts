import type { Queryable } from "@/lib/platform/database/db";
import { UUID_MAX } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { CURRENT_BODY, NEWEST_ERROR } from "@/lib/selection/bodies.read";
import { readCandidates } from "@/lib/selection/candidates.read";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";
import type { AdmissionMark, AdmissionRecord } from "@/lib/states/admission-mark.pure";

/** A stored event as it arrived, as far as the store tells. */
export type RecentLetter = {
  id: string;
  source: string;
  firstSeen: string;
  letter: DeadLetter;
  /** The mark that no rule gave: see `readProcessedAbove`. */
  superseded: boolean;
};

/** Bytes of payloads in memory; older events than these are left out. */
const BYTES_MAX = 16 * 1024 * 1024;

type LetterRow = Omit<DeadLetter, "version" | "failedAtMs" | "error" | "redrive" | "payload"> & {
  id: string;
  source: string;
  payload: Buffer;
  errorStack: string | null;
  firstSeen: string;
  version: string | null;
  failedAt: string | null;
  errorType: string | null;
  errorMessage: string | null;
  mark: AdmissionMark | null;
  record: AdmissionRecord | null;
};

/** The newest events of a selection, newest first. */
export async function readRecentLetters(
  db: Queryable,
  { selection, nowMs, limit }: { selection: ScopedSelection; nowMs: number; limit: number },
): Promise<RecentLetter[]> {
  // Without a cutoff: an event that another process has just parked may have an id of the next second.
  const page = { selection, asOfMs: nowMs, cutoff: UUID_MAX, after: null, limit };
  const ids = (await readCandidates(db, page)).map(({ id }) => id);
  const sizes = await db.query<{ id: string; bytes: number }>(
    "select id, octet_length(payload) as bytes from dlq_event_bodies where id = any($1::uuid[]) order by id desc",
    [ids],
    { name: "recent-sizes" },
  );
  let bytes = 0;
  const fitting = sizes.filter((body) => {
    bytes += body.bytes;
    return bytes <= BYTES_MAX;
  });
  const rows = await db.query<LetterRow>(
    `select e.id, s.name as source, e.first_seen as "firstSeen", e.event_id as "eventId", e.aggregate_type as "aggregateType",
            e.aggregate_id as "aggregateId", e.version::text as version, e.event_type as "eventType", e.trace_id as "traceId",
            e.error_code as "errorCode", e.attempts, e.failed_at as "failedAt", e.tags, e.admission as mark,
            b.payload, b.content_type as "contentType", b.headers, b.origin, ${NEWEST_ERROR}
       from dlq_event_rows e join sources s on s.id = e.source_id ${CURRENT_BODY}
      where e.id = any($1::uuid[]) order by e.id desc`,
    [fitting.map(({ id }) => id)],
    { name: "recent-letters", isoTimes: true },
  );
  return rows.map(recentLetter);
}

function recentLetter(row: LetterRow): RecentLetter {
  const { id, source, firstSeen, version, failedAt, errorType, errorMessage, errorStack, mark, record, ...letter } =
    row;
  return {
    id,
    source,
    firstSeen,
    superseded: mark === "superseded",
    letter: {
      ...letter,
      errorCode: record?.arrivedAs ?? letter.errorCode,
      version: version === null ? null : BigInt(version),
      failedAtMs: failedAt === null ? null : Date.parse(failedAt),
      error: { type: errorType, message: errorMessage, stack: errorStack },
      redrive: null,
    },
  };
}
