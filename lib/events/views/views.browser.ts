import type { QueryClient } from "@tanstack/react-query";
import type { SavedView, SavedViewList } from "@/lib/events/views/saved-views.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

export const useSavedViews = (enabled = true) =>
  useRead<SavedViewList>("views", "/api/v1/saved-views", { enabled, staleTime: 30_000, retry: false });

export async function saveView(client: QueryClient, name: string, filter: EventFilter): Promise<void> {
  await fetchJson<SavedView>("/api/v1/saved-views", { method: "POST", body: { name, filter }, once: true });
  await invalidateAfter(client, "views");
}

export async function deleteView(client: QueryClient, id: string): Promise<void> {
  await fetchJson<void>(`/api/v1/saved-views/${encodeURIComponent(id)}`, { method: "DELETE" });
  await invalidateAfter(client, "views");
}

/** Whether a view has the same filter as the page. */
export function isSameFilter(a: EventFilter, b: EventFilter): boolean {
  return toSearchParams(a).toString() === toSearchParams(b).toString();
}
