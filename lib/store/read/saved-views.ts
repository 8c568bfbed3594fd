import type { EventFilter } from "@/lib/contract/event-filter";
import type { SavedView, SavedViewList } from "@/lib/contract/saved-views";
import type { SavedView as Row } from "@/lib/store/generated/client";
import type { LowRateStore } from "@/lib/store/prisma";

/** More than a menu can show. */
const VIEWS_MAX = 500;

export async function listSavedViews(lowRate: LowRateStore): Promise<SavedViewList> {
  const rows = await lowRate.read((client) => client.savedView.findMany({ orderBy: { name: "asc" }, take: VIEWS_MAX }));
  return { items: rows.map(savedViewOut) };
}

export function savedViewOut(row: Row): SavedView {
  const { id, name, filter, createdBy, createdAt } = row;
  return { id, name, filter: filter as EventFilter, createdBy, createdAt: createdAt.toISOString() };
}
