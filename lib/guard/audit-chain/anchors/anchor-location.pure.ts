import { type ArchiveLocation, parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";

/**
 * Where the end of the chain is written, out of reach of whoever may change the store: PARKADE_AUDIT_ANCHORS, separated by spaces.
 * Throws ArchiveLocationError, or RangeError for a repeated place.
 */
export function parseAnchorLocations(text: string): ArchiveLocation[] {
  const locations = text.split(/\s+/).filter(Boolean).map(parseArchiveLocation);
  if (new Set(locations.map((location) => JSON.stringify(location))).size < locations.length)
    throw new RangeError("names the same place twice");
  return locations;
}
