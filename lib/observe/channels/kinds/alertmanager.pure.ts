import { type AlertMessage, closesRecord, textLines } from "@/lib/observe/channels/alert-message.pure";
import { channelKind, credentials } from "@/lib/observe/channels/kinds/channel-kind.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** Alertmanager resolves an alert that nobody sends again; its alerts therefore last three times as long. */
const REPEAT_MS = 300_000;
const KEEP_MS = 3 * REPEAT_MS;

export const ALERTMANAGER = channelKind({
  kind: "alertmanager",
  name: "Alertmanager",
  settings: {
    url: { input: "address", label: "address", placeholder: "http://alertmanager:9093" },
    ...credentials("ALERTMANAGER"),
  },
  oauth: true,
  keepsRecords: true,
  repeatMs: REPEAT_MS,
  post: (message, { username, password }, { resolve }) => ({
    json: JSON.stringify(alertmanagerBody(message)),
    path: "/api/v2/alerts",
    ...(username === undefined
      ? {}
      : { basic: { username, password: password === undefined ? "" : resolve(password) } }),
  }),
});

/** One alert per rule with constant labels. https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml */
function alertmanagerBody(message: AlertMessage): object[] {
  const labels = {
    alertname: message.rule,
    severity: message.severity,
    kind: message.kind ?? message.event,
    job: "parkade",
    record: message.recordKey,
  };
  const ends = closesRecord(message) ? message.at : iso(Date.parse(message.at) + KEEP_MS);
  return [
    {
      labels,
      annotations: {
        summary: message.sentence,
        description: textLines(message).join("\n"),
        ...(message.runbookUrl === null ? {} : { runbook_url: message.runbookUrl }),
      },
      startsAt: message.since,
      endsAt: ends,
      generatorURL: message.url,
    },
  ];
}
