import {
  type AlertMessage,
  closesRecord,
  cutText,
  listed,
  type MessageSample,
  moreWords,
} from "@/lib/observe/channels/alert-message.pure";
import { BY_NAME, channelKind, envName } from "@/lib/observe/channels/kinds/channel-kind.pure";

const ADDRESS = "https://events.pagerduty.com/v2/enqueue";

export const PAGERDUTY = channelKind({
  kind: "pagerduty",
  name: "PagerDuty",
  settings: {
    routingKey: { input: "secret", label: "integration key", placeholder: envName("PAGERDUTY"), hint: BY_NAME },
    url: { input: "address", label: "address", placeholder: ADDRESS, initial: ADDRESS, optional: true },
  },
  keepsRecords: true,
  knowsAcknowledged: true,
  post: (message, { routingKey }, { resolve }) => ({
    json: JSON.stringify(pagerdutyBody(message, resolve(routingKey))),
  }),
});

/** https://developer.pagerduty.com/docs/events-api-v2-overview: the longest summary. */
const SUMMARY_MAX = 1_024;

const ACTIONS = {
  fired: "trigger",
  repeated: "trigger",
  acknowledged: "acknowledge",
  resolved: "resolve",
  digest: "trigger",
  test: "trigger",
  ended: "trigger",
  "stands-still": "trigger",
} as const satisfies Record<AlertMessage["event"], string>;

const actionOf = (message: AlertMessage) => (closesRecord(message) ? "resolve" : ACTIONS[message.event]);

/** An event of the Events API v2. A repeat with the same `dedup_key` changes the open incident and makes no other. */
function pagerdutyBody(message: AlertMessage, routingKey: string): object {
  const { alerts, severity, rule, kind, url, runbookUrl } = message;
  const event = { routing_key: routingKey, event_action: actionOf(message), dedup_key: message.recordKey };
  if (event.event_action !== "trigger") return event;
  const sources = [...new Set(alerts.flatMap(({ source }) => source ?? []))];
  return {
    ...event,
    client: "Parkade",
    client_url: url,
    links: [
      { href: url, text: "Open in Parkade" },
      ...(runbookUrl === null ? [] : [{ href: runbookUrl, text: "What to do" }]),
      // Texts of the details are not shown as links.
      ...(alerts[0]?.samples[0] === undefined ? [] : sampleLinks(alerts[0].samples[0])),
    ],
    payload: {
      summary: cutText(message.event === "test" ? `Test: ${message.sentence}` : message.sentence, SUMMARY_MAX),
      source: sources.length === 1 ? sources[0] : "parkade",
      severity,
      timestamp: message.since,
      group: rule,
      class: kind ?? message.event,
      custom_details: {
        firing: message.firing,
        alerts: listed(message).map(({ sentence, url: href, samples, groups }) => ({
          sentence,
          url: href,
          samples,
          groups,
        })),
        ...(moreWords(message) ? { more: moreWords(message) } : {}),
      },
    },
  };
}

function sampleLinks({ eventId, links }: MessageSample): { href: string; text: string }[] {
  return links.map(({ label, url }) => ({ href: url, text: `${label} of ${cutText(eventId, 60)}` }));
}
