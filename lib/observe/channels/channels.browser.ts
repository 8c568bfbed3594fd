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
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { firstPageEvery, usePages } from "@/lib/platform/browser/pages.browser";
import { resourceOf, useChange, useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 5_000;
/** A channel and its log below it are read alike, so that they agree. */
const CHANNELS_POLL_MS = 2_000;
const pathOf = (name: string) => `/api/v1/channels/${encodeURIComponent(name)}`;

export const useChannels = () =>
  useRead<ChannelList>("channels", "/api/v1/channels", { refetchInterval: CHANNELS_POLL_MS });

export const {
  useCreate: useAddChannel,
  usePatch: useChangeChannel,
  useRemove: useDeleteChannel,
} = resourceOf<ChannelOut, ChannelRequest, ChannelChange>("/api/v1/channels", "channels");

export const useTestChannel = (name: string) =>
  useChange("channels", () => fetchJson<{ id: string }>(`${pathOf(name)}/test`, { method: "POST", once: true }));

export function useDeliveries(name: string) {
  return usePages<DeliveryList>("channels", `${pathOf(name)}/deliveries?limit=20`, firstPageEvery(CHANNELS_POLL_MS));
}

export function useMaintenances() {
  return usePages<MaintenanceList>("maintenances", "/api/v1/maintenances?state=live&limit=50", firstPageEvery(POLL_MS));
}

export const { useCreate: useBeginMaintenance, useRemove: useEndMaintenance } = resourceOf<
  MaintenanceOut,
  MaintenanceRequest
>("/api/v1/maintenances", "channels");
