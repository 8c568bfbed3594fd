import type { Call } from "@/lib/cli/call";
import { FILTER_STATUSES, NOT_PREFIX } from "@/lib/selection/filter/filter-params.shapes";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

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
  name: string;
  summary: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** It takes the options of the filter. */
  filter?: true;
  details: string;
  examples: readonly string[];
  /** Resolves with the exit code. */
  run(call: Call): Promise<number>;
};

/** The command line is wrong: `message` says what, and `command` whose help has the answer. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly command: Command | null;

  constructor(message: string, command: Command | null = null) {
    super(message);
    this.command = command;
  }
}

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
  done: "Everything was done.",
  refused: "Parkade refused the request, or it failed; the error names the code, the field and the fix.",
  usage: "The command line is invalid, or a change needs --yes; nothing was changed.",
  unreachable: "Parkade did not answer.",
  partly: "It finished, but not for every event: some failed, were refused or cancelled; or the redrive is paused.",
  interrupted: "Ctrl-C.",
};

export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "url", value: "url", text: "Parkade's address, instead of PARKADE_URL" },
  { name: "actor", value: "name", text: "Name recorded in the audit, instead of PARKADE_ACTOR" },
  { name: "json", text: "Answers as JSON, in the shapes of the API; errors as a JSON line on standard error" },
  { name: "help", short: "h", text: "Show the help of the command" },
  { name: "version", text: "Show the version" },
];

/** What a command takes besides the filter. */
export function optionsOf(command: Command): readonly Option[] {
  return [...(command.options ?? []), ...GLOBAL_OPTIONS];
}

/** The variable with the secret that `park` signs with: on a command line others on the machine would see it. */
export const SIGNING_SECRET = "PARKADE_SIGNING_SECRET";

/** The variable with a token: on a command line others on the machine would see it. */
export const TOKEN = "PARKADE_TOKEN";

export const ENVIRONMENT: readonly { name: string; text: string }[] = [
  { name: "PARKADE_URL", text: "Parkade's address; default http://127.0.0.1:3000" },
  { name: "PARKADE_ACTOR", text: "Name recorded in the audit; default: the name of the operating system's user" },
  {
    name: TOKEN,
    text: "A token of your account, or of a service account, where sign-in is demanded: in place of the one of `parkade login`",
  },
  { name: "XDG_CONFIG_HOME", text: "The folder that contains parkade/credentials.json; default ~/.config" },
  {
    name: SIGNING_SECRET,
    text: "park: the secret of a source that takes signed requests only; with it requests are signed",
  },
  { name: "PARKADE_DATA_DIR", text: "serve, backup, replay: the folder of the data; default .parkade" },
  { name: "DATABASE_URL", text: "serve, backup, replay: your own PostgreSQL, instead of the one in the folder" },
  { name: "PORT", text: "serve: the port; default 3000. serve also reads every other variable of `npm start`" },
];

/** `tag.<key>` is read for any key, `not.<name>` for each of `NOT_OPTIONS` and tags. */
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
  {
    name: "admission",
    value: "mark",
    values: ADMISSION_MARKS,
    many: true,
    text: "Mark that an admission rule gave it",
  },
  { name: "from", value: "time", text: "First parked at or after: ISO 8601, seconds since 1970, or like -24h" },
  { name: "to", value: "time", text: "First parked before, in the same forms" },
  { name: "failedFrom", value: "time", text: "Last failed at or after, in the same forms" },
  { name: "failedTo", value: "time", text: "Last failed before, in the same forms" },
  { name: "q", value: "words", text: "Words in the error; all must occur" },
  { name: "tag.<key>", value: "value", many: true, text: "A tag of the event, such as --tag.orderId=77" },
  {
    name: "not.<name>",
    value: "value",
    many: true,
    text: "Excludes, such as --not.errorCode TIMEOUT, --not.tag.region=eu",
  },
];

/** The options that exclude the values of a name. */
export const NOT_OPTIONS: readonly Option[] = FILTER_OPTIONS.filter(
  ({ name, many }) => many && !name.includes("<"),
).map((option) => ({ ...option, name: NOT_PREFIX + option.name }));

export const FILTER_RULE =
  "The names are those of the API. All names must match; a name that is given several times matches any of its values, and with not. none of them.";

export const idArgument: Argument = { name: "id" };
export const idsArgument: Argument = { name: "id", many: true, optional: true };
export const allOption: Option = { name: "all", text: "Every event, instead of ids or a filter" };
export const yesOption: Option = {
  name: "yes",
  short: "y",
  text: `Do not ask before more than ${UNASKED_MAX} events or controls are changed`,
};
export const detachOption: Option = { name: "detach", text: "Return once it has started, without following it" };
export const revealReasonOption: Option = {
  name: "reason",
  value: "text",
  text: "Why masked values are shown; recorded in the audit log",
};
export const reasonOption: Option = { name: "reason", value: "text", text: "The reason, recorded in the audit log" };
export const retryableOption: Option = {
  name: "retryable",
  text: "Retry sends that may have arrived: the endpoint honours the Idempotency-Key",
};
export const requiredReasonOption: Option = { ...reasonOption, required: true };
export const idempotencyKeyOption: Option = {
  name: "idempotency-key",
  value: "key",
  text: "A request that is repeated with this key within 24 hours does nothing new; default: a random key",
};
export const laneOption: Option = { name: "lane", value: "lane", values: ["main", "slow"], text: "Default: slow" };
export const targetOption: Option = {
  name: "target",
  value: "name",
  names: "targets",
  text: "Target to send to; default: the target of each event's source on the lane",
};
export const pagingOptions: readonly Option[] = [
  { name: "limit", value: "n", number: "whole", text: "Number of entries to list at most; default 50" },
  { name: "cursor", value: "cursor", text: "Continue where an earlier list ended: its nextCursor" },
];
export const operationOption: Option = {
  name: "operation",
  value: "id",
  text: "The events that a bulk operation changed, instead of ids or a filter",
};
export const SELECTION =
  "The events are named by their ids as `search` lists them or as their producer has them, by a filter, or with --all.";
