import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readEventRecords } from "@/lib/keep/records/event-records.read";
import type { Db } from "@/lib/platform/database/db";

/**
 * The matching events as lines, whole: payloads and headers as they are stored, credentials among them. So it needs the
 * right to reveal, and the audit holds who took which events before the first of them leaves, but after the first were
 * read: a filter that is refused exports nothing. Throws DomainError `forbidden`, `invalid-filter`. The lines begin with
 * the newest event, see `readEventRecords`.
 */
export async function exportRecords(
  { db, lists }: { db: Db; lists: Db },
  viewer: Viewer,
  filter: EventFilter,
  nowMs: number,
): Promise<AsyncGenerator<string[], void>> {
  assertMay(viewer, "export");
  assertMay(viewer, "reveal");
  const pieces = readEventRecords(lists, viewer, filter, nowMs);
  const first = await pieces.next();
  await db.transaction((tx) =>
    appendAudit(tx, {
      actor: viewer.name,
      action: "event.exported",
      subjectKind: "event",
      subjectId: null,
      before: null,
      after: { filter },
      count: 0,
      atMs: nowMs,
    }),
  );
  return begunWith(first, pieces);
}

async function* begunWith(
  first: IteratorResult<string[], void>,
  pieces: AsyncGenerator<string[], void>,
): AsyncGenerator<string[], void> {
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) yield piece.value;
  } finally {
    await pieces.return();
  }
}
