import {
  type Command,
  detachOption,
  idArgument,
  idempotencyKeyOption,
  laneOption,
  reasonOption,
  requiredReasonOption,
  yesOption,
} from "@/lib/cli/command";

export const HELD_COMMANDS = [
  {
    name: "held show",
    summary: "Show the head of an event's aggregate and the events that it holds",
    arguments: [idArgument],
    details: "The events are listed in the order in which they are sent.",
    examples: ["parkade held show 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
  },
  {
    name: "held skip",
    summary: "Let the later versions of an aggregate pass by its head",
    arguments: [idArgument],
    options: [requiredReasonOption],
    details:
      "Nothing is sent. It ends when the head is revised, released or comes back, or by held undo. Once a later version is confirmed the head cannot be sent any more.",
    examples: ['parkade held skip 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "corrected by hand"'],
  },
  {
    name: "held undo",
    summary: "Let a skipped event hold the later versions again",
    arguments: [idArgument],
    options: [reasonOption],
    details: "It changes nothing when the event was not skipped.",
    examples: ["parkade held undo 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20"],
  },
  {
    name: "held release",
    summary: "Redrive what an event's head holds, in its order, past the head",
    arguments: [idArgument],
    options: [requiredReasonOption, laneOption, yesOption, detachOption, idempotencyKeyOption],
    details: "Once one of them is confirmed the head is superseded and cannot be sent any more.",
    examples: ['parkade held release 019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20 --reason "the head was corrected by hand"'],
  },
] as const satisfies readonly Command[];
