import { type Command, pagingOptions, SIGNING_SECRET } from "@/lib/cli/command";
import { AUDIT_SUBJECTS } from "@/lib/guard/audit/audit-entry.pure";

export const RECORD_COMMANDS = [
  {
    name: "redrives",
    summary: "List the redrives, newest first",
    options: [
      { name: "state", value: "states", text: "States with commas between them, or live: not yet final; default: all" },
      {
        name: "waitsFor",
        value: "what",
        text: "Of those that are not started: approval, time or breaker, with commas between them, or any",
      },
      ...pagingOptions,
    ],
    details:
      "Shows the counts of each redrive, and why one does not move. `parkade follow` shows one of them as it goes on.",
    examples: ["parkade redrives", "parkade redrives --state live"],
  },
  {
    name: "audit",
    summary: "List who did what, newest first",
    options: [
      { name: "by", value: "name", text: "Who did it" },
      {
        name: "action",
        value: "action",
        text: "An action such as event.edited, or the part before its dot: event stands for every event.*",
      },
      { name: "subjectKind", value: "kind", values: AUDIT_SUBJECTS, text: "Kind of the thing that was changed" },
      { name: "subjectId", value: "id", text: "Its id or name" },
      { name: "eventId", value: "id", text: "An event's id, or the producer's id of it" },
      { name: "redriveId", value: "id", text: "Of a redrive" },
      { name: "operationId", value: "id", text: "Of a bulk operation: its changes and its cancel" },
      { name: "from", value: "time", text: "At or after: ISO 8601, epoch milliseconds, or like -24h" },
      { name: "to", value: "time", text: "Before, in the same forms" },
      ...pagingOptions,
    ],
    details:
      "An entry must match every option that is given. --by is who did it; --actor, as everywhere, is your own name. --json shows also what was before and after.",
    examples: ["parkade audit --from -24h --action control", "parkade audit --eventId order-77-v3"],
  },
  {
    name: "park",
    summary: "Park events from standard input",
    options: [
      { name: "source", value: "name", names: "sources", text: "The source of events that name none" },
      {
        name: "signature",
        value: "scheme",
        values: ["standard-webhooks", "hmac"],
        text: `How ${SIGNING_SECRET} signs; default: standard-webhooks`,
      },
      { name: "signature-header", value: "name", text: "Of hmac; default: x-signature" },
      { name: "signature-prefix", value: "text", text: "Of hmac: stands before the signature, such as sha256=" },
      { name: "signature-encoding", value: "encoding", values: ["hex", "base64"], text: "Of hmac; default: hex" },
      {
        name: "signature-timestamp",
        value: "name",
        text: "Of hmac: the header of the time, when the source asks for it",
      },
    ],
    details:
      "A line of JSON for each event, or one JSON document, in the forms of POST /api/v1/events. An event that is parked already is counted and not stored again, so the same input can be parked twice. Exit code 4: some events were refused; standard error names their lines.",
    examples: [
      "parkade park --source orders < events.ndjson",
      `${SIGNING_SECRET}="$SECRET" parkade park --source billing < event.json`,
    ],
  },
  {
    name: "tail",
    summary: "Print events as they are parked",
    filter: true,
    options: [
      { name: "lines", value: "n", number: "whole", text: "Number of earlier events to begin with; default 10" },
    ],
    details:
      "Oldest first, each event once, until Ctrl-C; an event that comes back after a redrive is no new one. With --json one event a line. While Parkade does not answer it is asked again; events of that time are printed afterwards. It takes no --from and no --to: `search` and `export` read what is past.",
    examples: ["parkade tail --errorCode TIMEOUT", "parkade tail --json | jq -r .eventId"],
  },
  {
    name: "export",
    summary: "Write all events that match to standard output",
    filter: true,
    options: [{ name: "format", value: "format", values: ["ndjson", "csv"], text: "Default: ndjson" }],
    details: "As a stream: any number of events, read only as fast as they are written.",
    examples: ["parkade export --source orders > orders.ndjson", "parkade export --format csv > events.csv"],
  },
] as const satisfies readonly Command[];
