import { decide, listApprovals } from "@/lib/cli/approve";
import { type Call, given } from "@/lib/cli/call";
import {
  type Command,
  idArgument,
  type Option,
  pagingOptions,
  reasonOption,
  requiredReasonOption,
  targetOption,
} from "@/lib/cli/command";
import { printList } from "@/lib/cli/lists";
import { login, logout, whoami } from "@/lib/cli/login";
import { go, stop } from "@/lib/cli/stop";
import { verifyAudit } from "@/lib/cli/verify-audit";
import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import { AUDIT_SUBJECTS } from "@/lib/platform/plain/audit-entry.pure";

const digestOption: Option = {
  name: "digest",
  value: "digest",
  text: "Digest of what you reviewed, from `parkade approvals --json`; default: that of what is shown before the question",
};

const stoppedTargetOption: Option = { ...targetOption, text: "Only the sends to this target; default: all sends" };

function listAudit(call: Call): Promise<number> {
  const names = ["action", "subjectKind", "subjectId", "eventId", "redriveId", "operationId", "from", "to"];
  const { by: actor, ...filter } = given(call, "by", ...names);
  return printList<AuditOut>(call, "api/v1/audit", { ...(actor && { actor }), ...filter }, [
    "at",
    ["by", "actor"],
    "action",
    ["count", ({ count }) => count ?? "not yet"],
    ["subject", ({ subjectId, operationId, redriveId }) => subjectId ?? operationId ?? redriveId],
    "reason",
  ]);
}

export const SIGN_IN_COMMANDS: readonly Command[] = [
  {
    name: "login",
    summary: "Sign in to a Parkade, by its console",
    options: [
      {
        name: "name",
        value: "name",
        text: "The name that the console shows for this program; default: parkade on this machine",
      },
    ],
    details:
      "Shows an address and a code. Open the address in a browser where you are signed in, compare the code, and confirm: you choose there what the token may do and how long. The token is kept in parkade/credentials.json below XDG_CONFIG_HOME, or ~/.config, which only you may read; each Parkade has its own. PARKADE_TOKEN goes before it. Where nobody must sign in it says so.",
    examples: ["parkade login --url https://parkade.example.com"],
    run: login,
  },
  {
    name: "logout",
    summary: "Revoke the token of `parkade login`, and forget it",
    details: "A token in PARKADE_TOKEN stays as it is.",
    examples: ["parkade logout --url https://parkade.example.com"],
    run: logout,
  },
  {
    name: "whoami",
    summary: "Show who you are signed in as, and what you may do",
    details: "Ends with 1 where nobody is signed in.",
    examples: ["parkade whoami", "parkade whoami --json"],
    run: whoami,
  },
];

export const GUARD_COMMANDS: readonly Command[] = [
  {
    name: "approvals",
    summary: "List the requests that wait for approval",
    details: "Newest first, at most 50.",
    examples: ["parkade approvals"],
    run: listApprovals,
  },
  {
    name: "approve",
    summary: "Approve what another person asked for",
    arguments: [idArgument],
    options: [digestOption, reasonOption],
    details:
      "Shows what you approve, and asks for confirmation. With --digest it does not ask; Parkade refuses the digest of a request that has changed since. Requesters cannot approve their own requests.",
    examples: ["parkade approve 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --actor maria"],
    run: (call) => decide(call, "approve"),
  },
  {
    name: "reject",
    summary: "Reject what another person asked for",
    arguments: [idArgument],
    options: [digestOption, requiredReasonOption],
    details: "It is cancelled, and its events are parked again.",
    examples: ['parkade reject 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --reason "not before the release"'],
    run: (call) => decide(call, "reject"),
  },
  {
    name: "stop",
    summary: "Stop all sends, or those to one target",
    options: [requiredReasonOption, stoppedTargetOption],
    details:
      "Once it returns, no further send starts in any redrive; it reports how many are under way. Confirmations, parking and consumers continue.",
    examples: [
      'parkade stop --reason "stock answers with wrong data"',
      'parkade stop --target orders --reason "stock is down"',
    ],
    run: stop,
  },
  {
    name: "go",
    summary: "Lift a stop, of everything or of one target",
    options: [reasonOption, stoppedTargetOption],
    details:
      "It lists the stops that are still in force: lifting the stop of all sends does not lift the stops of single targets.",
    examples: ["parkade go", 'parkade go --target orders --reason "stock is back"'],
    run: go,
  },
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
    run: listAudit,
  },
  {
    name: "verify-audit",
    summary: "Check the audit against its seals and anchors",
    options: [],
    details:
      "A worker compares every entry with its seal, the chain with itself, and with anchors. Exit code 1: something was changed, deleted, moved, cut off or added past the product, or the check could not be done; the first bad entry is named.",
    examples: ["parkade verify-audit", "parkade verify-audit --json"],
    run: verifyAudit,
  },
];
