import type { GroupList } from "@/lib/events/events.shapes";
import { type GroupOrder, groupListPath } from "@/lib/events/groups/group-address.browser";
import type { GroupDetail, GroupMerged, GroupMergeRequest, GroupWithin } from "@/lib/events/groups/groups.shapes";
import type { GroupMuteRequest, GroupMutesBegun } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";
import { useChange, useRead } from "@/lib/platform/browser/resource.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

const POLL_MS = 15_000;
const DETAIL_POLL_MS = 10_000;

export const useGroups = (filter: EventFilter, order: GroupOrder) =>
  usePages<GroupList>("groups", groupListPath(filter, order), firstPageEvery(POLL_MS));

/** One group, within a source and a window where these are asked for. */
export function useGroup(fingerprint: string, within: GroupWithin) {
  const query = toSearchParams(within).toString();
  return useRead<GroupDetail>("groups", `${pathOf(fingerprint)}?${query}`, {
    refetchInterval: DETAIL_POLL_MS,
  });
}

const pathOf = (fingerprint: string) => `/api/v1/groups/${encodeURIComponent(fingerprint)}`;

/** Lets another group stand for one. */
export const useMergeGroup = () =>
  useChange("events", ({ fingerprint, body }: { fingerprint: string; body: GroupMergeRequest }) =>
    fetchJson<GroupMerged>(`${pathOf(fingerprint)}/merge`, { method: "POST", body, once: true }),
  );

/** Splits a group off that was merged into another or joined by a storm. */
export const useSplitGroup = () =>
  useChange("events", (fingerprint: string) => fetchJson<void>(`${pathOf(fingerprint)}/merge`, { method: "DELETE" }));

export const useMuteGroups = () =>
  useChange("alerts", (body: GroupMuteRequest) =>
    fetchJson<GroupMutesBegun>("/api/v1/group-mutes", { method: "POST", body, once: true }),
  );

/** Ends a mute before its time. */
export const useLiftMute = () =>
  useChange("alerts", (id: string) => fetchJson<void>(`/api/v1/group-mutes/${id}`, { method: "DELETE" }));
