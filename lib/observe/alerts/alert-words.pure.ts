import type {
  AuditFact,
  ContractFact,
  GroupFact,
  RedriveFact,
  RoomFact,
  SourceFact,
  TargetFact,
} from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { AlertKind, SourceFault } from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { Usual } from "@/lib/observe/baseline.pure";
import { formatDuration, formatNumber, formatShare, plural, visible } from "@/lib/platform/plain/format.pure";

/** The sentences of alerts, the same in the console, in every channel and in the terminal. */

const QUOTED_MAX = 160;

/** A text from outside, short and with its invisible characters shown. */
export function quoted(text: string): string {
  const shown = [...visible(text.replace(/\s+/g, " ").trim())];
  return shown.length <= QUOTED_MAX ? shown.join("") : `${shown.slice(0, QUOTED_MAX - 1).join("")}…`;
}

/** `orders: `, or nothing for every source. */
const of = (source: string | null) => (source === null ? "" : `${quoted(source)}: `);

export function size(source: string | null, count: number, above: number): string {
  return `${of(source)}${plural(count, "event is", "events are")} parked, the limit is ${formatNumber(above)}`;
}

/** `muted`: arrivals of muted groups, which `count` leaves out. */
type Inflow = { count: number; usual: Usual | null; factor: number | null; windowMs: number; muted: number };

export function inflow(source: string | null, { count, usual, factor, windowMs, muted }: Inflow): string {
  const arrived = `${of(source)}${plural(count, "event")} arrived in ${formatDuration(windowMs)}`;
  const without = muted === 0 ? "" : `; ${plural(muted, "event")} of ignored groups not counted`;
  if (usual === null) return `${arrived}; what is usual is not known yet${without}`;
  if (factor === null) return `${arrived}, usually none${without}`;
  return `${arrived}, ${formatFactor(factor)} × the usual ${formatFactor(usual.median)}${without}`;
}

/** A factor, or a usual number, which may be a half: `7.6`, `41`. */
export function formatFactor(value: number): string {
  return value < 10 ? String(Math.round(value * 10) / 10) : formatNumber(value);
}

export function silence(source: string | null, { usual, windowMs }: { usual: number; windowMs: number }): string {
  return `${of(source)}nothing arrived in ${formatDuration(windowMs)}, where ${formatFactor(usual)} are usual`;
}

export function age(source: string | null, ageMs: number, aboveMs: number): string {
  return `${of(source)}one parked event in twenty is older than ${formatDuration(ageMs)}, the limit is ${formatDuration(aboveMs)}`;
}

type Success = { share: number; settled: number; windowMs: number; below: number };

export function success(source: string | null, { share, settled, windowMs, below }: Success): string {
  return `${of(source)}${formatShare(share)} of ${plural(settled, "redriven event")} stayed processed in ${formatDuration(windowMs)}, the limit is ${formatShare(below)}`;
}

export function newGroup({ source, errorCode, pattern, arrived }: GroupFact): string {
  return `New group in ${quoted(source)}: ${quoted(errorCode)} "${quoted(pattern)}", ${plural(arrived, "event")}`;
}

export function groupBack({ source, errorCode, pattern, arrived, runSinceMs, beforeMs }: GroupFact): string {
  const pause = beforeMs === null ? "" : ` after ${formatDuration(runSinceMs - beforeMs)}`;
  return `Back in ${quoted(source)}${pause}: ${quoted(errorCode)} "${quoted(pattern)}", ${plural(arrived, "event")}`;
}

export function breaker({ target, breaker: { forced } }: TargetFact): string {
  return forced
    ? `A person holds the breaker of ${quoted(target)} open: nothing is sent there`
    : `The breaker of ${quoted(target)} is open: its sends failed`;
}

export function healing({ target, healingSteps }: TargetFact): string {
  return `Sends to ${quoted(target)} are slowed down by ${plural(healingSteps, "step")}: too many were repeated or timed out`;
}

const FAULT_WORDS: Record<SourceFault, string> = {
  failing: "cannot be read",
  unreachable: "cannot be reached",
  unread: "is read by no worker",
};

export function source({ source: name, fault, detail }: SourceFact): string {
  return `Source ${quoted(name)} ${FAULT_WORDS[fault]}${detail === "" ? "" : `: ${quoted(detail)}`}`;
}

export function contract({ target, source, broken }: ContractFact): string {
  const whose = target === null ? `Source ${quoted(source)}` : `Target ${quoted(target)}`;
  return `${whose} breaks its contract: ${quoted(broken.join(", "))}`;
}

export function room({ sentence }: RoomFact): string {
  return sentence;
}

export function audit({ findings, first }: AuditFact): string {
  return `A check of the audit found ${plural(findings, "fault")}, the first: ${quoted(first)}`;
}

export function redrive({ reason, why }: RedriveFact): string {
  return `Redrive "${quoted(reason)}" stands still: ${quoted(why)}`;
}

/** What a kind watches, for lists and forms. */
export const KIND_WORDS: Record<AlertKind, string> = {
  size: "Parked events above a number",
  inflow: "More arrivals than usual",
  silence: "No arrivals where some are usual",
  age: "Age of parked events above a limit",
  "new-group": "A group that was never seen before",
  "group-back": "A group that comes back",
  success: "Redriven events that fail or come back",
  breaker: "The breaker of a target is open",
  healing: "Sends to a target are slowed down",
  source: "A source is not read",
  contract: "A contract is broken",
  storage: "Little room left for events",
  audit: "The audit does not match its seals",
  "redrive-still": "A redrive stands still",
};
