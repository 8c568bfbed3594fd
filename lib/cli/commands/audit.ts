import { type Command, pagingOptions } from "@/lib/cli/command";
import { AUDIT_SUBJECTS } from "@/lib/guard/audit/audit-entry.pure";

export const AUDIT_COMMANDS = [
  {
    name: "audit",
    summary: "List who did what, newest first",
    options: [
      { name: "by", value: "name", text: "Who did it" },
      {
        name: "action",
        value: "action",
        text: "An action such as event.edited, or the part before its dot: event stands for every event.*",
      },
      { name: "subjectKind", value: "kind", values: AUDIT_SUBJECTS, text: "Kind of the thing that was changed" },
      { name: "subjectId", value: "id", text: "Its id or name" },
      { name: "eventId", value: "id", text: "An event's id, or the producer's id of it" },
      { name: "redriveId", value: "id", text: "Of a redrive" },
      { name: "operationId", value: "id", text: "Of a bulk operation: its changes and its cancel" },
      { name: "from", value: "time", text: "At or after: ISO 8601, epoch milliseconds, or like -24h" },
      { name: "to", value: "time", text: "Before, in the same forms" },
      ...pagingOptions,
    ],
    details:
      "An entry must match every option that is given. --by is who did it; --actor, as everywhere, is your own name. --json shows also what was before and after.",
    examples: ["parkade audit --from -24h --action control", "parkade audit --eventId order-77-v3"],
  },
  {
    name: "verify-audit",
    summary: "Check the audit against its seals and anchors",
    options: [],
    details:
      "A worker compares every entry with its seal, the chain with itself, and with anchors. Exit code 1: something was changed, deleted, moved, cut off or added past the product, or the check could not be done; the first bad entry is named.",
    examples: ["parkade verify-audit", "parkade verify-audit --json"],
  },
] as const satisfies readonly Command[];
