import { describe, expect, it } from "vitest";
import { limitText, limitValue, limitWords } from "@/components/order/controls/limit-values";
import { SETTING_BOUNDS, SETTING_NAMES } from "@/lib/guard/settings/settings.pure";
import type { SettingOut } from "@/lib/guard/settings/settings.shapes";

const setting = (name: keyof typeof SETTING_BOUNDS): SettingOut => ({ name, value: 0, ...SETTING_BOUNDS[name] });

describe("automatic limits", () => {
  it.each(SETTING_NAMES)("%s is typed as it is shown and stored as it was", (name) => {
    const { initial } = SETTING_BOUNDS[name];
    expect(limitValue(setting(name), limitText(name, initial))).toBe(initial);
  });

  it.each([
    ["cooldownMs", 15 * 60_000, "15 min"],
    ["cooldownMsMax", 86_400_000, "24 h"],
    ["quietWindowMs", 30_000, "30 s"],
    ["cooldownMs", 0, "0 min"],
    ["payloadBytesMax", 1_048_576, "1 MB"],
    ["redriveLimit", 3, "3"],
  ])("reads %s %s as %s", (name, value, words) => {
    expect(limitWords(name, value)).toBe(words);
  });

  it.each(["", "many", "0", "101"])("does not take %j redrives", (text) => {
    expect(limitValue(setting("redriveLimit"), text)).toBeNull();
  });
});
