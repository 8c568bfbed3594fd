import type { AlertKind } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { formatAbsolute, formatAgo, formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { Severity } from "@/lib/states/severity.pure";

/**
 * One message to a channel, as it waits to be sent. `fired`: something fires that the channel does not know; `repeated`:
 * it still fires and nobody has acknowledged it. `ended`, `stands-still`: of a redrive or a bulk operation.
 */
export type AlertMessage = {
  event: "fired" | "repeated" | "acknowledged" | "resolved" | "digest" | "test" | "ended" | "stands-still";
  /** The same from the first message of an open record to the one that closes it. */
  recordKey: string;
  rule: string;
  kind: AlertKind | null;
  severity: Severity;
  sentence: string;
  /** ISO 8601; the first of the alerts. */
  since: string;
  /** When the message was made, ISO 8601. */
  at: string;
  /** Alerts of the rule that fire, of which the first few are listed. */
  firing: number;
  alerts: MessageAlert[];
  /** The page that shows what this is about. */
  url: string;
  runbookUrl: string | null;
};

export type MessageAlert = {
  id: string;
  sentence: string;
  source: string | null;
  since: string;
  value: number | null;
  usual: number | null;
  acknowledgedBy: string | null;
  url: string;
  samples: MessageSample[];
  groups: { sentence: string; count: number; url: string }[];
};
export type MessageSample = {
  eventId: string;
  errorCode: string;
  text: string;
  url: string;
  /** To its trace and its log. */
  links: { label: string; url: string }[];
};

export const LISTED_MAX = 5;

const EVENT_WORDS: Record<AlertMessage["event"], string> = {
  fired: "",
  repeated: "Still: ",
  acknowledged: "Acknowledged: ",
  resolved: "Resolved: ",
  digest: "",
  test: "Test: ",
  ended: "",
  "stands-still": "",
};

/** The sentence with what happened to it. */
export function headline({ event, sentence }: AlertMessage): string {
  return `${EVENT_WORDS[event]}${sentence}`;
}

/** `since 2026-11-22 02:44:59 UTC, 12m ago` */
export function sinceWords({ since, at }: AlertMessage): string {
  const sinceMs = Date.parse(since);
  return `since ${formatAbsolute(sinceMs, "utc")}, ${formatAgo(sinceMs, Date.parse(at))}`;
}

/** It closes what a receiver has open under its key, and opens nothing. */
export function closesRecord({ event }: AlertMessage): boolean {
  return event === "resolved" || event === "ended";
}

/** What a channel shows of each alert: its own sentence where there are several. */
export function listed(message: AlertMessage): MessageAlert[] {
  return message.event === "resolved" ? [] : message.alerts.slice(0, LISTED_MAX);
}

/** `and 12 more`; empty when all are listed. */
export function moreWords(message: AlertMessage): string {
  const more = message.firing - listed(message).length;
  return message.event === "resolved" || more <= 0 ? "" : `and ${formatNumber(more)} more`;
}

/** The message in lines of plain text, for channels without any structure of their own. */
export function textLines(message: AlertMessage): string[] {
  const lines = [headline(message), `${message.severity}, rule "${message.rule}", ${sinceWords(message)}`];
  const alerts = listed(message);
  for (const alert of alerts) {
    lines.push("");
    if (alerts.length > 1) lines.push(`- ${alert.sentence}`, `  ${alert.url}`);
    for (const group of alert.groups)
      lines.push(`  ${plural(group.count, "event")}: ${group.sentence}`, `  ${group.url}`);
    for (const sample of alert.samples) {
      lines.push(`  ${sample.errorCode} ${sample.eventId}: ${sample.text}`, `  ${sample.url}`);
      for (const { label, url } of sample.links) lines.push(`  ${label}: ${url}`);
    }
  }
  if (moreWords(message)) lines.push("", moreWords(message));
  lines.push("", message.url);
  if (message.runbookUrl !== null) lines.push(`What to do: ${message.runbookUrl}`);
  return lines;
}

/** At most `max` characters, cut between characters. */
export function cutText(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

/** `line` with `more` behind it, or alone where both are longer than `max`: a link that is cut leads nowhere. */
export function withRoom(line: string, more: string, max: number): string {
  return [...line, ...more].length <= max ? line + more : line;
}
