import * as z from "zod/mini";
import { RESTORED_MAX } from "@/lib/keep/archive/archive.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { instant } from "@/lib/platform/api/instant.shapes";
import { thenRead } from "@/lib/platform/api/query.shapes";
import {
  described,
  idOut,
  named,
  nullableText,
  pageOut,
  timeOut,
  uuidText,
  versionOut,
} from "@/lib/platform/api/schemas.shapes";
import { resolveInstant, resolveWindow } from "@/lib/platform/instant.pure";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

/** An event that was removed from the store and lies in the archive. */
const archivedEventSchema = named(
  "ArchivedEvent",
  z.object({
    /** As it was in the store, and will be again. */
    id: idOut,
    source: z.string(),
    eventId: z.string(),
    aggregateId: nullableText,
    aggregateType: nullableText,
    version: z.nullable(versionOut),
    eventType: nullableText,
    errorCode: z.string(),
    status: z.enum(EVENT_STATUSES),
    payloadBytes: z.int(),
    firstSeen: timeOut,
    removedAt: timeOut,
    removedBy: z.string(),
    /** The bulk operation that removed it. */
    operationId: idOut,
    /** The object of the archive that has its line. */
    object: z.string(),
  }),
);
export type ArchivedEvent = z.infer<typeof archivedEventSchema>;

/** GET /api/v1/archive. `place`: where its objects lie; null = no archive is configured. */
export const archivedListSchema = z.extend(pageOut(archivedEventSchema), { place: nullableText });
export type ArchivedList = z.infer<typeof archivedListSchema>;

const text = (words: string) => described(z.optional(z.string()), words);

const page = idPageQuery({
  id: described(z.optional(uuidText()), "Its id in the store"),
  eventId: text("The producer's id"),
  aggregateId: text("Its aggregate"),
  source: text("Its source"),
  errorCode: text("Its error code"),
  operation: described(z.optional(uuidText()), "The bulk operation that removed it"),
  from: described(z.optional(instant), "First parked at or after: ISO 8601, epoch milliseconds, or relative like -24h"),
  to: described(z.optional(instant), "First parked before, in the same forms"),
});

export const archivedQuery = thenRead(page, ["invalid-window"], ({ from, to, ...query }, nowMs) => ({
  ...query,
  ...resolveWindow({ from: from ?? undefined, to: to ?? undefined }, nowMs),
}));
export type ArchivedQuery = ReturnType<typeof archivedQuery.read>;

const DAY_WORDS = "must be a UTC day such as 2026-11-25";
/** Of events: the day that they were parked on. */
const day = z
  .string(DAY_WORDS)
  .check(
    z.regex(/^\d{4}-\d\d-\d\d$/, DAY_WORDS),
    z.refine((text) => resolveInstant(text, 0) !== null, DAY_WORDS),
  )
  .register(z.globalRegistry, { format: "date" });
const ofOperation = uuidText("must be the id of the operation that removed them");
const ofSource = z.string("must be the name of a source").check(z.minLength(1, "must be the name of a source"));
const after = z.optional(uuidText("must be the `next` of the previous answer"));

/** POST /api/v1/archive/restore: named events, or those of an operation or a day, page by page. `after` is the previous answer's `next`. */
export const restoreSchema = named(
  "ArchiveRestoreRequest",
  z.union([
    z.strictObject({
      ids: z
        .array(uuidText("must be the id of an archived event"))
        .check(
          z.minLength(1, "selects nothing: name at least one id"),
          z.maxLength(RESTORED_MAX, `more than ${RESTORED_MAX} ids: restore them in several requests`),
        ),
    }),
    z.strictObject({ operation: ofOperation, after }),
    z.strictObject({ day, source: z.optional(ofSource), after }),
  ]),
  { ids: ["019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b00"] },
);
export type RestoreRequest = z.infer<typeof restoreSchema>;

/** `refused`: those that stay in the archive, each with the reason. */
export const restoreAnswerSchema = named(
  "ArchiveRestoreAnswer",
  z.object({
    restored: z.int(),
    /** An event with its source and eventId is stored: it came in again meanwhile. */
    duplicates: z.int(),
    refused: z.array(z.object({ id: idOut, detail: z.string() })),
    /** Of an operation or a day: where the next request goes on; null = nothing is left. */
    next: nullableText,
  }),
);
export type RestoreAnswer = z.infer<typeof restoreAnswerSchema>;

/** POST /api/v1/archive/verify: the sets of an operation, of a day, or all, page by page. `after` is the previous answer's `next`. */
export const verifySchema = named(
  "ArchiveVerifyRequest",
  z.strictObject({ operation: z.optional(ofOperation), day: z.optional(day), source: z.optional(ofSource), after }),
  { day: "2026-11-25" },
);
export type VerifyRequest = z.infer<typeof verifySchema>;

export const verifyAnswerSchema = named(
  "ArchiveVerifyAnswer",
  z.object({
    /** Sets that were read, and the events that were written to them. */
    sets: z.int(),
    events: z.int(),
    /** Objects that are missing, or that are not what was written. */
    faults: z.array(z.object({ object: z.string(), detail: z.string() })),
    /** Where the next request goes on; null = nothing is left. */
    next: nullableText,
  }),
);
export type VerifyAnswer = z.infer<typeof verifyAnswerSchema>;
