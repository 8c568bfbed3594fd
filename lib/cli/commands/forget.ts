import {
  type Command,
  detachOption,
  idempotencyKeyOption,
  pagingOptions,
  requiredReasonOption,
  yesOption,
} from "@/lib/cli/command";

const whatOptions = [
  { name: "tag", value: "name=value", text: "A tag of the events with its value, such as customerId=42" },
  { name: "aggregateId", value: "id", text: "Id of an aggregate" },
  { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
  {
    name: "payload",
    value: "pointer=value",
    text: "A JSON pointer into the payload with its value; needs --source, or --from and --to",
  },
  { name: "source", value: "name", names: "sources", text: "Only events of this source" },
  { name: "from", value: "time", text: "Only events first seen at or after this time: ISO 8601 with an offset" },
  { name: "to", value: "time", text: "Only events first seen before this time" },
] as const;

export const FORGET_COMMANDS = [
  {
    name: "forget",
    summary: "Delete the data of a person everywhere, for good",
    options: [
      ...whatOptions,
      requiredReasonOption,
      { name: "preview", text: "Only say what would be deleted, and what would stay" },
      {
        ...yesOption,
        text: "Do not ask. Without it the command asks however few events there are: nothing takes a forget back",
      },
      detachOption,
      idempotencyKeyOption,
    ],
    details:
      "Events that the key names leave the store and the archive, and what else names them is replaced by [forgotten], in the audit too. Nothing takes it back. A worker does it; the command waits for it and prints its report, which names nobody, as `forget show` does. Do not name the person in --reason. Exit code 4, of --preview as well: some stay, such as those in a redrive, or sent and not confirmed (`confirm` ends that); forget them again when the reason is gone.",
    examples: [
      'parkade forget --tag customerId=42 --reason "request 2026/311" --preview',
      'parkade forget --tag customerId=42 --reason "request 2026/311, article 17"',
      'parkade forget --payload /customer/email=ada@example.org --source orders --reason "request 2026/311"',
    ],
  },
  {
    name: "forget list",
    summary: "List what was forgotten, newest first",
    options: [...pagingOptions],
    details: "Each with its key kind, its counts and its reason; nothing names whose data it was.",
    examples: ["parkade forget list"],
  },
  {
    name: "forget show",
    summary: "Show the report of a forget",
    arguments: [{ name: "id" }],
    options: [],
    details: "The id is the one that `forget` prints. Exit code 4: some stay.",
    examples: ["parkade forget show 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a70"],
  },
] as const satisfies readonly Command[];
