import { type Call, countText, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { UsageError } from "@/lib/cli/command-line";
import { factsText } from "@/lib/cli/table";
import type { RetentionChange, RetentionOut, RetentionPreview } from "@/lib/keep/retention/retention.shapes";
import { formatBytes, formatNumber, plural } from "@/lib/platform/plain/format.pure";

const RETENTION = "api/v1/retention";

export async function showRetention(call: Call): Promise<number> {
  const retention = await call.api.get<RetentionOut>(RETENTION);
  const preview = await call.api.get<RetentionPreview>(`${RETENTION}/preview`);
  await printAnswer(call, { ...retention, preview }, () => periodsText(retention) + dueText(preview));
  return EXIT.done;
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
export async function changeRetention(call: Call, change: "set" | "unset"): Promise<number> {
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
  await printAnswer(call, after, () => periodsText(after));
  return EXIT.done;
}

function daysOf({ line }: Call): number {
  const typed = line.arguments[0]!;
  if (/^\d+$/.test(typed)) return Number(typed);
  throw new UsageError(`${JSON.stringify(typed)} is no number of days`, line.command);
}
