import { plural } from "@/lib/platform/plain/format.pure";

/**
 * The sends that a stop could not cancel, as a sentence for a toast: `3 sends were already under way.` undefined when
 * there were none.
 *
 * @param underWay null = the server could not read it
 */
export function underWayWords(underWay: number | null): string | undefined {
  if (underWay === 0) return undefined;
  if (underWay === null) return "Parkade could not determine whether sends are still under way.";
  return `${plural(underWay, "send was", "sends were")} already under way.`;
}
