import { type Command, type Option, reasonOption, requiredReasonOption, targetOption } from "@/lib/cli/command";

const stoppedTargetOption: Option = { ...targetOption, text: "Only the sends to this target; default: all sends" };

export const STOP_COMMANDS = [
  {
    name: "stop",
    summary: "Stop all sends, or those to one target",
    options: [requiredReasonOption, stoppedTargetOption],
    details:
      "After the answer no further send begins, in any redrive; it says how many are under way. Confirmations, parking and consumers go on.",
    examples: [
      'parkade stop --reason "stock answers with wrong data"',
      'parkade stop --target orders --reason "stock is down"',
    ],
  },
  {
    name: "go",
    summary: "Lift a stop, of everything or of one target",
    options: [reasonOption, stoppedTargetOption],
    details: "It says which stops are still in force: lifting the stop of everything lifts that of no target.",
    examples: ["parkade go", 'parkade go --target orders --reason "stock is back"'],
  },
] as const satisfies readonly Command[];
