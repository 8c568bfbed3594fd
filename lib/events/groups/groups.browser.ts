import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { GroupList } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { toSearchParams } from "@/lib/events/filter/filter-params.shapes";
import type {
  GroupDetail,
  GroupMerged,
  GroupMergeRequest,
  GroupSort,
  GroupWithin,
} from "@/lib/events/groups/groups.shapes";
import type { GroupMuteRequest, GroupMutesBegun } from "@/lib/observe/mutes/group-mutes.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";

const POLL_MS = 15_000;
const DETAIL_POLL_MS = 10_000;
const PAGE = 50;

/** The groups that have events matching the filter, in this order. */
export function useGroups(filter: EventFilter, asked: { sort: GroupSort; verdict: string | null }) {
  const { sort, verdict } = asked;
  const own = new URLSearchParams({ limit: String(PAGE), sort, ...(verdict === null ? {} : { verdict }) });
  const query = `${own}&${toSearchParams(filter)}`;
  return usePages<GroupList>(keys.groups({ query }), `/api/v1/groups?${query}`, firstPageEvery(POLL_MS));
}

/** One group, within a source and a window where these are asked for. */
export function useGroup(fingerprint: string, within: GroupWithin) {
  const query = toSearchParams(within).toString();
  return useQuery<GroupDetail, ApiError>({
    queryKey: keys.groups({ fingerprint, query }),
    queryFn: ({ signal }) =>
      fetchJson<GroupDetail>(`/api/v1/groups/${encodeURIComponent(fingerprint)}?${query}`, { signal }),
    refetchInterval: DETAIL_POLL_MS,
  });
}

/** Lets another group stand for one. */
export function useMergeGroup() {
  const client = useQueryClient();
  return useMutation<GroupMerged, ApiError, { fingerprint: string; body: GroupMergeRequest }>({
    mutationFn: async ({ fingerprint, body }) => {
      const merged = await fetchJson<GroupMerged>(mergePath(fingerprint), { method: "POST", body, once: true });
      void invalidateAfter(client, "events");
      return merged;
    },
  });
}

/** Splits a group off that was merged into another or joined by a storm. */
export function useSplitGroup() {
  const client = useQueryClient();
  return useMutation<void, ApiError, string>({
    mutationFn: async (fingerprint) => {
      await fetchJson(mergePath(fingerprint), { method: "DELETE" });
      void invalidateAfter(client, "events");
    },
  });
}

const mergePath = (fingerprint: string) => `/api/v1/groups/${encodeURIComponent(fingerprint)}/merge`;

/** Mutes groups until later. */
export function useMuteGroups() {
  const client = useQueryClient();
  return useMutation<GroupMutesBegun, ApiError, GroupMuteRequest>({
    mutationFn: async (body) => {
      const begun = await fetchJson<GroupMutesBegun>("/api/v1/group-mutes", { method: "POST", body, once: true });
      void invalidateAfter(client, "alerts");
      return begun;
    },
  });
}

/** Ends a mute before its time. */
export function useLiftMute() {
  const client = useQueryClient();
  return useMutation<void, ApiError, string>({
    mutationFn: async (id) => {
      await fetchJson(`/api/v1/group-mutes/${id}`, { method: "DELETE" });
      void invalidateAfter(client, "alerts");
    },
  });
}
