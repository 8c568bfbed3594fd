import {
  type Argument,
  type Command,
  idempotencyKeyOption,
  type Option,
  reasonOption,
  requiredReasonOption,
} from "@/lib/cli/command";
import { SOURCE_MODES } from "@/lib/sources/source-mode.pure";

const sourceNameArgument: Argument = { name: "name", names: "sources" };
const sourceArgument: Argument = { name: "source", names: "sources" };
const eventTypeOption: Option = {
  name: "type",
  value: "type",
  text: "The event type; default: all types without a schema of their own",
};

export const SOURCE_COMMANDS = [
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
    arguments: [{ ...sourceNameArgument, optional: true }],
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
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "The broker keeps what is not read. Events that are parked can be redriven all the same.",
    examples: ['parkade source pause orders --reason "the broker moves"'],
  },
  {
    name: "source drain",
    summary: "Read a source until it is empty, then pause it",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "It returns at once; `parkade source list` shows how far it is.",
    examples: ['parkade source drain orders --reason "moved to another broker"'],
  },
  {
    name: "source stop",
    summary: "Read nothing from a source, and connect to it no more",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "No worker reports it any more. Its events stay.",
    examples: ["parkade source stop orders"],
  },
  {
    name: "source resume",
    summary: "Read from a source again",
    arguments: [sourceNameArgument],
    options: [reasonOption],
    details: "The worker begins within seconds.",
    examples: ["parkade source resume orders"],
  },
  {
    name: "schema list",
    summary: "List the schemas of a source by event type",
    arguments: [sourceArgument],
    options: [],
    details: "Of each type the version in force, else the newest one.",
    examples: ["parkade schema list orders"],
  },
  {
    name: "schema infer",
    summary: "Print a schema of the events of a type that went through",
    arguments: [sourceArgument],
    options: [eventTypeOption],
    details: "Stores nothing. --json also says how many events were read, and which fields are optional.",
    examples: ["parkade schema infer orders --type OrderCreated > order.json"],
  },
  {
    name: "schema set",
    summary: "Store a version of a schema, and make it current",
    arguments: [sourceArgument],
    options: [
      eventTypeOption,
      { name: "schema", value: "json", required: true, text: "JSON Schema 2020-12; @file reads it from a file" },
      requiredReasonOption,
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
      requiredReasonOption,
      idempotencyKeyOption,
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
    options: [requiredReasonOption],
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
  {
    name: "completion",
    summary: "Print the completion script of a shell",
    arguments: [{ name: "shell", values: ["bash", "zsh"] }],
    details: "The script asks `parkade` itself, so it stays right after an update.",
    examples: ["source <(parkade completion bash)", "parkade completion zsh > ~/.zfunc/_parkade"],
  },
] as const satisfies readonly Command[];
