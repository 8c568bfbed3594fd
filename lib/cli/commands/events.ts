import { changeEvents } from "@/lib/cli/change";
import {
  allOption,
  type Command,
  detachOption,
  idArgument,
  idempotencyKeyOption,
  idsArgument,
  type Option,
  operationOption,
  pagingOptions,
  requiredReasonOption,
  revealReasonOption,
  SELECTION,
  SIGNING_SECRET,
  yesOption,
} from "@/lib/cli/command";
import { park } from "@/lib/cli/park";
import { edit, listRevisions, restore } from "@/lib/cli/revise";
import { exportEvents, search } from "@/lib/cli/search";
import { show } from "@/lib/cli/show";
import { tail } from "@/lib/cli/tail";
import { EVENT_SORTS } from "@/lib/events/list/event-sort.pure";

const sourceOption: Option = {
  name: "source",
  value: "name",
  names: "sources",
  text: "The source, when several have an event of this id",
};
const baseOption = { name: "base", value: "n", number: "whole", required: true } as const;

export const EVENT_COMMANDS: readonly Command[] = [
  {
    name: "search",
    summary: "List events, newest first",
    filter: true,
    options: [
      ...pagingOptions,
      {
        name: "sort",
        value: "order",
        values: EVENT_SORTS,
        text: "By the time of the last failure; events without one come last",
      },
      {
        name: "count",
        text: "Only count the events, in all and by state; an indented line is a part of the state above it",
      },
    ],
    details:
      "A table as wide as the terminal. Into a pipe: columns with tabs between them, whole values and the event's id first.",
    examples: [
      "parkade search --source orders --errorCode TIMEOUT --from -24h",
      "parkade search --source orders --sort failedOldest",
      "parkade search --count",
    ],
    run: search,
  },
  {
    name: "show",
    summary: "Show one event: error, headers, payload, history",
    arguments: [idArgument],
    options: [
      sourceOption,
      { name: "payload", text: "Only the payload, byte for byte" },
      {
        name: "revision",
        value: "n",
        number: "whole",
        text: "With --payload: of this revision; default: the current one",
      },
      revealReasonOption,
    ],
    details: "The id is the event's own, or the producer's eventId.",
    examples: ["parkade show order-77-v3", `parkade show order-77-v3 --payload --reason "to try it here" > body.json`],
    run: show,
  },
  {
    name: "revisions",
    summary: "List the revisions of one event, newest first",
    arguments: [idArgument],
    options: [sourceOption],
    details: "What arrived, what bounces brought, what edits and mends made of it, and how often each was sent.",
    examples: ["parkade revisions order-77-v3"],
    run: listRevisions,
  },
  {
    name: "edit",
    summary: "Give one event another payload",
    arguments: [idArgument],
    options: [
      { name: "file", value: "name", required: true, text: "The file with the payload, stored byte for byte" },
      { ...baseOption, text: "The revision that was edited; refused when it is not the current one any more" },
      { name: "content-type", value: "type", text: "Default: as it is" },
      { name: "breaking", text: "Also store a payload that the dry run would refuse" },
      requiredReasonOption,
      sourceOption,
    ],
    details:
      "Adds a revision, which the next redrive sends; what arrived stays. An event in a redrive is refused, and so is a payload that is not valid JSON or breaks its JSON Schema, unless --breaking is given.",
    examples: ['parkade edit order-77-v3 --file body.json --base 1 --reason "the field was renamed"'],
    run: edit,
  },
  {
    name: "restore",
    summary: "Make another revision of one event the current one",
    arguments: [idArgument],
    options: [
      { name: "revision", value: "n", number: "whole", required: true, text: "The revision to make current" },
      { ...baseOption, text: "The one that is current now" },
      requiredReasonOption,
      sourceOption,
    ],
    details: "No bytes are copied: a later redrive sends the revision under the key that it had.",
    examples: ['parkade restore order-77-v3 --revision 1 --base 2 --reason "it was not the field"'],
    run: restore,
  },
  {
    name: "ignore",
    summary: "Ignore events: they are no longer redriven",
    arguments: [idsArgument],
    filter: true,
    options: [requiredReasonOption, allOption, yesOption, detachOption, idempotencyKeyOption],
    details: `${SELECTION} More than 2,000 events are changed by a worker, which the command follows.`,
    examples: ['parkade ignore --errorCode VALIDATION_ERROR --reason "fixed at the producer"'],
    run: (call) => changeEvents(call, "ignore"),
  },
  {
    name: "release",
    summary: "Release ignored events",
    arguments: [idsArgument],
    filter: true,
    options: [
      requiredReasonOption,
      operationOption,
      {
        name: "keep-limits",
        text: "Keep the counts of failures and redrives and the cooldown; otherwise they are reset",
      },
      allOption,
      yesOption,
      detachOption,
      idempotencyKeyOption,
    ],
    details: `${SELECTION} More than 2,000 events are changed by a worker, which the command follows.`,
    examples: ['parkade release --eventId order-77-v3 --reason "it is needed after all"'],
    run: (call) => changeEvents(call, "release"),
  },
  {
    name: "confirm",
    summary: "Confirm that the target has processed events",
    arguments: [idsArgument],
    filter: true,
    options: [requiredReasonOption, allOption, yesOption, detachOption, idempotencyKeyOption],
    details: `${SELECTION} An event that was sent is confirmed at once, without waiting for the end of its quiet window; one that is still parked reached its consumer in another way, and is closed. Neither is sent again. One that bounces later is parked again. More than 2,000 events are changed by a worker, which the command follows.`,
    examples: ['parkade confirm order-77-v3 --reason "the target has it: ticket 311"'],
    run: (call) => changeEvents(call, "confirm"),
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
      "A line of JSON for each event, or one JSON document, in the forms of POST /api/v1/events. An event that is parked already is counted and not stored again, so the same input can be parked twice. Events of an export come back with their id, status and history. Exit code 4: some events were refused; standard error names their lines.",
    examples: [
      "parkade park --source orders < events.ndjson",
      `${SIGNING_SECRET}="$SECRET" parkade park --source billing < event.json`,
    ],
    run: park,
  },
  {
    name: "tail",
    summary: "Print events as they are parked",
    filter: true,
    options: [
      { name: "lines", value: "n", number: "whole", text: "Number of earlier events to print first; default 10" },
    ],
    details:
      "Oldest first, each event once, until Ctrl-C; a bounced event is not new. With --json one event a line. While Parkade does not answer it is asked again; events of that time are printed afterwards. It takes no --from and no --to: `search` and `export` read what is past.",
    examples: ["parkade tail --errorCode TIMEOUT", "parkade tail --json | jq -r .eventId"],
    run: tail,
  },
  {
    name: "export",
    summary: "Write all events that match to standard output",
    filter: true,
    options: [
      { name: "format", value: "format", values: ["ndjson", "csv"], text: "Default: ndjson" },
      { name: "bom", text: "Begin CSV with a byte order mark, which Excel needs to read UTF-8" },
      revealReasonOption,
    ],
    details:
      "As a stream: any number of events, read only as fast as they are written. A line of NDJSON is an event whole: payload, headers, origin, error, revisions, bounces and status, nothing masked: it needs a --reason. `parkade park` takes it again, in this or another Parkade. CSV has the columns of the list, masked.",
    examples: [
      `parkade export --source orders --reason "a copy" > orders.ndjson`,
      `parkade export --source orders --reason "it moves" | parkade park --url https://other.example`,
      "parkade export --format csv > events.csv",
    ],
    run: exportEvents,
  },
];
