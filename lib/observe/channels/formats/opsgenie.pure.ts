import type { Severity } from "@/lib/observe/alerts/rules/alert-rule.pure";
import { type AlertMessage, closesRecord, cutText, textLines } from "@/lib/observe/channels/alert-message.pure";

/** https://docs.opsgenie.com/docs/alert-api: the longest texts. */
const MESSAGE_MAX = 130;
const DESCRIPTION_MAX = 15_000;

const PRIORITIES: Record<Severity, string> = { critical: "P1", warning: "P3", info: "P5" };

/** A request of the Alert API. The alias is the key: a second alert with it counts up, and close ends it. */
export function opsgenieRequest(message: AlertMessage): { path: string; body: object } {
  const alias = encodeURIComponent(message.recordKey);
  const note = cutText(textLines(message).join("\n"), DESCRIPTION_MAX);
  if (closesRecord(message)) {
    return { path: `/v2/alerts/${alias}/close?identifierType=alias`, body: { source: "Parkade", note } };
  }
  if (message.event === "acknowledged") {
    return { path: `/v2/alerts/${alias}/acknowledge?identifierType=alias`, body: { source: "Parkade", note } };
  }
  const sources = [...new Set(message.alerts.flatMap(({ source }) => source ?? []))];
  return {
    path: "/v2/alerts",
    body: {
      message: cutText(message.event === "test" ? `Test: ${message.sentence}` : message.sentence, MESSAGE_MAX),
      alias: message.recordKey,
      description: note,
      source: "Parkade",
      entity: sources.length === 1 ? sources[0] : "parkade",
      priority: PRIORITIES[message.severity],
      tags: [message.severity, ...(message.kind === null ? [] : [message.kind])],
      details: { rule: message.rule, url: message.url, firing: String(message.firing) },
    },
  };
}
