import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  boundedText,
  countOut,
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

const GROUPS_MAX = 100;
const MORE_MAX = 1_000_000_000;
const moreText = `must be a whole number from 1 to ${MORE_MAX}`;

/** POST /api/v1/group-mutes: until a time, until so many more have arrived, or whichever is first. */
export const groupMuteRequestSchema = named(
  "GroupMuteRequest",
  z.strictObject({
    fingerprints: z
      .array(boundedText(TEXT_MAX.sourceName))
      .check(
        z.minLength(1, "name at least one group"),
        z.maxLength(GROUPS_MAX, `at most ${GROUPS_MAX} groups at once`),
      ),
    /** null = in every source. */
    source: z._default(z.nullable(boundedText(TEXT_MAX.sourceName)), null),
    until: z.optional(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
    /** More arrivals of the group than there were when it began. */
    more: z.optional(z.int(moreText).check(z.gte(1, moreText), z.lte(MORE_MAX, moreText))),
    reason: reasonSchema,
  }),
  { fingerprints: ["9f1c2b3a4d5e6f70"], source: "orders", until: "2026-11-22T18:00:00.000Z", reason: "mended by 6 pm" },
);
export type GroupMuteRequest = z.infer<typeof groupMuteRequestSchema>;

export const groupMuteSchema = named(
  "GroupMute",
  z.object({
    id: idOut,
    fingerprint: z.string(),
    source: nullableText,
    until: nullableTime,
    /** It ends when so many have arrived since it began; null = only by its time. */
    untilMore: z.nullable(countOut),
    /** Arrivals since it began, while it lasts and ends by a number; else null. */
    arrived: z.nullable(countOut),
    reason: z.string(),
    createdBy: z.string(),
    createdAt: timeOut,
    endedAt: nullableTime,
    endedBy: nullableText,
    /** `replaced`: by a later one of the same group. */
    endedBecause: z.nullable(z.enum(["lifted", "replaced", "time", "count"])),
  }),
);
export type GroupMuteOut = z.infer<typeof groupMuteSchema>;
export const groupMuteListSchema = pageOut(groupMuteSchema);
export type GroupMuteList = z.infer<typeof groupMuteListSchema>;

export const groupMutesBegunSchema = named("GroupMutesBegun", z.object({ items: z.array(groupMuteSchema) }));
export type GroupMutesBegun = z.infer<typeof groupMutesBegunSchema>;

export const groupMutesQuery = idPageQuery({
  state: described(z.optional(z.enum(["live", "ended"], "must be live or ended")), "In force, or ended; absent = both"),
  fingerprint: described(z.optional(z.string()), "Of this group"),
});
