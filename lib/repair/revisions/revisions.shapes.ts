import * as z from "zod/mini";
import { bodySchema } from "@/lib/events/events.shapes";
import { REVEAL_REASON } from "@/lib/guard/masking/mask-rules.shapes";
import { type PathOf, queryOf } from "@/lib/platform/api/query.shapes";
import {
  described,
  headersSchema,
  idOut,
  named,
  nullableText,
  positiveInt4,
  reasonSchema,
  timeOut,
  uuidText,
} from "@/lib/platform/api/schemas.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { INT4_MAX, isStorableText, TEXT_MAX, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import { REVISION_CAUSES } from "@/lib/repair/revisions/revision.pure";
import { ATTEMPT_STATES } from "@/lib/states/item-state.pure";

const sendSchema = z.object({
  redriveId: idOut,
  attempt: z.int(),
  state: z.enum(ATTEMPT_STATES),
  target: z.string(),
  at: timeOut,
});

const revisionShape = {
  /** 1 = what arrived first. A number is never used twice. */
  revision: z.int(),
  /** Lists show it, and the next redrive sends it. */
  current: z.boolean(),
  cause: z.enum(REVISION_CAUSES),
  /** The revision that it was made from; of a bounce: the one that was sent. null = it arrived first. */
  base: z.nullable(z.int()),
  /** Of a bounce: which one of the event's. */
  bounce: z.nullable(z.int()),
  actor: nullableText,
  reason: nullableText,
  at: timeOut,
  /** What was asked for: of a mend its recipe. */
  patch: z.unknown(),
  operationId: z.nullable(idOut),
  contentType: z.string(),
  bytes: z.int(),
  /** How often it was sent. */
  sends: z.int(),
  /** The newest of these sends, at most 20, newest first. */
  sentBy: z.array(sendSchema),
};

const revisionSchema = named("Revision", z.object(revisionShape));
export type RevisionOut = z.infer<typeof revisionSchema>;

/** GET /api/v1/events/{id}/revisions: newest first. `total` counts those that are not listed, too. */
export const revisionListSchema = z.object({ items: z.array(revisionSchema), total: z.int() });
export type RevisionList = z.infer<typeof revisionListSchema>;

/** GET /api/v1/events/{id}/revisions/{revision} */
export const revisionDetailSchema = named(
  "RevisionDetail",
  z.object({ ...revisionShape, body: bodySchema, headers: headersSchema }),
);
export type RevisionDetail = z.infer<typeof revisionDetailSchema>;

/**
 * GET /api/v1/events/{id}/revisions/compare?from=&to=: both sides, and which of their parts are equal. The parts are
 * compared as they are stored: two masked payloads may look alike and differ.
 */
export const comparisonSchema = z.object({
  from: revisionDetailSchema,
  to: revisionDetailSchema,
  equal: z.object({ payload: z.boolean(), contentType: z.boolean(), headers: z.boolean() }),
});
export type Comparison = z.infer<typeof comparisonSchema>;

const number = positiveInt4("must be the number of a revision");

export const compareQuery = queryOf({ from: number, to: number });
export const payloadQuery = queryOf({
  revision: described(z.optional(number), "The number of a revision; absent = the current one"),
  reason: REVEAL_REASON,
});

export const byRevision: PathOf<{ id: string; revision: number }> = {
  parameters: { id: uuidText(), revision: number },
  problems: ["unknown-event", "unknown-revision"],
  read: ({ id = "", revision = "" }) => {
    if (!UUID.test(id)) {
      throw new DomainError("unknown-event", `There is no event ${id}`, {
        fields: [{ field: "id", detail: "must be a UUID" }],
      });
    }
    if (/^[1-9]\d{0,9}$/.test(revision) && Number(revision) <= INT4_MAX) {
      return { id: id.toLowerCase(), revision: Number(revision) };
    }
    throw new DomainError("unknown-revision", `There is no revision ${revision}`, {
      fields: [{ field: "revision", detail: "must be the number of a revision, such as 1" }],
    });
  },
};

const contentType = z.string("must be text").check(
  z.regex(/\S/, "must not be empty"),
  // HTTP would send the payload without a content type.
  z.regex(/^\P{Cc}*$/u, "must be of one line, without control characters"),
  z.maxLength(TEXT_MAX.contentType, `at most ${TEXT_MAX.contentType} characters`),
  z.refine(isStorableText, UNSTORABLE_TEXT),
);

const base = described(number, "The revision that was edited: it must still be the current one");

/**
 * POST /api/v1/events/{id}/revisions. The payload is `text`, stored as its UTF-8 bytes, or `base64`; what is absent stays
 * as it is in `base`.
 */
export const editRequestSchema = named(
  "EditRequest",
  z
    .strictObject({
      base,
      text: z.optional(z.string("must be text; bytes that are not text must be base64")),
      base64: z.optional(z.string("must be base64 text")),
      contentType: z.optional(contentType),
      headers: z.optional(headersSchema),
      /** Also a payload that the dry run would refuse, as `problems` of the answer says. */
      breaking: z.optional(z.boolean()),
      reason: reasonSchema,
    })
    .register(z.globalRegistry, { not: { properties: { text: {}, base64: {} }, required: ["text", "base64"] } }),
  { base: 1, text: '{"orderNo":"77"}', reason: "the field was renamed" },
);
export type EditRequest = z.infer<typeof editRequestSchema>;

/** POST /api/v1/events/{id}/revisions/restore */
export const restoreRequestSchema = named(
  "RestoreRequest",
  z.strictObject({ base, revision: described(number, "The revision to make current"), reason: reasonSchema }),
  { base: 2, revision: 1, reason: "the rename was not the cause" },
);
export type RestoreRequest = z.infer<typeof restoreRequestSchema>;

export const revisedSchema = named("Revised", z.object({ id: idOut, revision: z.int() }));
export type RevisedAnswer = z.infer<typeof revisedSchema>;

/** What an edit answers. `problems`: why the dry run would refuse the payload as it is now; empty = no reason was found. */
export const editedSchema = named(
  "Edited",
  z.object({ id: idOut, revision: z.int(), problems: z.array(z.object({ reason: z.string(), detail: z.string() })) }),
);
export type EditedAnswer = z.infer<typeof editedSchema>;
export type PayloadProblem = EditedAnswer["problems"][number];
