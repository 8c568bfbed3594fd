import { type Command, idArgument, type Option, reasonOption, requiredReasonOption } from "@/lib/cli/command";

const digestOption: Option = {
  name: "digest",
  value: "digest",
  text: "Of what was looked at, from `parkade approvals --json`; default: what is shown before the question",
};

export const APPROVAL_COMMANDS = [
  {
    name: "approvals",
    summary: "List what waits for the approval of a second person",
    details: "Newest first, at most 50.",
    examples: ["parkade approvals"],
  },
  {
    name: "approve",
    summary: "Approve what another person asked for",
    arguments: [idArgument],
    options: [digestOption, reasonOption],
    details:
      "Shows what is approved, and asks. With --digest it asks nothing; Parkade refuses a digest of what has changed since. Who asked cannot approve.",
    examples: ["parkade approve 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --actor maria"],
  },
  {
    name: "reject",
    summary: "Reject what another person asked for",
    arguments: [idArgument],
    options: [digestOption, requiredReasonOption],
    details: "It is cancelled, and its events are parked again.",
    examples: ['parkade reject 019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a50 --reason "not before the release"'],
  },
] as const satisfies readonly Command[];
