import { type Call, countText, printAnswer } from "@/lib/cli/call";
import { type Command, type Option, requiredReasonOption, UsageError } from "@/lib/cli/command";
import { factsText } from "@/lib/cli/table";
import type { RetentionChange, RetentionOut, RetentionPreview } from "@/lib/keep/retention/retention.shapes";
import { formatBytes, formatNumber, plural } from "@/lib/platform/plain/format.pure";

const periodOptions: readonly Option[] = [
  { name: "source", value: "name", names: "sources", text: "Only the events of this source" },
  { name: "errorCode", value: "code", text: "Only the events of this error code" },
];

const RETENTION = "api/v1/retention";

async function showRetention(call: Call): Promise<number> {
  const retention = await call.api.get<RetentionOut>(RETENTION);
  const preview = await call.api.get<RetentionPreview>(`${RETENTION}/preview`);
  return printAnswer(call, { ...retention, preview }, () => periodsText(retention) + dueText(preview));
}

function periodsText({ days, rules, place }: RetentionOut): string {
  return factsText([
    ...rules.map(({ source, errorCode, days: kept }): [string, string] => [
      [source, errorCode].filter((name) => name !== null).join(" "),
      plural(kept, "day"),
    ]),
    [rules.length === 0 ? "all events" : "all others", plural(days, "day")],
    ["archive", place ?? "none is configured, so nothing expires: set PARKADE_ARCHIVE"],
  ]);
}

function dueText({ days }: RetentionPreview): string {
  if (days === null) return factsText([["due", "unknown: counting took too long"]]);
  return factsText(
    days.map(({ day, expires, bytes, keptByReason }) => {
      const kept = Object.values(keptByReason).reduce((sum, n) => sum + n, 0);
      const stay = kept === 0 ? "" : `, ${countText(kept, keptByReason)} stay`;
      return [day, `${formatNumber(expires)} expire, ${formatBytes(bytes)}${stay}`];
    }),
  );
}

type Rule = RetentionChange["rules"][number];

/** `retention set` and `retention unset`: `days` null = the period is removed. */
async function changeRetention(call: Call, change: "set" | "unset"): Promise<number> {
  const { line, api } = call;
  const source = line.text("source");
  const errorCode = line.text("errorCode");
  const others = source === null && errorCode === null;
  if (change === "unset" && others)
    throw new UsageError("name the period: --source, --errorCode or both", line.command);
  const before = await api.get<RetentionOut>(RETENTION);
  const isNamed = (rule: Rule) => rule.source === source && rule.errorCode === errorCode;
  const rest = before.rules.filter((rule) => !isNamed(rule));
  if (change === "unset" && rest.length === before.rules.length) {
    throw new UsageError("there is no such period: `retention show` lists them", line.command);
  }
  const days = change === "set" ? daysOf(call) : before.days;
  const body: RetentionChange = {
    days: others ? days : before.days,
    rules: change === "set" && !others ? [...rest, { source, errorCode, days }] : rest,
    changedAt: before.changedAt,
    reason: line.text("reason")!,
  };
  const after = await api.change<RetentionOut>(RETENTION, { method: "PUT", body });
  return printAnswer(call, after, () => periodsText(after));
}

function daysOf({ line }: Call): number {
  const typed = line.arguments[0]!;
  if (/^\d+$/.test(typed)) return Number(typed);
  throw new UsageError(`${JSON.stringify(typed)} is not a number of days`, line.command);
}

export const RETENTION_COMMANDS: readonly Command[] = [
  {
    name: "retention show",
    summary: "Show how long events are kept, and what would expire now",
    options: [],
    details:
      "Events expire into the archive once the day on which they were parked is older than they are kept. Those that stay are counted by reason.",
    examples: ["parkade retention show", "parkade retention show --json"],
    run: showRetention,
  },
  {
    name: "retention set",
    summary: "Set how many days events are kept",
    arguments: [{ name: "days" }],
    options: [...periodOptions, requiredReasonOption],
    details:
      "From 7 to 3650. Without --source and --errorCode: of all events that no other period names. The most specific period counts: of source and code, then of the source, then of the code.",
    examples: [
      'parkade retention set 30 --reason "what the law allows"',
      'parkade retention set 7 --source orders --errorCode TIMEOUT --reason "many, and never looked at"',
    ],
    run: (call) => changeRetention(call, "set"),
  },
  {
    name: "retention unset",
    summary: "Remove the period of a source or an error code",
    options: [...periodOptions, requiredReasonOption],
    details: "Its events are kept as long as the others from then on.",
    examples: ['parkade retention unset --source orders --reason "as all others"'],
    run: (call) => changeRetention(call, "unset"),
  },
];
