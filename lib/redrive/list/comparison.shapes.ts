import * as z from "zod/mini";
import { countsOut, idOut, named, nullableText, timeOut, uuidText } from "@/lib/platform/api/schemas.shapes";

/** What a redrive said of one event. */
const judgedSchema = z.object({
  passes: z.boolean(),
  /** Why it was refused; null = it passed. */
  reason: nullableText,
  detail: nullableText,
  /** The revision that was judged. */
  revision: z.int(),
});

const sampleSchema = z.object({
  id: idOut,
  eventId: z.string(),
  source: z.string(),
  before: judgedSchema,
  now: judgedSchema,
});

const partSchema = z.object({
  count: z.int(),
  /** How many of them were judged in another revision than before. */
  revised: z.int(),
  /** By the reason of the refusal: of the earlier one where they pass now. */
  byReason: countsOut,
  /** At most 5. */
  samples: z.array(sampleSchema),
});
export type ComparisonPart = z.infer<typeof partSchema>;

const redriveFacts = z.object({
  id: idOut,
  mode: z.enum(["deliver", "verify"]),
  createdAt: timeOut,
  createdBy: z.string(),
});

/** GET /api/v1/redrives/{id}/comparison. Of a deliver run, an event passes when nothing refused it before its send. */
export const comparisonSchema = named(
  "RedriveComparison",
  z.object({
    redrive: redriveFacts,
    /** null = no earlier dry run judged any of its events. */
    with: z.nullable(redriveFacts),
    /** Refused before, passes now. */
    newlyPassing: partSchema,
    /** Passed before, refused now. */
    newlyRefused: partSchema,
    /** Refused both times, for another reason. */
    otherReason: partSchema,
    /** Passed both times. */
    stillPassing: z.int(),
    /** Refused both times, for the same reason. */
    stillRefused: countsOut,
    /** Judged in one of the two alone, or in neither yet. */
    onlyNow: z.int(),
    onlyBefore: z.int(),
  }),
  {
    redrive: {
      id: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50",
      mode: "verify",
      createdAt: "2026-11-22T02:45:00.000Z",
      createdBy: "maria",
    },
    with: null,
    newlyPassing: { count: 0, revised: 0, byReason: {}, samples: [] },
    newlyRefused: { count: 0, revised: 0, byReason: {}, samples: [] },
    otherReason: { count: 0, revised: 0, byReason: {}, samples: [] },
    stillPassing: 0,
    stillRefused: {},
    onlyNow: 12,
    onlyBefore: 0,
  },
);
export type Comparison = z.infer<typeof comparisonSchema>;

/** Absent = the newest earlier dry run that judged some of the same events. */
export const comparisonQuery = { with: z.optional(uuidText("must be the id of a redrive")) };
