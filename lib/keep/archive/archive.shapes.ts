import * as z from "zod/mini";
import { EVENT_STATUSES } from "@/lib/events/event-state.pure";
import { RESTORED_MAX } from "@/lib/keep/archive/archive.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
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
    /** The object of the archive that holds it. */
    object: z.string(),
  }),
  {
    id: "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b00",
    source: "orders",
    eventId: "order-77-v3",
    aggregateId: "order-77",
    aggregateType: "order",
    version: 3,
    eventType: "OrderShipped",
    errorCode: "TIMEOUT",
    status: "IGNORED",
    payloadBytes: 182,
    firstSeen: "2026-11-22T02:44:59.120Z",
    removedAt: "2026-11-25T09:00:00.000Z",
    removedBy: "maria",
    operationId: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60",
    object:
      "removed/2026-11-25/019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60/orders-019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a61.ndjson.zst",
  },
);
export type ArchivedEvent = z.infer<typeof archivedEventSchema>;

/** GET /api/v1/archive. `place`: where its objects lie; null = no archive is configured. */
export const archivedListSchema = z.extend(pageOut(archivedEventSchema), { place: nullableText });
export type ArchivedList = z.infer<typeof archivedListSchema>;

const text = (words: string) => described(z.optional(z.string()), words);

export const archivedQuery = idPageQuery({
  id: described(z.optional(uuidText()), "The id that it had in the store"),
  eventId: text("The producer's id"),
  aggregateId: text("Its aggregate"),
  source: text("Its source"),
  errorCode: text("Its error code"),
  operation: described(z.optional(uuidText()), "The bulk operation that removed it"),
});
export type ArchivedQuery = ReturnType<typeof archivedQuery.read>;

/**
 * POST /api/v1/archive/restore. Named events, or those that an operation removed, some thousand at a time: `after` is the
 * `next` of the answer before.
 */
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
    z.strictObject({
      operation: uuidText("must be the id of the operation that removed them"),
      after: z.optional(uuidText("must be the `next` of the answer before")),
    }),
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
    /** Of an operation: where the next request goes on; null = nothing is left. */
    next: nullableText,
  }),
  { restored: 1, duplicates: 0, refused: [], next: null },
);
export type RestoreAnswer = z.infer<typeof restoreAnswerSchema>;
