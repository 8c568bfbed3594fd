import { plural } from "@/lib/browser/format";

/**
 * What a stop could not take back, as a sentence for its toast: `3 sends were already under way.` Nothing when all had
 * ended by the time it answered.
 *
 * @param underWay null = the server could not read it
 */
export function underWayWords(underWay: number | null): string | undefined {
  if (underWay === 0) return undefined;
  if (underWay === null) return "Whether sends are still under way could not be read.";
  return `${plural(underWay, "send was", "sends were")} already under way.`;
}
