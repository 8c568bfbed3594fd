import { type Command, idempotencyKeyOption, pagingOptions, requiredReasonOption } from "@/lib/cli/command";

export const ALERT_COMMANDS = [
  {
    name: "alert list",
    summary: "List alerts, newest first",
    options: [
      { name: "state", value: "state", values: ["firing", "resolved", "pending"], text: "Default: firing" },
      { name: "source", value: "name", names: "sources", text: "Only of this source" },
      ...pagingOptions,
    ],
    details: "Shows what is wrong in one sentence each, since when, and who looks at it.",
    examples: ["parkade alert list", "parkade alert list --state resolved --source orders"],
  },
  {
    name: "alert acknowledge",
    summary: "Acknowledge alerts, so that their messages are not repeated",
    arguments: [{ name: "id", many: true }],
    options: [
      { name: "note", value: "text", text: "What the others should know" },
      { name: "undo", text: "Take the acknowledgement back" },
    ],
    details: "The ids are those that `alert list` shows. An alert goes on until its cause has ended.",
    examples: ['parkade alert acknowledge 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30 --note "looking at the stock service"'],
  },
  {
    name: "alert rules",
    summary: "List the rules of alerts",
    options: [...pagingOptions],
    details: "Shows what each watches, how many of its alerts fire, and why it cannot be judged, if so.",
    examples: ["parkade alert rules"],
  },
  {
    name: "channel list",
    summary: "List the channels that are told of alerts",
    options: [],
    details: "Shows how many messages wait, when the last one was sent, and the last error.",
    examples: ["parkade channel list"],
  },
  {
    name: "channel test",
    summary: "Send a test message, and wait for it",
    arguments: [{ name: "name" }],
    options: [],
    details:
      "It goes the way of every other message: through the store and a worker. Exits with 1 when the receiver did not take it within 30 s.",
    examples: ["parkade channel test ops"],
  },
  {
    name: "mark",
    summary: "Mark a moment on the charts: a deployment, an incident, a note",
    arguments: [{ name: "label" }],
    options: [
      { name: "kind", value: "kind", values: ["deploy", "incident", "note"], text: "Default: deploy" },
      { name: "source", value: "name", names: "sources", text: "Only of this source; default: of every one" },
      { name: "link", value: "url", text: "Where to read more" },
      { name: "at", value: "time", text: "ISO 8601 with an offset; default: now" },
      idempotencyKeyOption,
    ],
    details: "For CI systems: run it when a deployment has ended.",
    examples: ['parkade mark "orders 4.17.0" --source orders --link https://ci.example.com/builds/4170'],
  },
  {
    name: "maintenance list",
    summary: "List the times in which no alerts are sent",
    options: [
      { name: "state", value: "state", values: ["live", "ended"], text: "In force or to come, or over; default: live" },
      ...pagingOptions,
    ],
    details: "Alerts fire in such a time, and are shown in the console.",
    examples: ["parkade maintenance list"],
  },
  {
    name: "maintenance begin",
    summary: "Tell nobody of alerts for a time",
    options: [
      { name: "minutes", value: "n", number: "whole", required: true, text: "How long, a week at most" },
      { name: "source", value: "name", names: "sources", many: true, text: "Only of this source; may be repeated" },
      requiredReasonOption,
      idempotencyKeyOption,
    ],
    details: "It ends by itself. What still fires at its end is told then.",
    examples: ['parkade maintenance begin --minutes 60 --source orders --reason "the stock service moves"'],
  },
  {
    name: "maintenance end",
    summary: "End a maintenance window before its time",
    arguments: [{ name: "id" }],
    options: [],
    details: "The id is the one that `maintenance list` shows. What fires is told.",
    examples: ["parkade maintenance end 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b30"],
  },
] as const satisfies readonly Command[];
