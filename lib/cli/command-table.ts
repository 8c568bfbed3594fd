import { FILTER_STATUSES } from "@/lib/events/filter/filter-params.shapes";
import { AUDIT_SUBJECTS } from "@/lib/guard/audit/audit-entry.pure";
import { ADMISSION_MARKS } from "@/lib/intake/admission/admission.pure";
import { EARLIER_CHOICES } from "@/lib/order/order-gate.pure";
import { CONFIRMABLE_REFUSALS } from "@/lib/redrive/gate/refusal.pure";
import { SOURCE_MODES } from "@/lib/sources/source-mode.pure";

/** The one description of the command line: parser, help, completion and docs/cli.md are made of it. */

export type Option = {
  /** Without the dashes. */
  name: string;
  short?: string;
  /** What stands for the value; absent = the option takes none. */
  value?: string;
  /** The only values it takes. */
  values?: readonly string[];
  /** Numbers above 0: `whole` ones, or any. */
  number?: "whole" | "any";
  many?: true;
  required?: true;
  /** Completed with these names, as Parkade has them. */
  names?: Names;
  text: string;
};

export type Names = "sources" | "targets";

export type Argument = { name: string; values?: readonly string[]; names?: Names; optional?: true; many?: true };

export type Command = {
  name: CommandName;
  summary: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** It takes the options of the filter. */
  filter?: true;
  details: string;
  examples: readonly string[];
};

export const COMMAND_NAMES = [
  "serve",
  "search",
  "show",
  "revisions",
  "edit",
  "restore",
  "mend",
  "undo-mend",
  "recipe list",
  "recipe save",
  "recipe remove",
  "redrive",
  "verify",
  "ignore",
  "release",
  "follow",
  "pause",
  "resume",
  "cancel",
  "undo",
  "start",
  "approvals",
  "approve",
  "reject",
  "pace",
  "held show",
  "held skip",
  "held undo",
  "held release",
  "stop",
  "go",
  "control list",
  "control blacklist",
  "control cooldown",
  "control whitelist",
  "control lift",
  "redrives",
  "audit",
  "park",
  "tail",
  "export",
  "source list",
  "source add",
  "source probe",
  "source pause",
  "source drain",
  "source stop",
  "source resume",
  "schema list",
  "schema infer",
  "schema set",
  "target list",
  "target add",
  "target remove",
  "redrive-rule list",
  "redrive-rule try",
  "redrive-rule on",
  "redrive-rule off",
  "completion",
] as const;
export type CommandName = (typeof COMMAND_NAMES)[number];

/** More events than this are changed only after the person has typed their number, or with --yes. */
export const UNASKED_MAX = 10;

export const EXIT = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  partly: 4,
  interrupted: 130,
} as const;

export const EXIT_TEXTS: Record<keyof typeof EXIT, string> = {
  done: "All was done as asked.",
  refused: "Parkade refused it, or it failed; the error names the code, the field and the fix.",
  usage: "The command line is wrong, or a change needs --yes; nothing was asked of Parkade, or nothing was changed.",
  unreachable: "Parkade did not answer.",
  partly: "It ended, and not for every event: some failed, were refused or cancelled; or the redrive is paused.",
  interrupted: "Ctrl-C.",
};

export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "url", value: "url", text: "Parkade's address, in place of PARKADE_URL" },
  { name: "actor", value: "name", text: "Name recorded in the audit, in place of PARKADE_ACTOR" },
  { name: "json", text: "Answers as JSON, in the shapes of the API; errors as a JSON line on standard error" },
  { name: "help", short: "h", text: "Show the help of the command" },
  { name: "version", text: "Show the version" },
];

/** The variable with the secret that `park` signs with: on a command line others on the machine would see it. */
export const SIGNING_SECRET = "PARKADE_SIGNING_SECRET";

export const ENVIRONMENT: readonly { name: string; text: string }[] = [
  { name: "PARKADE_URL", text: "Parkade's address; default http://127.0.0.1:3000" },
  { name: "PARKADE_ACTOR", text: "Name recorded in the audit; default: the name of the operating system's user" },
  {
    name: SIGNING_SECRET,
    text: "park: the secret of a source that takes signed requests only; with it requests are signed",
  },
  { name: "PARKADE_DATA_DIR", text: "serve: the folder of the data; default .parkade" },
  { name: "PORT", text: "serve: the port; default 3000. serve takes every other variable of `npm start`, too" },
];

/** `tag.<key>` is read for any key. */
export const FILTER_OPTIONS: readonly Option[] = [
  { name: "source", value: "name", many: true, names: "sources", text: "Name of the source" },
  { name: "eventId", value: "id", many: true, text: "The producer's id of the event" },
  { name: "aggregateId", value: "id", many: true, text: "Id of the aggregate" },
  { name: "aggregateType", value: "type", many: true, text: "Type of the aggregate" },
  { name: "eventType", value: "type", many: true, text: "Type of the event" },
  { name: "errorCode", value: "code", many: true, text: "Error code, such as TIMEOUT" },
  { name: "fingerprint", value: "hash", many: true, text: "Fingerprint of the group" },
  { name: "status", value: "status", values: FILTER_STATUSES, many: true, text: "State" },
  { name: "traceId", value: "id", many: true, text: "Id of the trace" },
  { name: "admission", value: "mark", values: ADMISSION_MARKS, many: true, text: "Mark that it got when it arrived" },
  { name: "from", value: "time", text: "First parked at or after: ISO 8601, epoch milliseconds, or like -24h" },
  { name: "to", value: "time", text: "First parked before, in the same forms" },
  { name: "q", value: "words", text: "Words of the error; all must occur" },
  { name: "tag.<key>", value: "value", many: true, text: "A tag of the event, such as --tag.orderId=77" },
];

export const FILTER_RULE =
  "The names are those of the API. All names must match; a name that is given several times matches any of its values.";

const ids: Argument = { name: "id", many: true, optional: true };
const all: Option = { name: "all", text: "Every event, in place of ids or a filter" };
const yes: Option = {
  name: "yes",
  short: "y",
  text: `Do not ask before more than ${UNASKED_MAX} events or controls are changed`,
};
const detach: Option = { name: "detach", text: "Return when it has begun, and do not follow it" };
const reason: Option = { name: "reason", value: "text", text: "Why; kept in the audit for ever" };
const neededReason: Option = { ...reason, required: true };
const digest: Option = {
  name: "digest",
  value: "digest",
  text: "Of what was looked at, from `parkade approvals --json`; default: what is shown before the question",
};
const key: Option = {
  name: "idempotency-key",
  value: "key",
  text: "A request that is repeated with this key within 24 hours does nothing new; default: a random key",
};
const lane: Option = { name: "lane", value: "lane", values: ["main", "slow"], text: "Default: slow" };
const target: Option = {
  name: "target",
  value: "name",
  names: "targets",
  text: "Target to send to; default: the target of each event's source on the lane",
};
const stoppedTarget: Option = { ...target, text: "Only the sends to this target; default: all sends" };
const rate: Option = { name: "rate", value: "n", number: "any", text: "Maximum events per second" };
const preview: Option = { name: "preview", text: "Only say what would be sent and what would be refused" };
const despite: Option = {
  name: "despite",
  value: "refusal",
  values: CONFIRMABLE_REFUSALS,
  many: true,
  text: "Send also events that were marked so when they arrived",
};
const ofSource: Option = {
  name: "source",
  value: "name",
  names: "sources",
  text: "The source, when several have an event of this id",
};
const recipe = { name: "recipe", value: "file" } as const;
const base = { name: "base", value: "n", number: "whole", required: true } as const;
const operation: Option = {
  name: "operation",
  value: "id",
  text: "What a bulk operation has changed, in place of ids or a filter",
};
const earlier: Option = {
  name: "earlier",
  value: "choice",
  values: EARLIER_CHOICES,
  text: "Earlier versions that are parked and not selected: wait for them, take them along, or pass them",
};
const redriveOptions = [neededReason, lane, target, rate, operation, earlier, despite, preview, all, detach, key];
const name: Argument = { name: "name", names: "sources" };
const sourceOf: Argument = { name: "source", names: "sources" };
const eventType: Option = {
  name: "type",
  value: "type",
  text: "The event type; default: all types without a schema of their own",
};
const heldId: Argument = { name: "id" };
const redriveId: Argument = { name: "id" };

const paging: readonly Option[] = [
  { name: "limit", value: "n", number: "whole", text: "Number of entries to list at most; default 50" },
  { name: "cursor", value: "cursor", text: "Go on where an earlier list ended: its nextCursor" },
];
const until: Option = { name: "until", value: "time", text: "It ends at this time: ISO 8601 with an offset" };
const controlScope: readonly Option[] = [
  { name: "eventId", value: "id", text: "The producer's id of an event" },
  { name: "aggregateId", value: "id", text: "Id of an aggregate" },
  { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
  { name: "errorCode", value: "code", text: "Error code" },
  { name: "source", value: "name", names: "sources", text: "A whole source; beside another name, only in this source" },
];
const CONTROL_SCOPE =
  "It is over one event, one aggregate, one error code or one source, and holds for the events parked now and later.";
const SELECTION =
  "The events are named by their ids as `search` lists them or as their producer has them, by a filter, or with --all.";
const FOLLOWED =
  "The command follows it to its end and prints the counts. Ctrl-C stops following, not the redrive; `parkade follow` shows it again and `parkade cancel` stops it.";

export const COMMANDS: readonly Command[] = [
  {
    name: "serve",
    summary: "Start Parkade on this machine",
    options: [
      { name: "port", value: "n", text: "In place of PORT" },
      { name: "data-dir", value: "folder", text: "In place of PARKADE_DATA_DIR" },
      { name: "demo", text: "Also load dead letters to try it with, and a flaky service that takes them" },
    ],
    details:
      "Starts the embedded PostgreSQL (or uses DATABASE_URL), migrates it, and starts console and worker, which were built before. It needs the package parkade-server beside parkade. Ctrl-C or SIGTERM stops all of it in order.",
    examples: ["parkade serve", "parkade serve --port 8080 --data-dir /var/lib/parkade"],
  },
  {
    name: "search",
    summary: "List events, newest first",
    filter: true,
    options: [
      ...paging,
      {
        name: "count",
        text: "Only count the events, in all and by state; an indented line is a part of the state above it",
      },
    ],
    details:
      "A table as wide as the terminal. Into a pipe: columns with tabs between them, whole values and the event's id first.",
    examples: ["parkade search --source orders --errorCode TIMEOUT --from -24h", "parkade search --count"],
  },
  {
    name: "show",
    summary: "Show one event: error, headers, payload, history",
    arguments: [{ name: "id" }],
    options: [
      ofSource,
      { name: "payload", text: "Only the payload, byte for byte" },
      {
        name: "revision",
        value: "n",
        number: "whole",
        text: "With --payload: of this revision; default: the current one",
      },
    ],
    details: "The id is the event's own, or the producer's eventId.",
    examples: ["parkade show order-77-v3", "parkade show order-77-v3 --payload > body.json"],
  },
  {
    name: "revisions",
    summary: "List the revisions of one event, newest first",
    arguments: [{ name: "id" }],
    options: [ofSource],
    details: "What arrived, what bounces brought, what edits and mends made of it, and how often each was sent.",
    examples: ["parkade revisions order-77-v3"],
  },
  {
    name: "edit",
    summary: "Give one event another payload",
    arguments: [{ name: "id" }],
    options: [
      { name: "file", value: "name", required: true, text: "The file with the payload, stored byte for byte" },
      { ...base, text: "The revision that was edited; refused when it is not the current one any more" },
      { name: "content-type", value: "type", text: "Default: as it is" },
      { name: "breaking", text: "Store also a payload that the dry run would refuse" },
      neededReason,
      ofSource,
    ],
    details:
      "Adds a revision, which the next redrive sends; what arrived stays. An event in a redrive is refused, and so is a payload that is not valid JSON or breaks its JSON Schema, unless --breaking is given.",
    examples: ['parkade edit order-77-v3 --file body.json --base 1 --reason "the field was renamed"'],
  },
  {
    name: "restore",
    summary: "Make another revision of one event the current one",
    arguments: [{ name: "id" }],
    options: [
      { name: "revision", value: "n", number: "whole", required: true, text: "The revision to make current" },
      { ...base, text: "The one that is current now" },
      neededReason,
      ofSource,
    ],
    details: "No bytes are copied: a later redrive sends the revision under the key that it had.",
    examples: ['parkade restore order-77-v3 --revision 1 --base 2 --reason "it was not the field"'],
  },
  {
    name: "mend",
    summary: "Revise events by a recipe",
    arguments: [ids],
    filter: true,
    options: [
      { ...recipe, text: "The file with the recipe, as docs/repair.md describes it" },
      { name: "saved", value: "name", text: "A saved recipe, in place of --recipe" },
      { name: "preview", text: "Only count what would change, break its schema or fail, with samples" },
      { name: "breaking", text: "Revise also events that then break their JSON Schema" },
      reason,
      all,
      yes,
      detach,
      key,
    ],
    details: `${SELECTION} What the recipe does is counted first; what would change is asked for before it begins. The events changed are those of its bulk operation: \`undo-mend\`, \`verify --operation\` and \`redrive --operation\` take them.`,
    examples: [
      "parkade mend --source orders --errorCode VALIDATION_ERROR --recipe rename.json --preview",
      'parkade mend --source orders --saved "custId to customerId" --reason "the producer renamed it" --yes',
    ],
  },
  {
    name: "undo-mend",
    summary: "Make the revisions before a mend current again",
    arguments: [{ name: "operation" }],
    options: [neededReason, detach, key],
    details: "Events that were sent, queued or revised since keep what they have, and are counted by reason.",
    examples: ['parkade undo-mend 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60 --reason "it was not the field"'],
  },
  {
    name: "recipe list",
    summary: "List the saved recipes in their newest versions",
    details: "With the kind, the source whose viewers see it, and who saved it.",
    examples: ["parkade recipe list"],
  },
  {
    name: "recipe save",
    summary: "Save a recipe; under a known name as its next version",
    arguments: [{ name: "name" }],
    options: [
      { ...recipe, required: true, text: "The file with the recipe" },
      {
        name: "source",
        value: "name",
        names: "sources",
        text: "Only who sees this source sees it; default: everybody",
      },
    ],
    details: "The recipe is checked before it is saved.",
    examples: ['parkade recipe save "custId to customerId" --recipe rename.json --source orders'],
  },
  {
    name: "recipe remove",
    summary: "Remove a saved recipe in all its versions",
    arguments: [{ name: "name" }],
    details: "What was mended by it stays; the audit keeps its versions.",
    examples: ['parkade recipe remove "custId to customerId"'],
  },
  {
    name: "redrive",
    summary: "Send events back to where they came from",
    arguments: [ids],
    filter: true,
    options: [
      ...redriveOptions,
      { name: "canary", text: "Send 1, then 10, then 100, then everything, and watch what comes back" },
      { name: "at", value: "time", text: "Start at this time (ISO 8601); the events are frozen now and wait" },
      { name: "when-closed", text: "Start when the breakers of its targets close; after a day without that, cancel" },
      yes,
    ],
    details: `${SELECTION} ${FOLLOWED}`,
    examples: [
      'parkade redrive --source orders --errorCode TIMEOUT --reason "stock service is back" --canary',
      'parkade redrive --source orders --from -24h --target orders.audit --reason "the audit missed them"',
      "parkade redrive --aggregateId order-77 --preview",
    ],
  },
  {
    name: "verify",
    summary: "Check events as a redrive would, and send nothing",
    arguments: [ids],
    filter: true,
    options: redriveOptions,
    details: `${SELECTION} ${FOLLOWED}`,
    examples: [
      'parkade verify --source orders --reason "would they go through?"',
      'parkade verify --operation 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60 --earlier include --reason "mended"',
    ],
  },
  {
    name: "ignore",
    summary: "Ignore events: they are not redriven any more",
    arguments: [ids],
    filter: true,
    options: [neededReason, all, yes, detach, key],
    details: `${SELECTION} More than 2,000 events are changed by a worker, which the command follows.`,
    examples: ['parkade ignore --errorCode VALIDATION_ERROR --reason "fixed at the producer"'],
  },
  {
    name: "release",
    summary: "Take events back that were ignored",
    arguments: [ids],
    filter: true,
    options: [
      neededReason,
      operation,
      { name: "keep-limits", text: "Failures, redrives and cooldown stay as they were; otherwise they start anew" },
      all,
      yes,
      detach,
      key,
    ],
    details: `${SELECTION} More than 2,000 events are changed by a worker, which the command follows.`,
    examples: ['parkade release --eventId order-77-v3 --reason "it is needed after all"'],
  },
  {
    name: "follow",
    summary: "Follow a redrive or a bulk operation to its end",
    arguments: [redriveId],
    details: "Ctrl-C stops following, and nothing else. A redrive that is paused ends the command with 4.",
    examples: ["parkade follow 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
  },
  {
    name: "pause",
    summary: "Pause a redrive",
    arguments: [redriveId],
    options: [reason],
    details: "After the answer no further send begins; it says how many are under way.",
    examples: ['parkade pause 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --reason "too many failures"'],
  },
  {
    name: "resume",
    summary: "Go on with a paused redrive",
    arguments: [redriveId],
    options: [reason, rate, { name: "canary", text: "What is left begins with a canary again: 1, then 10, then 100" }],
    details: "It does not follow the redrive: `parkade follow` does.",
    examples: ["parkade resume 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --rate 2 --canary"],
  },
  {
    name: "cancel",
    summary: "Cancel a redrive or a bulk operation",
    arguments: [redriveId],
    options: [reason],
    details: "What was sent or changed by then stays so.",
    examples: ["parkade cancel 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
  },
  {
    name: "undo",
    summary: "Take back a redrive that is still held or being frozen",
    arguments: [redriveId],
    options: [reason],
    details: "It is refused once something may have been sent: `parkade cancel` then gives back what is open.",
    examples: ["parkade undo 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
  },
  {
    name: "start",
    summary: "Start a redrive now that waits for a time or a breaker",
    arguments: [redriveId],
    options: [reason],
    details: "A redrive that also waits for an approval still waits for that.",
    examples: ["parkade start 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
  },
  {
    name: "approvals",
    summary: "List what waits for the approval of a second person",
    details: "Newest first, at most 50.",
    examples: ["parkade approvals"],
  },
  {
    name: "approve",
    summary: "Approve what another person asked for",
    arguments: [redriveId],
    options: [digest, reason],
    details:
      "Shows what is approved, and asks. With --digest it asks nothing; Parkade refuses a digest of what has changed since. Who asked cannot approve.",
    examples: ["parkade approve 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --actor maria"],
  },
  {
    name: "reject",
    summary: "Reject what another person asked for",
    arguments: [redriveId],
    options: [digest, neededReason],
    details: "It is cancelled, and its events are parked again.",
    examples: ['parkade reject 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --reason "not before the release"'],
  },
  {
    name: "pace",
    summary: "Change the rate, the sends at once or the lane of a redrive",
    arguments: [redriveId],
    options: [
      { ...rate, text: "Maximum events per second, no more than its targets take" },
      {
        name: "concurrency",
        value: "n",
        number: "whole",
        text: "Sends at once for each worker, no more than its targets have places",
      },
      { ...lane, text: "The lane that it goes on with" },
    ],
    details: "Each is in force within half a second and has an audit entry.",
    examples: ["parkade pace 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --rate 2 --concurrency 1"],
  },
  {
    name: "held show",
    summary: "Show the head of an event's aggregate and the events that it holds",
    arguments: [heldId],
    details: "The events are listed in the order in which they are sent.",
    examples: ["parkade held show 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
  },
  {
    name: "held skip",
    summary: "Let the later versions of an aggregate pass by its head",
    arguments: [heldId],
    options: [neededReason],
    details:
      "Nothing is sent. It ends when the head is revised, released or comes back, or by held undo. Once a later version is confirmed the head cannot be sent any more.",
    examples: ['parkade held skip 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "corrected by hand"'],
  },
  {
    name: "held undo",
    summary: "Let a skipped event hold the later versions again",
    arguments: [heldId],
    options: [reason],
    details: "It changes nothing when the event was not skipped.",
    examples: ["parkade held undo 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
  },
  {
    name: "held release",
    summary: "Redrive what an event's head holds, in its order, past the head",
    arguments: [heldId],
    options: [neededReason, lane, yes, detach, key],
    details: "Once one of them is confirmed the head is superseded and cannot be sent any more.",
    examples: ['parkade held release 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the head was corrected by hand"'],
  },
  {
    name: "stop",
    summary: "Stop all sends, or those to one target",
    options: [neededReason, stoppedTarget],
    details:
      "After the answer no further send begins, in any redrive; it says how many are under way. Confirmations, parking and consumers go on.",
    examples: [
      'parkade stop --reason "stock answers with wrong data"',
      'parkade stop --target orders --reason "stock is down"',
    ],
  },
  {
    name: "go",
    summary: "Lift a stop, of everything or of one target",
    options: [reason, stoppedTarget],
    details: "It says which stops are still in force: lifting the stop of everything lifts that of no target.",
    examples: ["parkade go", 'parkade go --target orders --reason "stock is back"'],
  },
  {
    name: "control list",
    summary: "List the controls, newest first",
    options: [
      {
        name: "state",
        value: "state",
        values: ["live", "ended"],
        text: "In force, or lifted or expired; default: live",
      },
      ...paging,
    ],
    details:
      "Shows what each control is over, how many parked events it catches, and who imposed it. Parkade itself blacklists an aggregate that keeps failing.",
    examples: ["parkade control list", "parkade control list --state ended --limit 200"],
  },
  {
    name: "control blacklist",
    summary: "Refuse to redrive what matches",
    options: [...controlScope, neededReason, until, key],
    details: `${CONTROL_SCOPE} It is in force until it is lifted, or until --until.`,
    examples: [
      'parkade control blacklist --source orders --errorCode VALIDATION_ERROR --reason "until the producer is fixed"',
    ],
  },
  {
    name: "control cooldown",
    summary: "Refuse to redrive what matches until a time",
    options: [...controlScope, neededReason, { ...until, required: true }, key],
    details: CONTROL_SCOPE,
    examples: [
      'parkade control cooldown --source orders --until 2026-11-22T18:00:00Z --reason "stock is rebuilt until then"',
    ],
  },
  {
    name: "control whitelist",
    summary: "Let what matches be redriven despite cooldowns, the redrive limit and Parkade's own blacklists",
    options: [...controlScope, neededReason, until, key],
    details: `${CONTROL_SCOPE} A blacklist that a person imposed stays in force. Nothing is redriven by it.`,
    examples: [
      'parkade control whitelist --source orders --until 2026-11-22T18:00:00Z --reason "the consumer is fixed"',
    ],
  },
  {
    name: "control lift",
    summary: "End a control, or all that match, at once",
    arguments: [{ name: "id", optional: true }],
    options: [
      { name: "source", value: "name", text: "Without an id: those of this source" },
      {
        name: "redrive",
        value: "id",
        text: "Only blacklists that Parkade imposed because of failures in this redrive",
      },
      { name: "aggregateId", value: "id", text: "Those over this aggregate" },
      { name: "kind", value: "kind", text: "blacklist, whitelist or cooldown" },
      { name: "automatic", text: "Those that Parkade imposed on aggregates that kept failing" },
      reason,
      yes,
      key,
    ],
    details:
      "The id is the one that `control list` shows. Without an id it lifts all that match, after a question when they are many. Nothing is redriven by lifting.",
    examples: [
      'parkade control lift 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the producer is fixed"',
      'parkade control lift --source orders --automatic --reason "the consumer is fixed"',
    ],
  },
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
      ...paging,
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
      ...paging,
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
  {
    name: "source list",
    summary: "List the sources",
    details: "Their kind, how they are to be read, what the workers report, and how many events are parked.",
    examples: ["parkade source list"],
  },
  {
    name: "source add",
    summary: "Add a source",
    arguments: [{ name: "name" }],
    options: [
      { name: "kind", value: "kind", required: true, text: "Such as http or rabbitmq" },
      {
        name: "set",
        value: "path=text",
        many: true,
        text: "A field of the configuration; path:=json for other values",
      },
      { name: "config", value: "json", text: "The configuration as JSON; @file reads it from a file" },
      { name: "schema", value: "json", text: "JSON Schema that payloads must match to be redriven; or @file" },
      { name: "mode", value: "mode", values: SOURCE_MODES, text: "How it begins; default: running" },
    ],
    details:
      "Secrets on a command line are seen by others on the machine: name a variable, `--set url=env:PARKADE_SECRET_RABBIT`, that is set for Parkade itself.",
    examples: [
      "parkade source add orders --kind http --set redriveUrl=https://orders.example/events",
      "parkade source add billing --kind rabbitmq --set url=env:PARKADE_SECRET_RABBIT --set queue=billing.dlq --set prefetch:=50",
    ],
  },
  {
    name: "source probe",
    summary: "Try whether a source can be reached, and what would be read",
    arguments: [{ ...name, optional: true }],
    options: [
      { name: "kind", value: "kind", text: "Of a configuration that is not stored, in place of a name" },
      { name: "set", value: "path=text", many: true, text: "A field of that configuration, as in `source add`" },
      { name: "config", value: "json", text: "That configuration as JSON, or @file" },
    ],
    details: "Nothing is taken from the queue. The exit code is 1 when the source cannot be reached.",
    examples: [
      "parkade source probe orders",
      "parkade source probe --kind http --set redriveUrl=http://localhost:4000/",
    ],
  },
  {
    name: "source pause",
    summary: "Read nothing more from a source for now",
    arguments: [name],
    options: [reason],
    details: "The broker keeps what is not read. Events that are parked can be redriven all the same.",
    examples: ['parkade source pause orders --reason "the broker moves"'],
  },
  {
    name: "source drain",
    summary: "Read a source until it is empty, then pause it",
    arguments: [name],
    options: [reason],
    details: "It returns at once; `parkade source list` shows how far it is.",
    examples: ['parkade source drain orders --reason "moved to another broker"'],
  },
  {
    name: "source stop",
    summary: "Read nothing from a source, and connect to it no more",
    arguments: [name],
    options: [reason],
    details: "No worker reports it any more. Its events stay.",
    examples: ["parkade source stop orders"],
  },
  {
    name: "source resume",
    summary: "Read from a source again",
    arguments: [name],
    options: [reason],
    details: "The worker begins within seconds.",
    examples: ["parkade source resume orders"],
  },
  {
    name: "schema list",
    summary: "List the schemas of a source by event type",
    arguments: [sourceOf],
    options: [],
    details: "Of each type the version in force, else the newest one.",
    examples: ["parkade schema list orders"],
  },
  {
    name: "schema infer",
    summary: "Print a schema of the events of a type that went through",
    arguments: [sourceOf],
    options: [eventType],
    details: "Stores nothing. --json also says how many events were read, and which fields are optional.",
    examples: ["parkade schema infer orders --type OrderCreated > order.json"],
  },
  {
    name: "schema set",
    summary: "Store a version of a schema, and make it current",
    arguments: [sourceOf],
    options: [
      eventType,
      { name: "schema", value: "json", required: true, text: "JSON Schema 2020-12; @file reads it from a file" },
      neededReason,
    ],
    details: "The dry run refuses events of the type whose payload breaks it. Every version is kept.",
    examples: ['parkade schema set orders --type OrderCreated --schema @order.json --reason "amount became a number"'],
  },
  {
    name: "target list",
    summary: "List the targets",
    details: "Those of each source's lanes, and the named ones: where they deliver, and how fast.",
    examples: ["parkade target list"],
  },
  {
    name: "target add",
    summary: "Give a source a further target",
    arguments: [{ name: "name" }],
    options: [
      { name: "source", value: "name", names: "sources", required: true, text: "The source, whose connection it uses" },
      { name: "set", value: "path=text", many: true, text: "A field of the destination, as in `source add`" },
      { name: "config", value: "json", text: "The destination as JSON; @file reads it from a file" },
      neededReason,
      key,
    ],
    details:
      "Another destination at the same broker. Nothing goes there by itself: a redrive names it with --target. It begins at 5 events per second; its rate and its breaker are changed in the console, or by the API.",
    examples: [
      'parkade target add orders.audit --source orders --set redriveTo.queue=audit.orders --reason "the audit missed a day"',
    ],
  },
  {
    name: "target remove",
    summary: "Remove a named target",
    arguments: [{ name: "name", names: "targets" }],
    options: [neededReason],
    details:
      "Refused while a redrive delivers to it, or another target falls back to it. The history of events keeps its name.",
    examples: ['parkade target remove orders.audit --reason "the audit has them"'],
  },
  {
    name: "redrive-rule list",
    summary: "List the redrive rules",
    details: "In their order: an event belongs to the first rule that is on and matches it.",
    examples: ["parkade redrive-rule list"],
  },
  {
    name: "redrive-rule try",
    summary: "Say what a redrive rule would have done in the last days",
    arguments: [{ name: "name" }],
    options: [{ name: "days", value: "n", number: "whole", text: "At most 30; default 7" }],
    details: "It changes nothing. `redrive-rule on` takes the id of the trial that it prints.",
    examples: ['parkade redrive-rule try "timeouts of orders" --days 14'],
  },
  {
    name: "redrive-rule on",
    summary: "Switch a redrive rule on",
    arguments: [{ name: "name" }],
    options: [
      { name: "trial", value: "id", required: true, text: "The trial of the rule as it is, from `redrive-rule try`" },
      neededReason,
    ],
    details: "A worker begins within seconds. The rule switches itself off when its events fail or come back.",
    examples: [
      'parkade redrive-rule on "timeouts of orders" --trial 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b40 --reason "390 of 412 stayed"',
    ],
  },
  {
    name: "redrive-rule off",
    summary: "Switch a redrive rule off",
    arguments: [{ name: "name" }],
    options: [neededReason],
    details: "The rule starts no more redrives. Redrives it already started continue: `parkade cancel` stops them.",
    examples: ['parkade redrive-rule off "timeouts of orders" --reason "the stock service is rebuilt"'],
  },
  {
    name: "completion",
    summary: "Print the completion script of a shell",
    arguments: [{ name: "shell", values: ["bash", "zsh"] }],
    details: "The script asks `parkade` itself, so it stays right after an update.",
    examples: ["source <(parkade completion bash)", "parkade completion zsh > ~/.zfunc/_parkade"],
  },
];

export function commandOf(words: CommandName): Command {
  return COMMANDS.find(({ name: known }) => known === words)!;
}

/** What a command takes besides the filter. */
export function optionsOf(command: Command): readonly Option[] {
  return [...(command.options ?? []), ...GLOBAL_OPTIONS];
}

/** `id`, `[id ...]`, as in a usage line. */
export function argumentText({ name: word, optional, many }: Argument): string {
  const text = `<${word}>${many ? " ..." : ""}`;
  return optional ? `[${text}]` : text;
}
