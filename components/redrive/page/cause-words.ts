import { type SegmentKind, segmentLabel } from "@/components/redrive/progress-segments";
import { refusalSentence } from "@/components/redrive/refusal-words";
import { stopText } from "@/lib/events/detail/history-text.pure";
import type { RedriveCauses, RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import type { ItemOutcomeWord } from "@/lib/states/item-state.pure";

type Cause = RedriveCauses["causes"][number];

const ORDER: readonly Cause["outcome"][] = ["failed", "bounced", "refused"];

export type CauseView = {
  key: string;
  outcome: Cause["outcome"];
  result: string;
  /** `412 answered UPSTREAM_5XX`, `120 blacklisted: lift the control first`. */
  title: string;
  count: number;
  /** The share of all events that were not sent, 0..1. */
  share: number;
  samples: RedriveItemOut[];
  /** The distinct texts of the samples, most frequent first: a stack that occurs five times is one line. */
  texts: { text: string; count: number }[];
  /** The reason why another send would probably fail again; null when it may succeed. */
  advice: string | null;
  /** Other bytes may change the outcome. */
  mendable: boolean;
  /** The reasons why the samples were not retried, each once. */
  stops: string[];
};

/** Causes that stay until a person acts: another send would be refused again. */
const NEEDS_ACTION = new Set([
  "ignored",
  "blacklisted",
  "redrive-limit",
  "not-found",
  "schema-mismatch",
  "schema-timeout",
  "payload-too-large",
  "no-target",
  "version-superseded",
]);

/** Causes that are not in the bytes of the event: a mend is refused, or changes nothing about them. */
const NOT_IN_BYTES = new Set(["held-by-head", "already-redriven", "already-queued", "not-found"]);

/** The reasons of refusals that other bytes may change, with their counts. */
export function mendableRefusals(refused: RedriveOut["refusedByReason"]): [reason: string, count: number][] {
  return Object.entries(refused).filter(([reason, count]) => count > 0 && !NOT_IN_BYTES.has(reason));
}

/** The causes of failures and refusals, merged by outcome and result: failures first, then by count. */
export function causeViews(causes: RedriveCauses["causes"]): CauseView[] {
  const merged = new Map<string, Cause>();
  for (const cause of causes) {
    const key = `${cause.outcome}:${cause.result}`;
    const known = merged.get(key);
    if (known)
      merged.set(key, { ...known, count: known.count + cause.count, samples: [...known.samples, ...cause.samples] });
    else merged.set(key, cause);
  }
  const total = [...merged.values()].reduce((sum, cause) => sum + cause.count, 0);
  return [...merged]
    .map(([key, cause]) => ({
      ...cause,
      key,
      title: causeSentence(cause),
      share: total === 0 ? 0 : cause.count / total,
      texts: distinctTexts(cause.samples),
      stops: [...new Set(cause.samples.map((sample) => stopText(sample.stopped)).filter((stop) => stop !== null))],
      mendable: cause.outcome !== "refused" || !NOT_IN_BYTES.has(cause.result),
      advice: NEEDS_ACTION.has(cause.result) ? "If sent now, these would be refused again." : null,
    }))
    .sort(
      (a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome) || b.count - a.count || a.key.localeCompare(b.key),
    );
}

const FAILURES: Record<string, string> = {
  TIMEOUT: "did not answer in time",
  UPSTREAM_5XX: "was answered with a server error",
  UPSTREAM_4XX: "was answered with a client error",
  exhausted: "failed on every attempt",
  ambiguous: "was sent, but the answer is unknown",
};

function causeSentence({ outcome, result }: Cause): string {
  if (outcome === "refused") return refusalSentence(result);
  return outcome === "bounced" ? "bounced after it was sent" : failureSentence(result);
}

function failureSentence(result: string): string {
  return Object.hasOwn(FAILURES, result) ? FAILURES[result]! : "failed";
}

function distinctTexts(samples: RedriveItemOut[]): { text: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const text = sample.detail?.trim() || sample.findings.find((finding) => finding.ok === false)?.detail;
    if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => ({ text, count })).sort((a, b) => b.count - a.count);
}

/** `name`: in the address of the page. `outcome`: of the listed items. */
export type OutcomeTab = { name: SegmentKind; outcome: ItemOutcomeWord[]; label: string; count: number };

const OUTCOMES: Partial<Record<SegmentKind, ItemOutcomeWord[]>> = { unknown: ["sent", "deduplicated"] };

/** Outcomes with items to list, and their counts. A dry run delivers nothing, a delivery passes nothing. */
export function outcomeTabs(
  redrive: Pick<
    RedriveOut,
    | "confirmed"
    | "bounced"
    | "unknown"
    | "passed"
    | "failed"
    | "refused"
    | "refusedByReason"
    | "cancelled"
    | "open"
    | "mode"
  >,
): OutcomeTab[] {
  const { mode } = redrive;
  // The legend of the bar counts them apart.
  const holds = (redrive.refusedByReason["held-by-head"] ?? 0) > 0;
  const went = mode === "verify" ? (["passed"] as const) : (["confirmed", "unknown", "bounced"] as const);
  return ([...went, "failed", "refused", "open", "cancelled"] as const).map((name) => ({
    name,
    outcome: OUTCOMES[name] ?? [name as ItemOutcomeWord],
    label: name === "refused" && holds ? `${segmentLabel(name, mode)} or held` : segmentLabel(name, mode),
    count: redrive[name],
  }));
}
