import * as z from "zod/mini";
import { ALERT_KINDS } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import {
  countOut,
  described,
  idOut,
  listText,
  named,
  nullableNumber,
  nullableText,
  nullableTime,
  pageOut,
  timeOut,
  uuidText,
} from "@/lib/platform/api/schemas.shapes";
import { isStorableText, UNSTORABLE_TEXT } from "@/lib/platform/plain/storable.pure";
import { madeLinkSchema } from "@/lib/sources/links/links.shapes";
import { SEVERITIES } from "@/lib/states/severity.pure";

const IDS_MAX = 1_000;
const noteSchema = z
  .string("must be text")
  .check(z.maxLength(2_000, "at most 2,000 characters"), z.refine(isStorableText, UNSTORABLE_TEXT));

const alertEvidenceSchema = z.object({
  /** The newest events of the groups, at most three. */
  samples: z.array(
    z.object({
      id: idOut,
      eventId: z.string(),
      source: z.string(),
      errorCode: z.string(),
      errorText: nullableText,
      firstSeen: timeOut,
      /** To its trace and its log, at most three: as they were when it fired. */
      links: z.array(madeLinkSchema),
    }),
  ),
  /** The groups with the most arrivals, at most three. */
  groups: z.array(z.object({ fingerprint: z.string(), errorCode: z.string(), pattern: z.string(), count: countOut })),
});
export type AlertEvidence = z.infer<typeof alertEvidenceSchema>;

/** Evidence as it is stored: of an alert that has not fired it is empty, and that of an earlier version has no links. */
export function evidenceOut(stored: AlertEvidence | Record<never, never>): AlertEvidence {
  if (!("samples" in stored)) return { samples: [], groups: [] };
  return { ...stored, samples: stored.samples.map((sample) => ({ ...sample, links: sample.links ?? [] })) };
}

export const alertSchema = named(
  "Alert",
  z.object({
    id: idOut,
    rule: z.object({ id: idOut, name: z.string() }),
    kind: z.enum(ALERT_KINDS),
    severity: z.enum(SEVERITIES),
    /** `pending`: the condition holds, and not yet for as long as the rule says. */
    state: z.enum(["pending", "firing", "resolved"]),
    /** null = of every source. */
    source: nullableText,
    subject: z.object({
      errorCode: z.optional(z.string()),
      fingerprint: z.optional(z.string()),
      target: z.optional(z.string()),
      redriveId: z.optional(idOut),
    }),
    sentence: z.string(),
    value: nullableNumber,
    threshold: nullableNumber,
    usual: nullableNumber,
    since: timeOut,
    firedAt: nullableTime,
    /** Nobody is notified while a maintenance window of its source lasts. */
    maintenanceUntil: nullableTime,
    /** Nobody is notified while its group is muted: until then, or until so many more of it have arrived. */
    mute: z.nullable(
      z.object({ id: idOut, until: nullableTime, untilMore: z.nullable(countOut), createdBy: z.string() }),
    ),
    acknowledgedAt: nullableTime,
    acknowledgedBy: nullableText,
    acknowledgeNote: nullableText,
    resolvedAt: nullableTime,
    resolvedBecause: z.nullable(z.enum(["cleared", "rule-changed", "rule-removed", "rule-off"])),
    runbookUrl: z.string(),
    evidence: alertEvidenceSchema,
  }),
);
export type AlertOut = z.infer<typeof alertSchema>;
export const alertListSchema = pageOut(alertSchema);
export type AlertList = z.infer<typeof alertListSchema>;

const ALERT_STATES = ["pending", "firing", "resolved"] as const;

export const alertsQuery = idPageQuery({
  state: described(
    z.optional(listText(ALERT_STATES)),
    "Alerts in these states, comma-separated; absent = firing and resolved",
  ),
  source: described(z.optional(z.string()), "Alerts of this source"),
  rule: described(z.optional(uuidText("must be the id of a rule")), "Alerts of this rule"),
});

export const alertAcknowledgeSchema = named(
  "AlertAcknowledge",
  z.strictObject({
    ids: z
      .array(uuidText("must be an alert's id"))
      .check(z.minLength(1, "name at least one alert"), z.maxLength(IDS_MAX, `at most ${IDS_MAX} alerts at once`)),
    /** A note for your colleagues: who looks at it, and where. */
    note: z.optional(noteSchema),
    /** false takes an acknowledgement back: the alerts are sent again. */
    acknowledged: z._default(z.boolean("must be true or false"), true),
  }),
  { ids: ["019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30"], note: "looking at the stock service" },
);
export type AlertAcknowledge = z.infer<typeof alertAcknowledgeSchema>;

export const acknowledgedSchema = named(
  "AlertsAcknowledged",
  z.object({
    changed: countOut,
    /** They fire no more, or were so before. */
    unchanged: countOut,
  }),
);
