import { type Command, idempotencyKeyOption, pagingOptions, requiredReasonOption } from "@/lib/cli/command";

export const HOLD_COMMANDS = [
  {
    name: "hold list",
    summary: "List the legal holds, newest first",
    options: [
      { name: "state", value: "state", values: ["live", "ended"], text: "In force, or lifted; default: live" },
      ...pagingOptions,
    ],
    details: "Shows what each hold covers, who placed it and why.",
    examples: ["parkade hold list", "parkade hold list --state ended"],
  },
  {
    name: "hold place",
    summary: "Keep what it covers from being removed, expired or forgotten",
    options: [
      { name: "eventId", value: "id", text: "The producer's id of an event" },
      { name: "aggregateId", value: "id", text: "Id of an aggregate" },
      { name: "aggregateType", value: "type", text: "With --aggregateId: only an aggregate of this type" },
      { name: "tag", value: "name=value", text: "A tag with its value, such as customerId=42" },
      { name: "errorCode", value: "code", text: "Error code" },
      {
        name: "source",
        value: "name",
        names: "sources",
        text: "A whole source; beside another name, only in this source",
      },
      { name: "from", value: "time", text: "Only events first seen at or after this time: ISO 8601 with an offset" },
      { name: "to", value: "time", text: "Only events first seen before this time" },
      requiredReasonOption,
      idempotencyKeyOption,
    ],
    details:
      "It covers events in the store, in the archive, and those that come, until it is lifted. Events can still be redriven, ignored and edited: what arrived stays as a revision.",
    examples: [
      'parkade hold place --aggregateId order-77 --source orders --reason "claim 2026/118, ask legal"',
      'parkade hold place --tag customerId=42 --reason "claim 2026/118, ask legal"',
    ],
  },
  {
    name: "hold lift",
    summary: "End a legal hold at once",
    arguments: [{ name: "id" }],
    options: [requiredReasonOption],
    details: "The id is the one that `hold list` shows. Nothing is removed by lifting.",
    examples: ['parkade hold lift 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30 --reason "claim 2026/118 is settled"'],
  },
] as const satisfies readonly Command[];
