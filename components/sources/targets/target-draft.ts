import { parseRate } from "@/components/redrive/rate-scale";
import type { Asked } from "@/components/ui/draft-dialog";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { Fallback } from "@/lib/redrive/run/fallback.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";

export type TargetDraft = {
  unlimited: boolean;
  rate: string;
  /** Empty = the default for the rate. */
  burst: string;
  bulkhead: string;
  policyName: string;
  retryable: boolean;
  needsApproval: boolean;
  /** Seconds; empty = none. */
  warmUp: string;
  noBursts: boolean;
  /** `none`, `defer`, `slow-lane`, or `target:` and a name. */
  fallback: string;
  deferMinutes: string;
};

export function targetDraft(target: TargetOut): TargetDraft {
  return {
    unlimited: target.ratePerSecond === null,
    rate: target.ratePerSecond === null ? "" : String(target.ratePerSecond),
    burst: target.burst === null ? "" : String(target.burst),
    bulkhead: String(target.bulkhead),
    policyName: target.policyName,
    retryable: target.retryable,
    needsApproval: target.needsApproval,
    warmUp: target.warmUpMs === 0 ? "" : String(target.warmUpMs / 1_000),
    noBursts: target.noBursts,
    fallback:
      target.fallback?.kind === "target" ? `target:${target.fallback.target}` : (target.fallback?.kind ?? "none"),
    deferMinutes: target.fallback?.kind === "defer" ? String(target.fallback.deferMs / 60_000) : "5",
  };
}

/** Only changed fields are sent, so that two operators who change two fields do not undo each other. */
export function targetChange(target: TargetOut, draft: TargetDraft, reason: string): Asked<TargetChange> {
  const errors: Partial<Record<keyof TargetDraft, string>> = {};
  const rate = draft.unlimited ? null : parseRate(draft.rate);
  const burst = draft.burst.trim() === "" ? null : parseRate(draft.burst);
  const bulkhead = Number(draft.bulkhead);
  if (!draft.unlimited && rate === null) errors.rate = "Events per second, above 0 and at most 100,000.";
  if (draft.burst.trim() !== "" && burst === null) errors.burst = "A number above 0, or empty.";
  // The smallest bucket holds one event; a smaller bucket would never let an event through.
  if (burst !== null && rate !== null && burst > Math.max(1, rate))
    errors.burst = "At most one second's worth of the rate.";
  if (!Number.isInteger(bulkhead) || bulkhead < 1 || bulkhead > 1_000) errors.bulkhead = "A whole number, 1 to 1,000.";
  const warmUpMs = Math.round(Number(draft.warmUp.trim()) * 1_000);
  if (!(warmUpMs >= 0 && warmUpMs <= 3_600_000)) errors.warmUp = "Seconds, 0 to 3,600, or empty.";
  const deferMs = Math.round(Number(draft.deferMinutes.trim()) * 60_000);
  if (draft.fallback === "defer" && !(deferMs >= 1_000 && deferMs <= 86_400_000))
    errors.deferMinutes = "Minutes, above 0 and at most 1,440.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const { policyName, retryable, needsApproval, noBursts } = draft;
  const fallback = fallbackOf(draft.fallback, deferMs);
  const pace = { ratePerSecond: rate, burst, bulkhead, warmUpMs, noBursts };
  const wanted = { ...pace, policyName, retryable, needsApproval, fallback };
  const changed = Object.entries(wanted).filter(
    ([name, value]) => JSON.stringify(target[name as keyof typeof wanted]) !== JSON.stringify(value),
  );
  return { ok: true, request: { ...Object.fromEntries(changed), reason } };
}

function fallbackOf(choice: string, deferMs: number): Fallback | null {
  if (choice === "none") return null;
  if (choice === "defer") return { kind: "defer", deferMs };
  return choice === "slow-lane" ? { kind: "slow-lane" } : { kind: "target", target: choice.slice("target:".length) };
}

/** `waits 5 min`, `goes to the slow lane`; null = no fallback. */
export function fallbackWords(fallback: Fallback | null): string | null {
  if (fallback === null) return null;
  if (fallback.kind === "defer") return `waits ${formatDuration(fallback.deferMs)}`;
  return fallback.kind === "slow-lane" ? "sends to the slow lane" : `sends to ${fallback.target}`;
}

/** Whether a field other than the reason changes. */
export function changesSomething(change: TargetChange): boolean {
  return Object.keys(change).some((name) => name !== "reason");
}
