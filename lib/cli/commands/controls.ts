import {
  type Command,
  idempotencyKeyOption,
  type Option,
  pagingOptions,
  reasonOption,
  requiredReasonOption,
  yesOption,
} from "@/lib/cli/command";

const untilOption: Option = { name: "until", value: "time", text: "It ends at this time: ISO 8601 with an offset" };
const scopeOptions: readonly Option[] = [
  { name: "eventId", value: "id", text: "The producer's id of an event" },
  { name: "aggregateId", value: "id", text: "Id of an aggregate" },
  { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
  { name: "errorCode", value: "code", text: "Error code" },
  { name: "source", value: "name", names: "sources", text: "A whole source; beside another name, only in this source" },
];
const CONTROL_SCOPE =
  "It is over one event, one aggregate, one error code or one source, and holds for the events parked now and later.";

export const CONTROL_COMMANDS = [
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
      ...pagingOptions,
    ],
    details:
      "Shows what each control is over, how many parked events it catches, and who imposed it. Parkade itself blacklists an aggregate that keeps failing.",
    examples: ["parkade control list", "parkade control list --state ended --limit 200"],
  },
  {
    name: "control blacklist",
    summary: "Refuse to redrive what matches",
    options: [...scopeOptions, requiredReasonOption, untilOption, idempotencyKeyOption],
    details: `${CONTROL_SCOPE} It is in force until it is lifted, or until --until.`,
    examples: [
      'parkade control blacklist --source orders --errorCode VALIDATION_ERROR --reason "until the producer is fixed"',
    ],
  },
  {
    name: "control cooldown",
    summary: "Refuse to redrive what matches until a time",
    options: [...scopeOptions, requiredReasonOption, { ...untilOption, required: true }, idempotencyKeyOption],
    details: CONTROL_SCOPE,
    examples: [
      'parkade control cooldown --source orders --until 2026-11-22T18:00:00Z --reason "stock is rebuilt until then"',
    ],
  },
  {
    name: "control whitelist",
    summary: "Let what matches be redriven despite cooldowns, the redrive limit and Parkade's own blacklists",
    options: [...scopeOptions, requiredReasonOption, untilOption, idempotencyKeyOption],
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
      reasonOption,
      yesOption,
      idempotencyKeyOption,
    ],
    details:
      "The id is the one that `control list` shows. Without an id it lifts all that match, after a question when they are many. Nothing is redriven by lifting.",
    examples: [
      'parkade control lift 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the producer is fixed"',
      'parkade control lift --source orders --automatic --reason "the consumer is fixed"',
    ],
  },
] as const satisfies readonly Command[];
