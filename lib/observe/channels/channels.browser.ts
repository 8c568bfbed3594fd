import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type {
  ChannelChange,
  ChannelList,
  ChannelOut,
  ChannelRequest,
  DeliveryList,
} from "@/lib/observe/channels/channels.shapes";
import type {
  MaintenanceList,
  MaintenanceOut,
  MaintenanceRequest,
} from "@/lib/observe/maintenance/maintenances.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";

const POLL_MS = 5_000;
const pathOf = (name: string) => `/api/v1/channels/${encodeURIComponent(name)}`;

export function useChannels() {
  return useQuery<ChannelList, ApiError>({
    queryKey: keys.channels({}),
    queryFn: ({ signal }) => fetchJson<ChannelList>("/api/v1/channels", { signal }),
    refetchInterval: POLL_MS,
  });
}

export function useAddChannel() {
  const client = useQueryClient();
  return useMutation<ChannelOut, ApiError, ChannelRequest>({
    mutationFn: async (body) => {
      const added = await fetchJson<ChannelOut>("/api/v1/channels", { method: "POST", body, once: true });
      void invalidateAfter(client, "channels");
      return added;
    },
  });
}

export function useChangeChannel(name: string) {
  const client = useQueryClient();
  return useMutation<ChannelOut, ApiError, ChannelChange>({
    mutationFn: async (body) => {
      const changed = await fetchJson<ChannelOut>(pathOf(name), { method: "PATCH", body });
      void invalidateAfter(client, "channels");
      return changed;
    },
  });
}

export function useDeleteChannel(name: string) {
  const client = useQueryClient();
  return useMutation<void, ApiError, string>({
    mutationFn: async (reason) => {
      await fetchJson(pathOf(name), { method: "DELETE", body: { reason } });
      void invalidateAfter(client, "channels");
    },
  });
}

export function useTestChannel(name: string) {
  const client = useQueryClient();
  return useMutation<{ id: string }, ApiError, void>({
    mutationFn: async () => {
      const sent = await fetchJson<{ id: string }>(`${pathOf(name)}/test`, { method: "POST", once: true });
      void invalidateAfter(client, "channels");
      return sent;
    },
  });
}

const DELIVERIES_POLL_MS = 2_000;

export function useDeliveries(name: string) {
  return usePages<DeliveryList>(
    keys.channels({ name }),
    `${pathOf(name)}/deliveries?limit=20`,
    firstPageEvery(DELIVERIES_POLL_MS),
  );
}

export function useMaintenances() {
  return usePages<MaintenanceList>(
    keys.maintenances,
    "/api/v1/maintenances?state=live&limit=50",
    firstPageEvery(POLL_MS),
  );
}

export function useBeginMaintenance() {
  const client = useQueryClient();
  return useMutation<MaintenanceOut, ApiError, MaintenanceRequest>({
    mutationFn: async (body) => {
      const begun = await fetchJson<MaintenanceOut>("/api/v1/maintenances", { method: "POST", body, once: true });
      void invalidateAfter(client, "channels");
      return begun;
    },
  });
}

export function useEndMaintenance() {
  const client = useQueryClient();
  return useMutation<void, ApiError, string>({
    mutationFn: async (id) => {
      await fetchJson(`/api/v1/maintenances/${id}`, { method: "DELETE" });
      void invalidateAfter(client, "channels");
    },
  });
}
