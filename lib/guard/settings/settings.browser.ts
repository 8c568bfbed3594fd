import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { SettingOut, SettingsChange } from "@/lib/guard/settings/settings.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { readKey } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";

const PATH = "/api/v1/settings";
/** The address has its tokens masked. */
export type Settings = { items: SettingOut[]; confirmedUrl: string | null };

export const useSettings = () => useRead<Settings>("settings", PATH);

export function useChangeSettings() {
  const client = useQueryClient();
  return useMutation<Settings, ApiError, SettingsChange>({
    mutationFn: (body) => fetchJson<Settings>(PATH, { method: "PATCH", body }),
    onSuccess: (settings) => {
      client.setQueryData(readKey("settings", PATH), settings);
      void client.invalidateQueries({ queryKey: ["audit"] });
    },
  });
}
