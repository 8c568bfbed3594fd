import { handle } from "@/app/_server/handle";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { SETTING_BOUNDS, SETTING_NAMES } from "@/lib/guard/settings/settings.pure";
import { type ShownSettings, showSettings } from "@/lib/guard/settings/settings.read";
import { type SettingOut, settingListSchema, settingsChangeSchema } from "@/lib/guard/settings/settings.shapes";

function shown({ settings, confirmedUrl }: ShownSettings): { items: SettingOut[]; confirmedUrl: string | null } {
  const items = SETTING_NAMES.map((name) => ({ name, value: settings[name], ...SETTING_BOUNDS[name] }));
  return { items, confirmedUrl };
}

export const GET = handle({
  id: "listSettings",
  summary: "Settings with their bounds",
  answer: settingListSchema,
  run: async ({ deps, viewer }) => shown(await showSettings(deps.db, viewer)),
});

export const PATCH = handle({
  id: "changeSettings",
  summary: "Change settings",
  body: settingsChangeSchema,
  answer: settingListSchema,
  problems: ["invalid-config"],
  run: async ({ deps, body, viewer }) => shown(await changeSettings(deps, body, viewer)),
});
