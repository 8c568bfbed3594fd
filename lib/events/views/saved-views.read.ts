import type { SavedView, SavedViewList } from "@/lib/events/views/saved-views.shapes";
import { readTypedTexts } from "@/lib/guard/masking/typed-texts.read";
import { seesAll, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { SavedView as Row } from "@/lib/platform/database/generated/client";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** Maximum number of views: more than a menu can show. */
const VIEWS_MAX = 500;

export async function listSavedViews(
  { lowRate, db }: { lowRate: LowRateStore; db: Queryable },
  viewer: Viewer,
): Promise<SavedViewList> {
  const scope = sourceScope(viewer);
  const rows = await lowRate.read((client) => client.savedView.findMany({ orderBy: { name: "asc" }, take: VIEWS_MAX }));
  const views = rows.map(savedViewOut).filter(({ filter }) => scope === null || seesAll(viewer, filter.source ?? []));
  const typed = await readTypedTexts(db, viewer);
  return { items: views.map((view) => ({ ...view, filter: typed.filter(view.filter) })) };
}

export function savedViewOut(row: Row): SavedView {
  const { id, name, filter, createdBy, createdAt } = row;
  return { id, name, filter: filter as EventFilter, createdBy, createdAt: createdAt.toISOString() };
}
