import { type Call, given } from "@/lib/cli/call";
import {
  allOption,
  type Command,
  detachOption,
  idArgument,
  idempotencyKeyOption,
  idsArgument,
  laneOption,
  type Option,
  operationOption,
  pagingOptions,
  reasonOption,
  requiredReasonOption,
  SELECTION,
  targetOption,
  yesOption,
} from "@/lib/cli/command";
import { follow, setPace, steer } from "@/lib/cli/follow";
import { printList } from "@/lib/cli/lists";
import { redrive } from "@/lib/cli/redrive";
import { EARLIER_CHOICES } from "@/lib/order/order-gate.pure";
import { formatAgo } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { CONFIRMABLE_REFUSALS } from "@/lib/states/refusal.pure";

const rateOption: Option = { name: "rate", value: "n", number: "any", text: "Maximum events per second" };
const previewOption: Option = { name: "preview", text: "Only show what would be sent and what would be refused" };
const despiteOption: Option = {
  name: "despite",
  value: "refusal",
  values: CONFIRMABLE_REFUSALS,
  many: true,
  text: "Also send events that would be refused for this reason",
};
const earlierOption: Option = {
  name: "earlier",
  value: "choice",
  values: EARLIER_CHOICES,
  text: "Earlier versions that are parked and not selected: wait for them, take them along, or pass them",
};
const redriveOptions = [
  requiredReasonOption,
  laneOption,
  targetOption,
  rateOption,
  operationOption,
  earlierOption,
  despiteOption,
  previewOption,
  allOption,
  detachOption,
  idempotencyKeyOption,
];
const FOLLOWED =
  "The command follows it to its end and prints the counts. Ctrl-C stops following, not the redrive; `parkade follow` shows it again and `parkade cancel` stops it.";

function listRedrives(call: Call): Promise<number> {
  const { terminal, clock } = call;
  const age = (time: string) => (terminal.columns === null ? time : formatAgo(Date.parse(time), clock.wallMs()));
  return printList<RedriveOut>(call, "api/v1/redrives", given(call, "state", "waitsFor"), [
    "id",
    "state",
    ["created", ({ createdAt }) => age(createdAt)],
    ["by", "createdBy"],
    ["events", "total"],
    "delivered",
    "failed",
    "refused",
    "open",
    "reason",
    ["why it does not move", ({ stalled }) => stalled?.text ?? null],
  ]);
}

export const REDRIVE_COMMANDS: readonly Command[] = [
  {
    name: "redrive",
    summary: "Send events back to where they came from",
    arguments: [idsArgument],
    filter: true,
    options: [
      ...redriveOptions,
      { name: "canary", text: "Send 1, then 10, then 100, then everything, and watch for bounces" },
      { name: "at", value: "time", text: "Start at this time (ISO 8601); the events are frozen now and wait" },
      {
        name: "when-closed",
        text: "Start when the breakers of its targets close; cancelled if they have not after a day",
      },
      yesOption,
    ],
    details: `${SELECTION} ${FOLLOWED}`,
    examples: [
      'parkade redrive --source orders --errorCode TIMEOUT --reason "stock service is back" --canary',
      'parkade redrive --source orders --from -24h --target orders.audit --reason "the audit missed them"',
      "parkade redrive --aggregateId order-77 --preview",
    ],
    run: (call) => redrive(call, "deliver"),
  },
  {
    name: "verify",
    summary: "Check events as a redrive would, and send nothing",
    arguments: [idsArgument],
    filter: true,
    options: redriveOptions,
    details: `${SELECTION} ${FOLLOWED}`,
    examples: [
      'parkade verify --source orders --reason "would they go through?"',
      'parkade verify --operation 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60 --earlier include --reason "mended"',
    ],
    run: (call) => redrive(call, "verify"),
  },
  {
    name: "redrives",
    summary: "List the redrives, newest first",
    options: [
      { name: "state", value: "states", text: "Comma-separated states, or live: not yet final; default: all" },
      {
        name: "waitsFor",
        value: "what",
        text: "What redrives that have not started wait for: approval, time or breaker, comma-separated, or any",
      },
      ...pagingOptions,
    ],
    details:
      "Shows the counts of each redrive, and why one does not move. `parkade follow` shows one of them while it runs.",
    examples: ["parkade redrives", "parkade redrives --state live"],
    run: listRedrives,
  },
  {
    name: "follow",
    summary: "Follow a redrive or a bulk operation to its end",
    arguments: [idArgument],
    details: "Ctrl-C only stops following. A redrive that is paused ends the command with 4.",
    examples: ["parkade follow 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
    run: follow,
  },
  {
    name: "pause",
    summary: "Pause a redrive",
    arguments: [idArgument],
    options: [reasonOption],
    details: "Once it returns, no further send starts; it reports how many are under way.",
    examples: ['parkade pause 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --reason "too many failures"'],
    run: (call) => steer(call, "pause"),
  },
  {
    name: "resume",
    summary: "Resume a paused redrive",
    arguments: [idArgument],
    options: [
      reasonOption,
      rateOption,
      { name: "canary", text: "Start the rest with a canary again: 1, then 10, then 100" },
    ],
    details: "It does not follow the redrive: `parkade follow` does.",
    examples: ["parkade resume 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --rate 2 --canary"],
    run: (call) => steer(call, "resume"),
  },
  {
    name: "cancel",
    summary: "Cancel a redrive or a bulk operation",
    arguments: [idArgument],
    options: [reasonOption],
    details: "What was already sent or changed stays.",
    examples: ["parkade cancel 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
    run: (call) => steer(call, "cancel"),
  },
  {
    name: "undo",
    summary: "Undo a redrive that is still on hold or being collected",
    arguments: [idArgument],
    options: [reasonOption],
    details: "Refused once something may have been sent: use `parkade cancel`, which parks the remaining events again.",
    examples: ["parkade undo 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
    run: (call) => steer(call, "undo"),
  },
  {
    name: "start",
    summary: "Start a redrive now that waits for a time or a breaker",
    arguments: [idArgument],
    options: [reasonOption],
    details: "A redrive that also waits for an approval still waits for that.",
    examples: ["parkade start 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50"],
    run: (call) => steer(call, "start"),
  },
  {
    name: "pace",
    summary: "Change the rate, concurrency or lane of a redrive",
    arguments: [idArgument],
    options: [
      { ...rateOption, text: "Maximum events per second, at most what its targets accept" },
      {
        name: "concurrency",
        value: "n",
        number: "whole",
        text: "Concurrent sends per worker, at most what its targets accept",
      },
      { ...laneOption, text: "The lane to continue on" },
    ],
    details: "Each takes effect within half a second and has an audit entry.",
    examples: ["parkade pace 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --rate 2 --concurrency 1"],
    run: setPace,
  },
];
