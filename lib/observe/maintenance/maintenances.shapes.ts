import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  boundedText,
  described,
  idOut,
  named,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const SOURCES_MAX = 100;
const time = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" });

export const maintenanceRequestSchema = named(
  "MaintenanceRequest",
  z.strictObject({
    /** null = every source. */
    sources: z._default(
      z.nullable(
        z
          .array(boundedText(TEXT_MAX.sourceName))
          .check(z.minLength(1, "name at least one, or give null for every source"), z.maxLength(SOURCES_MAX)),
      ),
      null,
    ),
    /** Absent = now. */
    from: z.optional(time),
    until: time,
    reason: reasonSchema,
  }),
  { sources: ["orders"], until: "2026-11-22T04:00:00.000Z", reason: "the stock service moves" },
);
export type MaintenanceRequest = z.infer<typeof maintenanceRequestSchema>;

export const maintenanceSchema = named(
  "Maintenance",
  z.object({
    id: idOut,
    sources: z.nullable(z.array(z.string())),
    from: timeOut,
    until: timeOut,
    reason: z.string(),
    createdBy: z.string(),
    createdAt: timeOut,
    /** By a person, before its time; null = it lasts, or lasted, until `until`. */
    endedAt: nullableTime,
    endedBy: nullableText,
  }),
);
export type MaintenanceOut = z.infer<typeof maintenanceSchema>;
export const maintenanceListSchema = pageOut(maintenanceSchema);
export type MaintenanceList = z.infer<typeof maintenanceListSchema>;

export const maintenancesQuery = idPageQuery({
  state: described(
    z.optional(z.enum(["live", "ended"], "must be live or ended")),
    "Active and upcoming, or ended; absent = both",
  ),
});
