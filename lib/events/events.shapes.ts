import * as z from "zod/mini";
import { arrivalsShape, verdictOut } from "@/lib/events/groups/arrivals.shapes";
import { groupMuteSchema } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { appliedControlSchema } from "@/lib/order/controls/controls.shapes";
import { heldBehindSchema } from "@/lib/order/tails/tails.shapes";
import {
  countsOut,
  described,
  headersSchema,
  hintsOut,
  idOut,
  named,
  nullableText,
  nullableTime,
  pageOut,
  timeOut,
  versionOut,
} from "@/lib/platform/api/schemas.shapes";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";
import { PROBLEM_CODES } from "@/lib/platform/plain/problem.pure";
import { eventLinkSchema } from "@/lib/sources/links/links.shapes";
import { ADMISSION_MARKS, type AdmissionRecord } from "@/lib/states/admission-mark.pure";
import { BULK_STATES } from "@/lib/states/bulk-operation.pure";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";

const version = z.nullable(versionOut);
const status = z.enum(EVENT_STATUSES);

const eventShape = {
  id: idOut,
  source: z.string(),
  eventId: z.string(),
  /** Within which the eventId is unique, as `source` of a CloudEvent; null = it is unique in the source. */
  producer: nullableText,
  aggregateId: nullableText,
  aggregateType: nullableText,
  version,
  eventType: nullableText,
  errorCode: z.string(),
  fingerprint: z.string(),
  status,
  attempts: z.int(),
  bounces: z.int(),
  firstSeen: timeOut,
  /** Of the last failure: a bounce brings another time. */
  failedAt: nullableTime,
  /** Of the failure before the event was parked first; null = it named no time, nor did a bounce. */
  firstFailedAt: nullableTime,
  lastAttemptAt: nullableTime,
  lastErrorCode: nullableText,
  lastError: nullableText,
  lastOperator: nullableText,
  redriveAt: nullableTime,
  confirmedAt: nullableTime,
  cooldownUntil: nullableTime,
  traceId: nullableText,
  payloadBytes: z.int(),
  tags: z.record(z.string(), z.string()),
  /** What admission marked it with: see docs/admission.md. null = it is sent like any other. */
  admission: z.nullable(z.enum(ADMISSION_MARKS)),
  /** The current revision of its bytes: 1 = what arrived first. `payloadBytes` is its size. */
  revision: z.int(),
};
const eventSchema = z.object(eventShape);
export type EventOut = z.infer<typeof eventSchema>;

const heldBehind = z.nullable(heldBehindSchema);

/**
 * An event as a list shows it. `control`: the one that decides whether it may be sent now (a blacklist, a cooldown, or the
 * whitelist that overrides them); null = none does.
 */
const listedShape = { ...eventShape, control: z.nullable(appliedControlSchema), heldBehind };
const listedEventSchema = named("Event", z.object(listedShape));
export type ListedEvent = z.infer<typeof listedEventSchema>;

export const eventListSchema = z.object({
  items: z.array(listedEventSchema),
  nextCursor: nullableText,
  prevCursor: nullableText,
  examinedTo: described(
    z.nullable(timeOut),
    "null = complete as far as it goes. A time = matches are rare, and only events that arrived since then (before `prevCursor`: until then) were examined, or with `sort` those that failed since then or until then: continue with the cursor",
  ),
  hints: hintsOut,
});
export type EventList = z.infer<typeof eventListSchema>;

/** How many match. `atLeast`: counting stopped at the bound; `estimated`: by the planner; null value: unknown. */
const countSchema = named(
  "Count",
  z.object({ value: z.nullable(z.int()), kind: z.enum(["exact", "estimated", "atLeast"]), asOf: timeOut }),
);
export type CountOut = z.infer<typeof countSchema>;

/**
 * GET /api/v1/events/count?filter -> total, and the same by shown status. HELD: what an earlier event of its aggregate
 * holds; `atLeast` or unknown where the events are too many to look at each.
 */
export const eventCountsSchema = z.object({
  total: countSchema,
  byStatus: z.record(z.string(), countSchema),
  hints: hintsOut,
});
export type EventCounts = z.infer<typeof eventCountsSchema>;

export const bodySchema = z.object({
  contentType: z.string(),
  /** The payload as text when it is valid UTF-8, else null. Exact bytes: GET /api/v1/events/{id}/payload. */
  text: nullableText,
  base64: z.string(),
  bytes: z.int(),
  /** Something is masked by the rules: POST /api/v1/events/{id}/reveal shows it. */
  masked: z.boolean(),
  /** Masked values; null = the payload is masked as a whole. */
  maskedCount: z.nullable(z.int()),
  /** The text of a body that its message says is encoded, for people; null = it is plain. What is stored and sent stays as it is. */
  decoded: z.nullable(
    z.object({
      /** What was undone, in the order in which it was applied: `gzip, base64, utf-16le`. Without a text: what the message names. */
      from: z.string(),
      text: nullableText,
      /** Before its characters were decoded. */
      bytes: z.int(),
      /** Masked values of the text; null = it is masked as a whole. */
      maskedCount: z.nullable(z.int()),
      /** Why there is no text. */
      fault: nullableText,
    }),
  ),
});
export type BodyOut = z.infer<typeof bodySchema>;

/** One fact in an event's history, oldest first. `text` is ready to show; the rest is for linking and detail. */
const historySchema = named(
  "HistoryEntry",
  z.object({
    at: timeOut,
    kind: z.enum(["parked", "bounced", "duplicate", "verdict", "attempt", "state", "control", "confirmed"]),
    text: z.string(),
    actor: nullableText,
    reason: nullableText,
    redriveId: z.nullable(idOut),
    auditId: z.nullable(idOut),
    detail: z.record(z.string(), z.unknown()),
  }),
);
export type HistoryEntry = z.infer<typeof historySchema>;

const memberSchema = z.object({
  id: idOut,
  eventId: z.string(),
  version,
  eventType: nullableText,
  errorCode: z.string(),
  status,
  bounces: z.int(),
  confirmedAt: nullableTime,
  cooldownUntil: nullableTime,
  firstSeen: timeOut,
  /** The first parked version that is not superseded: it holds later versions. */
  head: z.boolean(),
  heldBehind,
});
export type AggregateMember = z.infer<typeof memberSchema>;

/** The event that a redrive of this one would wait for, by the rule of the redrive itself. `text` is ready to show. */
const heldBySchema = z.object({ id: idOut, eventId: z.string(), text: z.string() });
export type HeldBy = z.infer<typeof heldBySchema>;

const ruleRefShape = { id: idOut, name: z.string(), version: z.int() };

const ruleRef = z.object(ruleRefShape);

/** What admission did to an event, beside the event. */
const admissionRecordSchema = z.object({
  rules: z.array(ruleRef),
  arrivedAs: z.optional(z.string()),
  group: z.optional(z.string()),
  finding: z.optional(z.string()),
  failed: z.optional(z.array(z.object({ ...ruleRefShape, fault: z.string() }))),
}) satisfies z.ZodMiniType<AdmissionRecord>;

/** GET /api/v1/events/{id} */
export const eventDetailSchema = named(
  "EventDetail",
  z.object({
    ...listedShape,
    body: bodySchema,
    headers: headersSchema,
    errorDetail: z.object({ type: nullableText, message: nullableText, stack: nullableText }),
    origin: z
      .custom<Origin>((value) => typeof value === "object" && value !== null)
      .register(z.globalRegistry, {
        type: "object",
        additionalProperties: true,
      }),
    history: z.array(historySchema),
    aggregate: z.array(memberSchema),
    /** null = nothing holds it, or it is not waiting to be sent. */
    heldBy: z.nullable(heldBySchema),
    controls: z.array(appliedControlSchema),
    /** What the rules of admission did to it, when it arrived last; null = nothing. */
    admitted: z.nullable(admissionRecordSchema),
    group: z.nullable(z.object({ fingerprint: z.string(), pattern: z.string(), parked: z.int() })),
    target: z.object({ main: nullableText, slow: nullableText }),
    /** To its log and its trace, by the templates of its source. */
    links: z.array(eventLinkSchema),
  }),
);
export type EventDetail = z.infer<typeof eventDetailSchema>;

/** GET /api/v1/events/{id}/neighbours?filter: the previous and next of the filtered list. */
export const neighboursSchema = z.object({ previous: z.nullable(idOut), next: z.nullable(idOut) });
export type Neighbours = z.infer<typeof neighboursSchema>;

/** POST /api/v1/events -> 202 */
export const parkAnswerSchema = named(
  "ParkAnswer",
  z.object({
    accepted: z.int(),
    duplicates: z.int(),
    /** Of known events, with bytes that no revision of theirs held: each is a revision now, see `revisions`. */
    changed: z.int(),
    /** At most 1,000 of these are listed; `index` is the place within the request, from 0, `id` the event. */
    revisions: z.array(
      z.object({
        index: z.int(),
        id: idOut,
        revision: z.int(),
        /** The next redrive sends it. False: somebody has chosen another one. */
        current: z.boolean(),
      }),
    ),
    bounced: z.int(),
    /** A rule of admission dropped them: counted at the rule, not stored. */
    dropped: z.int(),
    /** Counted in a storm and not stored: their source has a `stormPerMinute`. */
    unstored: z.int(),
    /** At most 1,000 are listed; `index` is the place within the request, from 0. */
    rejected: z.array(
      z.object({
        index: z.int(),
        code: z.enum(PROBLEM_CODES),
        detail: z.string(),
        field: z.optional(z.string()),
      }),
    ),
    /** All refused ones, listed or not. */
    rejectedTotal: z.int(),
    /** Values that could not be read, such as a time that is none; their events are stored without them. At most 1,000 are listed. */
    unread: z.optional(z.array(z.object({ index: z.int(), field: z.string(), detail: z.string() }))),
  }),
);
export type ParkAnswer = z.infer<typeof parkAnswerSchema>;

export const groupSchema = named(
  "Group",
  z.object({
    fingerprint: z.string(),
    errorCode: z.string(),
    exceptionType: nullableText,
    pattern: z.string(),
    firstFrame: nullableText,
    sampleEvent: idOut,
    firstSeen: timeOut,
    lastSeen: timeOut,
    counts: z.object({ PENDING: z.int(), QUEUED: z.int(), REDRIVEN: z.int(), IGNORED: z.int() }),
    sources: z.array(z.string()),
    /** Parked and unstored per hour over the last 24 h, oldest first. */
    trend: z.array(z.number()),
    /** In the window of the filter, without one in the last 24 h; of all the group's events in the filter's sources. */
    arrivals: z.object(arrivalsShape),
    verdict: verdictOut,
    /** `rise`: since when more arrives than usual; `first`: nothing rises, or no hour left its range, and it was first seen then. */
    since: z.object({ at: timeOut, of: z.enum(["rise", "first"]) }),
    /** Nobody is notified about it; null = its alerts are sent. */
    mute: z.nullable(groupMuteSchema),
    /** Of the arrivals, those that were counted in a storm and not stored, and the minute in which that began. null = all are stored. */
    unstored: z.nullable(z.object({ count: z.int(), since: timeOut })),
  }),
);
export type GroupOut = z.infer<typeof groupSchema>;
export const groupListSchema = z.extend(pageOut(groupSchema), {
  hints: hintsOut,
  /** With `verdict`: groups beyond the 2,000 that were judged. Narrow the filter to see them. */
  left: z.int(),
});
export type GroupList = z.infer<typeof groupListSchema>;

/**
 * POST /api/v1/events/ignore | release | confirm -> 202. `refused` by reason, as in Refusal, or `not-pending`,
 * `not-ignored`, `already-ignored`, `already-confirmed`, `in-flight`, `changed-meanwhile`, `confirmed-when-sent`, `store-refused`, `several-producers`.
 */
export const bulkAnswerSchema = named(
  "BulkAnswer",
  z.object({
    /** The bulk operation that changes them, where they are more than BULK_NOW_MAX; null = all is done. */
    id: z.nullable(idOut),
    state: z.enum(BULK_STATES),
    changed: z.int(),
    /** Confirmations of QUEUED events: kept, and counted when the send of the event ends. Absent = none. */
    recorded: z.optional(z.int()),
    refused: countsOut,
    /** Those that changed, so that the change can be taken back; null = the operation names them. */
    ids: z.nullable(z.array(idOut)),
    /** Events that were being sent and still are (`in-flight` among the refused); null = the store did not say. */
    underWay: z.nullable(z.int()),
  }),
);
export type BulkAnswer = z.infer<typeof bulkAnswerSchema>;

/** Events that a request changes itself, in its own transaction. */
export const BULK_NOW_MAX = 2_000;
