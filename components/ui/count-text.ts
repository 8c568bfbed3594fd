import type { CountOut } from "@/lib/events/events.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";

/** `12,481` exact, `≈ 3.2 M` estimated (an estimate has no last digits), `≥ 10,000` at least, `?` unknown. */
export function countText({ value, kind }: Pick<CountOut, "value" | "kind">): string {
  if (value === null) return "?";
  switch (kind) {
    case "exact":
      return formatNumber(value);
    case "atLeast":
      return `≥ ${formatNumber(value)}`;
    case "estimated":
      return `≈ ${value >= 1_000_000 ? `${(value / 1_000_000).toFixed(1)} M` : formatNumber(roundToTwo(value))}`;
  }
}

function roundToTwo(value: number): number {
  if (value < 100) return value;
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Math.round(value / unit) * unit;
}
