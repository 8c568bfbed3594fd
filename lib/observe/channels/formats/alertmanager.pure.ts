import { type AlertMessage, closesRecord, textLines } from "@/lib/observe/channels/alert-message.pure";
import { ALERTMANAGER_KEEP_MS } from "@/lib/observe/channels/notices.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";

/** One alert per rule with constant labels. https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml */
export function alertmanagerBody(message: AlertMessage): object[] {
  const labels = {
    alertname: message.rule,
    severity: message.severity,
    kind: message.kind ?? message.event,
    job: "parkade",
    record: message.recordKey,
  };
  const ends = closesRecord(message) ? message.at : iso(Date.parse(message.at) + ALERTMANAGER_KEEP_MS);
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
