import { type Argument, type Command, reasonOption, retryableOption } from "@/lib/cli/command";
import { SOURCE_MODES } from "@/lib/sources/source-mode.pure";

const sourceNameArgument: Argument = { name: "name", names: "sources" };

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
      retryableOption,
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
    name: "source set",
    summary: "Set a source's limits, and the links of its events to logs and traces",
    arguments: [sourceNameArgument],
    options: [
      { name: "stormPerMinute", value: "n", text: "Events of one group that are stored in a minute; none = all are" },
      { name: "knownDays", value: "days", text: "Days for which an event that has left is known; none = for good" },
      {
        name: "link",
        value: "kind:label=address",
        many: true,
        text: "A link of its events, kind logs, traces or other; those that are named replace all, none removes them",
      },
      reasonOption,
    ],
    details:
      "What is not named stays as it is. The address of a link may hold {traceId} {eventId} {aggregateId} {aggregateType} {source} {errorCode} {at} {atMs} {fromMs} {toMs}.",
    examples: [
      "parkade source set orders --stormPerMinute 1000",
      "parkade source set orders --knownDays none",
      "parkade source set orders --link 'traces:Trace=https://jaeger.example/trace/{traceId}'",
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
] as const satisfies readonly Command[];
