import { type Command, requiredReasonOption } from "@/lib/cli/command";

export const REDRIVE_RULE_COMMANDS = [
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
      requiredReasonOption,
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
    options: [requiredReasonOption],
    details: "The rule starts no more redrives. Redrives it already started continue: `parkade cancel` stops them.",
    examples: ['parkade redrive-rule off "timeouts of orders" --reason "the stock service is rebuilt"'],
  },
] as const satisfies readonly Command[];
