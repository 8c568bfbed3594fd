import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readEventRecords } from "@/lib/keep/records/event-records.read";
import type { Deps } from "@/lib/lane/deps";
import type { Db } from "@/lib/platform/database/db";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/**
 * The matching events as lines, whole: payloads and headers as they are stored, nothing masked. So it needs the
 * right to reveal and a reason, and the audit holds who took which events before the first of them leaves, but after the first were
 * read: a filter that is refused exports nothing. A second entry at the end counts them. Throws DomainError `forbidden`,
 * `invalid-filter`. The lines begin with the newest event, see `readEventRecords`.
 */
export async function exportRecords(
  { db, lists, clock, log }: ExportDeps,
  viewer: Viewer,
  { filter, reason }: { filter: EventFilter; reason: string },
  nowMs: number,
): Promise<AsyncGenerator<string[], void>> {
  assertMay(viewer, "export");
  assertMay(viewer, "reveal");
  const pieces = readEventRecords(lists, viewer, filter, nowMs);
  const first = await pieces.next();
  const entry = { actor: viewer.name, subjectKind: "event", subjectId: null, reason, before: null } as const;
  const begun = { ...entry, action: "event.exported", after: { filter }, count: null, atMs: nowMs };
  const id = await db.transaction((tx) => appendAudit(tx, begun));
  return countedTo(first, pieces, async (count, result) => {
    const after = { export: id, result };
    const ended = { ...entry, action: "event.export-ended", after, count, atMs: clock.wallMs() };
    await db
      .transaction((tx) => appendAudit(tx, ended))
      .catch((err: unknown) =>
        log.error({ err, export: id, events: count, result }, "the end of an export is not in the audit"),
      );
  });
}

type ExportDeps = Pick<Deps, "db" | "clock" | "log"> & { lists: Db };

/** `whole`: the connection took every line. `stopped`: the client ended it before. */
type ExportResult = "whole" | "stopped" | "failed";

/** `ended` gets how many lines left; unless the result is `whole`, at most so many: the last piece may not have been sent. */
async function* countedTo(
  first: IteratorResult<string[], void>,
  pieces: AsyncGenerator<string[], void>,
  ended: (count: number, result: ExportResult) => Promise<void>,
): AsyncGenerator<string[], void> {
  let count = 0;
  let result: ExportResult = "stopped";
  try {
    for (let piece = first; !piece.done; piece = await pieces.next()) {
      count += piece.value.length;
      yield piece.value;
    }
    result = "whole";
  } catch (error) {
    result = "failed";
    throw error;
  } finally {
    await pieces.return();
    await ended(count, result);
  }
}
