import { type ArchiveLocation, parseArchiveLocation } from "@/lib/keep/archive/archive-location.pure";

/** Where the ends of the chains are written: out of reach of whoever may change the store. */
export type AnchorLocation = ArchiveLocation | { kind: "webhook"; url: string };

/** Of PARKADE_AUDIT_ANCHORS: separated by spaces. Throws ArchiveLocationError, or RangeError for a webhook or a repeated place. */
export function parseAnchorLocations(text: string): AnchorLocation[] {
  const locations = text
    .split(/\s+/)
    .filter(Boolean)
    .map((part): AnchorLocation => {
      if (!/^https?:/i.test(part)) return parseArchiveLocation(part);
      if (!URL.canParse(part)) throw new RangeError("has a webhook that is no URL");
      return { kind: "webhook", url: new URL(part).href };
    });
  if (new Set(locations.map((location) => JSON.stringify(location))).size < locations.length)
    throw new RangeError("names the same place twice");
  return locations;
}
