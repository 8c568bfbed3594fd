import type { SettingOut } from "@/lib/guard/settings/settings.shapes";
import { formatBytes, formatNumber } from "@/lib/platform/plain/format.pure";

/** The unit of the text field. The name of a limit ends in the stored unit. */
const UNITS: { ends: RegExp; factor: number; unit: string }[] = [
  { ends: /Ms(Max)?$/, factor: 60_000, unit: "min" },
  { ends: /Bytes(Max)?$/, factor: 1_024, unit: "KB" },
];

function unitOf(name: string) {
  return UNITS.find(({ ends }) => ends.test(name)) ?? { factor: 1, unit: "" };
}

/** `quietWindowMs` in minutes, `payloadBytesMax` in KB, counts as they are. */
export function limitUnit(name: string): string {
  return unitOf(name).unit;
}

export function limitText(name: string, value: number): string {
  return String(Number((value / unitOf(name).factor).toFixed(3)));
}

/** The typed text as the stored value; null when it is no number within the bounds. */
export function limitValue(setting: SettingOut, text: string): number | null {
  const typed = Number(text.trim().replace(",", "."));
  if (text.trim() === "" || !Number.isFinite(typed)) return null;
  const value = Math.round(typed * unitOf(setting.name).factor);
  return value >= setting.min && value <= setting.max ? value : null;
}

/** `15 min`, `24 h`, `1 MB`, `3`. */
export function limitWords(name: string, value: number): string {
  const { unit } = unitOf(name);
  if (unit === "KB") return formatBytes(value);
  if (unit !== "min") return formatNumber(value);
  const minutes = value / 60_000;
  if (minutes !== 0 && minutes < 1) return `${Number((value / 1_000).toFixed(1))} s`;
  return minutes >= 120 && minutes % 60 === 0 ? `${formatNumber(minutes / 60)} h` : `${Number(minutes.toFixed(1))} min`;
}
