import { OTHER } from "@/components/charts/size-series";

/** Colour of the series at `index` of its chart. `other` is grey: it is not one thing. */
export function seriesColour(key: string, index: number): string {
  return key === OTHER ? "var(--series-other)" : `var(--series-${(index % 6) + 1})`;
}
