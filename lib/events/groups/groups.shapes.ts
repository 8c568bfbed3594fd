import * as z from "zod/mini";
import { groupSchema } from "@/lib/events/events.shapes";
import { VERDICTS } from "@/lib/events/groups/group-verdict.pure";
import { pageOf } from "@/lib/platform/api/id-page.shapes";
import type { PathOf, QueryOf } from "@/lib/platform/api/query.shapes";
import {
  countOut,
  described,
  idOut,
  listText,
  named,
  nullableNumber,
  nullableText,
  reasonSchema,
  timeOut,
} from "@/lib/platform/api/schemas.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  type EventFilter,
  FILTER_SHAPE,
  filterQuery,
  fromSearchParams,
  resolveWindow,
} from "@/lib/selection/filter/event-filter.shapes";
import { SEVERITIES } from "@/lib/states/severity.pure";

/** GET /api/v1/groups/{fingerprint}?source=&from=&to= */
export const groupDetailSchema = named(
  "GroupDetail",
  z.object({
    group: groupSchema,
    /** The last seven days by the hour, the earliest first. `usual`: the median of the same hour on the days before; `usualMax`: the normal range. */
    hours: z.array(z.object({ at: timeOut, count: countOut, usual: nullableNumber, usualMax: nullableNumber })),
    /** Of the newest events of the last seven days. null = they could not be counted in time. */
    affected: z.nullable(
      z.object({
        /** Events that were looked at, and whether they are all of these days. */
        events: countOut,
        whole: z.boolean(),
        since: timeOut,
        aggregates: countOut,
        /** Tags whose values repeat, five at most, with their five most frequent values. */
        tags: z.array(
          z.object({
            key: z.string(),
            values: z.array(z.object({ value: z.string(), count: countOut })),
            /** Events with other values. */
            others: countOut,
          }),
        ),
      }),
    ),
    /** Groups that were merged into it or joined by its storm, the newest first, fifty at most; none for viewers who do not see all its sources. */
    joined: z.object({
      total: countOut,
      items: z.array(
        z.object({
          fingerprint: z.string(),
          pattern: z.string(),
          reason: z.enum(["merge", "storm"]),
          note: nullableText,
          by: z.string(),
          at: timeOut,
        }),
      ),
    }),
    /** What was done to these events before, the latest first, twenty at most. null = it could not be read in time. */
    past: z.nullable(
      z.array(
        z.object({
          at: timeOut,
          by: z.string(),
          reason: nullableText,
          /** `redrive`, or the action of the audit. */
          what: z.enum(["redrive", "ignored", "released", "mended", "edited", "confirmed"]),
          redriveId: z.nullable(idOut),
          operationId: z.nullable(idOut),
          /** Of the events that were looked at; a redrive may have had others. */
          events: countOut,
          /** Of these in a redrive: delivered and not come back; null for others. */
          delivered: z.nullable(countOut),
          failed: z.nullable(countOut),
          state: nullableText,
        }),
      ),
    ),
    /** Alerts about it, the newest first, ten at most. */
    alerts: z.array(
      z.object({
        id: idOut,
        rule: z.string(),
        sentence: z.string(),
        severity: z.enum(SEVERITIES),
        state: z.enum(["pending", "firing", "resolved"]),
        since: timeOut,
        acknowledgedBy: nullableText,
      }),
    ),
  }),
);
export type GroupDetail = z.infer<typeof groupDetailSchema>;

/** The source and the window within which a group is judged. */
export type GroupWithin = Pick<EventFilter, (typeof WITHIN)[number]>;
const WITHIN = ["source", "from", "to"] as const;

export const groupDetailQuery: QueryOf<GroupWithin> = {
  parameters: Object.fromEntries(WITHIN.map((name) => [name, FILTER_SHAPE[name]])),
  problems: ["invalid-filter", "invalid-window"],
  read: (params, nowMs) => {
    const filter = fromSearchParams(params);
    const other = Object.keys(filter).find((name) => !(WITHIN as readonly string[]).includes(name));
    if (other !== undefined) {
      const detail = `unknown here: use ${WITHIN.join(", ")}`;
      throw new DomainError("invalid-filter", `${other}: ${detail}`, { fields: [{ field: other, detail }] });
    }
    resolveWindow(filter, nowMs);
    return filter;
  },
};

export const FINGERPRINT = /^[\w:.-]{1,64}$/;

/** POST /api/v1/groups/{fingerprint}/merge */
export const groupMergeRequestSchema = named(
  "GroupMergeRequest",
  z.strictObject({
    /** The fingerprint of the group that stands for both from now on. */
    into: z.string().check(z.regex(FINGERPRINT, "must be the fingerprint of a group")),
    reason: reasonSchema,
  }),
  { into: "9f1c2b3a4d5e6f70", reason: "the same outage of the bank" },
);
export type GroupMergeRequest = z.infer<typeof groupMergeRequestSchema>;

export const groupMergedSchema = named(
  "GroupMerged",
  z.object({
    fingerprint: z.string(),
    /** The group that stands for it. */
    into: z.string(),
  }),
);
export type GroupMerged = z.infer<typeof groupMergedSchema>;

/** The path parameter `fingerprint`: what is too long to be one names nothing. */
export const byFingerprint: PathOf<{ fingerprint: string }> = {
  parameters: { fingerprint: z.string() },
  problems: ["unknown-group"],
  read: ({ fingerprint = "" }) => {
    if (FINGERPRINT.test(fingerprint)) return { fingerprint };
    throw unknownGroup(fingerprint.slice(0, 64));
  },
};

export function unknownGroup(fingerprint: string): DomainError {
  return new DomainError("unknown-group", `There is no group ${fingerprint} with events`, {
    fields: [{ field: "fingerprint", detail: "list groups with GET /api/v1/groups" }],
  });
}

const GROUP_SORTS = ["count", "last"] as const;
export type GroupSort = (typeof GROUP_SORTS)[number];

/** GET /api/v1/groups: the filter of events, and the order of the groups. */
export const groupPageQuery = filterQuery(
  {
    ...pageOf(z.string()),
    sort: described(
      z.optional(z.enum(GROUP_SORTS, `must be one of ${GROUP_SORTS.join(", ")}`)),
      "`count`: those with the most parked events first; `last`: those that failed last. Absent = count",
    ),
    verdict: described(
      z.optional(listText(VERDICTS)),
      "Groups whose arrivals in the window have one of these verdicts, comma-separated",
    ),
  },
  { cursor: "invalid-cursor" },
);
