import type { EventOut } from "@/lib/events/events.shapes";
import { type Scanned, scanEvents } from "@/lib/events/list/event-scan.read";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import { maskRows } from "@/lib/selection/event-rows.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { readScopedFilter } from "@/lib/selection/scope.read";

const PAGE = 500;

/**
 * All matching events, newest first, page by page: no transaction stays open, however slowly the caller reads. Events
 * that arrive after the start are not included.
 */
export async function* exportEvents(
  db: Db,
  viewer: Viewer,
  asked: EventFilter,
  nowMs: number,
): AsyncGenerator<EventOut[], void> {
  assertMay(viewer, "export");
  const filter = await readScopedFilter(db, viewer, asked);
  let from: string | null = null;
  for (;;) {
    const { rows, examinedTo }: Scanned = await scanEvents(db, {
      filter,
      nowMs,
      from,
      towards: "older",
      limit: PAGE,
    });
    maskRows(await readMasks(db), rows);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE && examinedTo === null) return;
    from = examinedTo ?? rows.at(-1)!.id;
  }
}
