import { REFUSAL_TEXT, type Refusal } from "@/lib/states/refusal.pure";

/** Short names for a line of counts; REFUSAL_TEXT has the full texts. */
const SHORT: Record<Refusal, string> = {
  "already-queued": "in another redrive",
  "already-redriven": "already redriven",
  ignored: "ignored",
  blacklisted: "blacklisted",
  cooling: "cooling",
  "redrive-limit": "at the redrive limit",
  "parked-early": "parked early",
  "needs-confirmation": "need confirmation",
  "not-found": "gone",
  "changed-since": "changed since the check",
  "payload-unparsable": "unparsable payload",
  "schema-mismatch": "schema mismatch",
  "schema-timeout": "schema too slow",
  "payload-too-large": "too large",
  "no-target": "no target",
  "target-unreachable": "target unreachable",
  "breaker-open": "breaker open",
  "version-superseded": "superseded version",
  "held-by-head": "held by an earlier event",
  "check-refused": "rejected by its target's owner",
  "check-unanswered": "check call unanswered",
};

function isRefusal(reason: string): reason is Refusal {
  return Object.hasOwn(REFUSAL_TEXT, reason);
}

/** A reason that this version does not know is shown unchanged. */
export function refusalShort(reason: string): string {
  return isRefusal(reason) ? SHORT[reason] : reason.replaceAll("-", " ");
}

export function refusalSentence(reason: string): string {
  return isRefusal(reason) ? REFUSAL_TEXT[reason] : `was refused: ${reason}`;
}

type RefusalLine = { reason: string; short: string; sentence: string; count: number };

/** Reasons by count, largest first; zero counts are left out. */
export function refusalLines(refused: Record<string, number>): RefusalLine[] {
  return Object.entries(refused)
    .filter(([, count]) => count > 0)
    .sort(([a, countA], [b, countB]) => countB - countA || a.localeCompare(b))
    .map(([reason, count]) => ({ reason, short: refusalShort(reason), sentence: refusalSentence(reason), count }));
}

export function refusedTotal(refused: Record<string, number>): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

/** Refusals that are neither items of the redrive nor part of its total. */
const NO_ITEMS: readonly Refusal[] = ["not-found", "changed-since"];

/** How many events a new redrive sends, or checks. */
export function acceptedEvents(accepted: { total: number; refused: number; refusedByReason: Record<string, number> }) {
  const { total, refused, refusedByReason } = accepted;
  return NO_ITEMS.reduce((sum, reason) => sum + (refusedByReason[reason] ?? 0), total - refused);
}

/** `blacklisted 120 · cooling 41 · ignored 20`; reasons after the first `most` are added up. */
export function refusalSummary(refused: Record<string, number>, most = 4): string {
  const lines = refusalLines(refused);
  const shown = lines.slice(0, most).map((line) => `${line.short} ${line.count.toLocaleString("en-US")}`);
  const rest = lines.slice(most).reduce((sum, line) => sum + line.count, 0);
  return rest > 0 ? [...shown, `other ${rest.toLocaleString("en-US")}`].join(" · ") : shown.join(" · ");
}
