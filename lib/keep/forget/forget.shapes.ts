import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  boundedText,
  countsOut,
  described,
  idOut,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  pageOut,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const instant = z.nullish(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" }));

const POINTER_WORDS = "must be a JSON pointer such as /customer/email";
const VALUE_MAX = 512;

const what = {
  key: z.union(
    [
      z.strictObject({
        tag: z.strictObject({ name: boundedText(TEXT_MAX.tagKey), value: boundedText(TEXT_MAX.tagValue) }),
      }),
      z.strictObject({
        aggregateId: boundedText(TEXT_MAX.aggregateId),
        aggregateType: z.optional(boundedText(TEXT_MAX.aggregateType)),
      }),
      z.strictObject({
        payload: z.strictObject({
          pointer: boundedText(VALUE_MAX).check(z.regex(/^(\/([^~/]|~[01])*)+$/, POINTER_WORDS)),
          value: boundedText(VALUE_MAX),
        }),
      }),
    ],
    "must name exactly one of tag { name, value }, aggregateId (optionally with an aggregateType), payload { pointer, value }",
  ),
  /** Only of this source; absent = of all. */
  source: z.optional(boundedText(TEXT_MAX.sourceName)),
  /** Only events first seen at or after this time. */
  from: instant,
  /** Only events first seen before this time. */
  to: instant,
};

const EXAMPLE = { key: { tag: { name: "customerId", value: "42" } } } as const;

export const forgetPreviewRequestSchema = named("ForgetPreviewRequest", z.strictObject(what), EXAMPLE);
export type ForgetWhat = z.infer<typeof forgetPreviewRequestSchema>;

export const forgetRequestSchema = named("ForgetRequest", z.strictObject({ ...what, reason: reasonSchema }), {
  ...EXAMPLE,
  reason: "request 2026/311, article 17",
});
export type ForgetRequest = z.infer<typeof forgetRequestSchema>;

export const forgetPreviewSchema = named(
  "ForgetPreview",
  z.object({
    /** Stored events that would be forgotten; null = counting took too long. */
    events: nullableNumber,
    /** Stored events that would stay; null = counting took too long. */
    kept: nullableNumber,
    /** `in-redrive`: QUEUED; `unconfirmed`: sent, and may come back; `holds-later`: later versions of its aggregate wait behind it. */
    keptByReason: countsOut,
    /** Archived events of this aggregate; null = only their objects know, which are read when it runs. */
    archivedEvents: nullableNumber,
    /** Objects of the archive that would be read. */
    objects: z.int(),
  }),
);
export type ForgetPreview = z.infer<typeof forgetPreviewSchema>;

/** GET /api/v1/forget/{id}. Nothing of it names whose data it was. */
export const forgetSchema = named(
  "Forget",
  z.object({
    id: idOut,
    state: z.enum(["RUNNING", "DONE"]),
    keyKind: z.enum(["tag", "aggregateId", "pointer"]),
    /** What it does now: events of the store, of the archive, other texts, the audit. */
    phase: z.enum(["events", "archive", "traces", "audit"]),
    /**
     * What was done, by place: `events`, `revisions` and `bounces` of the store; `archivedEvents`, `objectsRewritten`, `objectsRemoved`;
     * `auditEntries` and `otherTexts` in which a text was replaced.
     */
    counts: countsOut,
    /** Matching events that stay, by reason: forget them again when the reason is gone. */
    refused: countsOut,
    reason: z.string(),
    createdBy: z.string(),
    createdAt: timeOut,
    finishedAt: nullableTime,
    /** Why it does not move; null = it moves, or has ended. */
    stalled: nullableText,
  }),
);
export type ForgetOut = z.infer<typeof forgetSchema>;
export const forgetListSchema = pageOut(forgetSchema);
export type ForgetList = z.infer<typeof forgetListSchema>;

export const forgetAnswerSchema = named(
  "ForgetAnswer",
  z.object({
    id: idOut,
    state: z.enum(["RUNNING"]),
    /** Shown once. With it the hash in the audit proves which key was forgotten. The store keeps it only in the answer under an Idempotency-Key, for 24 hours. */
    receipt: z.string(),
  }),
);

export const forgetsQuery = idPageQuery({
  state: described(z.optional(z.enum(["RUNNING", "DONE"], "must be RUNNING or DONE")), "absent = both"),
});
