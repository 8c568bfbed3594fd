import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { SettingOut, SettingsChange } from "@/lib/sources/targets/targets.shapes";

const key = ["settings"] as const;
/** The address has its tokens masked. */
export type Settings = { items: SettingOut[]; confirmedUrl: string | null };

export const useSettings = () => useRead<Settings>(key, "/api/v1/settings");

export function useChangeSettings() {
  const client = useQueryClient();
  return useMutation<Settings, ApiError, SettingsChange>({
    mutationFn: (body) => fetchJson<Settings>("/api/v1/settings", { method: "PATCH", body }),
    onSuccess: (settings) => {
      client.setQueryData(key, settings);
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
  });
}
