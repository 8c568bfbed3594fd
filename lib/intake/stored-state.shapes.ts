import * as z from "zod/mini";
import { isBase64 } from "@/lib/platform/plain/header-fault.pure";
import { ATTEMPTS_MAX, INT4_MAX, isStorableText, TEXT_MAX, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

/**
 * What a line of an export holds beside the event itself: all that the store knows of it. The line is an event as
 * `POST /api/v1/events` takes it (`lib/intake/event-in.shapes.ts`), its payload the bytes that arrived first, with this
 * object as its member `stored`. An event that has it is restored: it gets its id, its status and its history of bytes
 * back, and no rule of admission judges it again.
 *
 * Times are UTC with microseconds, as the store has them.
 */

const TIME_WORDS = "must be a UTC time such as 2026-11-25T16:00:00.123456Z";
const time = z.string(TIME_WORDS).check(
  // With the ranges, so that the API's document allows no month 63.
  z.regex(
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?Z$/,
    TIME_WORDS,
  ),
  z.refine((text) => !Number.isNaN(Date.parse(text)), TIME_WORDS),
);
const timeOrNull = z.nullable(time);

const text = z.nullable(z.string("must be text").check(z.refine(isStorableText, UNSTORABLE_TEXT)));
const name = z
  .string("must be text")
  .check(z.minLength(1, "must not be empty"), z.maxLength(1_024, "at most 1024 characters"))
  .check(z.refine(isStorableText, UNSTORABLE_TEXT));
const count = z.int("must be a whole number").check(z.gte(0, "must not be negative"), z.lte(INT4_MAX, "is too large"));
const uuid = z.string("must be a UUID").check(z.regex(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/, "must be a UUID"));
const eventId = z
  .string("must be an id of Parkade")
  .check(z.regex(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/, "must be a UUID of version 7"));
const base64 = z.string("must be base64 text").check(z.refine(isBase64, "must be base64 text"));
const anyText = z.string("must be text").check(z.refine(isStorableText, UNSTORABLE_TEXT));
/** As a broker gave them: names may be empty. */
const headers = z.array(
  z.union(
    [
      z.tuple([anyText, text]),
      z.tuple([anyText, text, z.enum(["text", "bytes", "amqp"], "must be text, bytes or amqp")]),
    ],
    "must be [name, value] with text or null as value",
  ),
);
/** A JSON column. Its value is taken from the text of the line, so that no number is rounded. */
const json = z.record(z.string(), z.unknown());
const jsonOrNull = z.nullable(json);
/** Counts that every bounce and redrive adds to. */
const COUNT_MAX = 1_000_000;
const smallCount = z
  .int("must be a whole number")
  .check(z.gte(0, "must not be negative"), z.lte(COUNT_MAX, `must be at most ${COUNT_MAX}`));

const errorText = z.strictObject({
  type: text,
  message: text,
  stack: text,
});

const storedRevisionSchema = z.strictObject({
  revision: z.int("must be a whole number").check(z.gte(2, "must be above 1"), z.lte(INT4_MAX, "is too large")),
  cause: z.enum(["arrived", "bounce", "edit", "mend"], "must be arrived, bounce, edit or mend"),
  base: count,
  bounce: z.nullable(count),
  actor: name,
  reason: text,
  at: time,
  patch: z.unknown(),
  operationId: z.nullable(uuid),
  payloadBase64: base64,
  contentType: z.string("must be text").check(z.maxLength(TEXT_MAX.contentType, "is too long")),
  headers,
  /** Of a letter that is no bounce: where it lay. */
  origin: z.nullish(json),
});

const storedBounceSchema = z.strictObject({
  bounce: count,
  at: time,
  redriveId: z.nullable(uuid),
  sent: count,
  /** Absent: the line is of a version that did not keep it, and gets the code of the event. */
  errorCode: z.optional(name),
  error: errorText,
  headers,
  origin: json,
  admitted: jsonOrNull,
});

/** Of the group that it belongs to, so that the group can be made again; null = the group is not stored. */
const storedGroupSchema = z.nullable(z.strictObject({ exceptionType: text, pattern: z.string(), firstFrame: text }));

export const storedStateSchema = z.strictObject({
  id: eventId,
  firstSeen: time,
  status: z.enum(EVENT_STATUSES, `must be one of ${EVENT_STATUSES.join(", ")}`),
  attempts: count,
  bounces: smallCount,
  redrives: smallCount,
  failures: smallCount,
  failedAt: timeOrNull,
  /** Where it differs from `failedAt`. Absent: the line is of a version that did not keep it. */
  firstFailedAt: z.optional(timeOrNull),
  lastAttemptAt: timeOrNull,
  redriveAt: timeOrNull,
  confirmedAt: timeOrNull,
  cooldownUntil: timeOrNull,
  lastOperator: text,
  bouncedRedrives: z.nullable(z.array(uuid)),
  confirmedRedrive: z.nullable(uuid),
  fingerprint: name,
  group: storedGroupSchema,
  admission: z.nullable(z.enum(ADMISSION_MARKS, `must be one of ${ADMISSION_MARKS.join(", ")}`)),
  admitted: jsonOrNull,
  lastErrorCode: text,
  lastError: text,
  /** The current one: 1, or one of `revisions`. */
  revision: count,
  revisions: z.array(storedRevisionSchema),
  bounced: z.array(storedBounceSchema),
});
export type StoredState = z.infer<typeof storedStateSchema>;

/** Members of the event itself that a broker may have given in a form that HTTP does not take. */
export const EXPORTED_AS_STORED = {
  aggregateId: z.optional(text),
  aggregateType: z.optional(text),
  eventType: z.optional(text),
  traceId: z.optional(text),
  contentType: z.optional(text),
  headers: z.optional(headers),
};

/** As it stands in a line: the texts are what the store takes its JSON columns from. `originText`: of the event. */
export type StoredPart = { state: StoredState; text: string; originText: string };

z.globalRegistry.add(storedStateSchema, { id: "StoredState" });

/** What `POST /api/v1/events` takes as deliveries; more than that is in `stored` alone. */
export const EXPORTED_ATTEMPTS_MAX = ATTEMPTS_MAX;

/** What contradicts itself; null = nothing does. `field` is relative to `stored`. */
export function contradictionOf(state: StoredState): { field: string; detail: string } | null {
  const revisions = state.revisions.map(({ revision }) => revision);
  if (new Set(revisions).size < revisions.length) return { field: "revisions", detail: "names a revision twice" };
  if (state.revision !== 1 && !revisions.includes(state.revision))
    return { field: "revision", detail: `is ${state.revision}, which revisions does not hold` };
  const early = state.revisions.find(({ revision, base }) => base >= revision);
  if (early) return { field: "revisions", detail: `makes revision ${early.revision} from ${early.base}` };
  if (state.status === "REDRIVEN" && state.redriveAt === null && state.confirmedAt === null)
    return { field: "redriveAt", detail: "is missing: the event is REDRIVEN and not confirmed" };
  if (state.status !== "REDRIVEN" && state.confirmedAt !== null)
    return { field: "confirmedAt", detail: `is given, and the event is ${state.status}` };
  const bounces = state.bounced.map(({ bounce }) => bounce);
  if (new Set(bounces).size < bounces.length) return { field: "bounced", detail: "names a bounce twice" };
  if (bounces.some((bounce) => bounce > state.bounces))
    return { field: "bounced", detail: `holds a bounce above bounces, which is ${state.bounces}` };
  return null;
}
