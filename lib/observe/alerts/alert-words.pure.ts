import { formatNumber, visible } from "@/lib/platform/plain/format.pure";

const QUOTED_MAX = 160;

/** A text from outside, short and with its invisible characters shown. */
export function quoted(text: string): string {
  const shown = [...visible(text.replace(/\s+/g, " ").trim())];
  return shown.length <= QUOTED_MAX ? shown.join("") : `${shown.slice(0, QUOTED_MAX - 1).join("")}…`;
}

/** A factor, or a usual number, which may be a half: `7.6`, `41`. */
export function formatFactor(value: number): string {
  return value < 10 ? String(Math.round(value * 10) / 10) : formatNumber(value);
}
