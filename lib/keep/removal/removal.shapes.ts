import * as z from "zod/mini";
import { countsOut, named, nullableNumber, nullableText, timeOut } from "@/lib/platform/api/schemas.shapes";
import { selectionSchema } from "@/lib/selection/selection.shapes";

export const removalPreviewRequestSchema = named("RemovalPreviewRequest", z.strictObject({ select: selectionSchema }), {
  select: { filter: { source: ["orders"], status: ["IGNORED"] } },
});

/** What a removal would do now; null = counting took too long. */
export const removalPreviewSchema = named(
  "RemovalPreview",
  z.object({
    /** IGNORED events, and REDRIVEN ones that are confirmed: they are archived, then removed. */
    removable: nullableNumber,
    kept: nullableNumber,
    /** `not-settled`: PENDING; `in-redrive`: QUEUED; `unconfirmed`: redriven, and it may still come back; `holds-later`: IGNORED, before parked versions of its aggregate. */
    keptByReason: countsOut,
    byStatus: countsOut,
    /** Of the current payloads of the removable ones. */
    bytes: nullableNumber,
    /** Where the archive lies; null = none is configured, and nothing can be removed. */
    place: nullableText,
    /** Later arrivals are not counted. */
    cutoff: timeOut,
  }),
);
export type RemovalPreview = z.infer<typeof removalPreviewSchema>;
