import { parseRate } from "@/components/redrives/rate-scale";
import type { TargetOut } from "@/lib/contract/sources";
import type { TargetChange } from "@/lib/contract/targets";

/** A target's form: what was typed, so that nothing is lost while it is not yet a number. */
export type TargetDraft = {
  unlimited: boolean;
  rate: string;
  /** Empty = the default of the rate. */
  burst: string;
  bulkhead: string;
  policyName: string;
  retryable: boolean;
  reason: string;
};

export function targetDraft(target: TargetOut): TargetDraft {
  return {
    unlimited: target.ratePerSecond === null,
    rate: target.ratePerSecond === null ? "" : String(target.ratePerSecond),
    burst: target.burst === null ? "" : String(target.burst),
    bulkhead: String(target.bulkhead),
    policyName: target.policyName,
    retryable: target.retryable,
    reason: "",
  };
}

type Fields = Partial<Record<"rate" | "burst" | "bulkhead" | "reason", string>>;
export type TargetResult = { ok: true; change: TargetChange } | { ok: false; errors: Fields };

/** Only what differs from the target is sent: two operators who change two things do not undo each other. */
export function targetChange(target: TargetOut, draft: TargetDraft): TargetResult {
  const errors: Fields = {};
  const rate = draft.unlimited ? null : parseRate(draft.rate);
  const burst = draft.burst.trim() === "" ? null : parseRate(draft.burst);
  const bulkhead = Number(draft.bulkhead);
  if (!draft.unlimited && rate === null) errors.rate = "Events per second, above 0 and at most 100,000.";
  if (draft.burst.trim() !== "" && burst === null) errors.burst = "A number above 0, or empty.";
  // Below one event a second a bucket still holds one, or nothing would ever fit it.
  if (burst !== null && rate !== null && burst > Math.max(1, rate))
    errors.burst = "At most one second's worth of the rate.";
  if (!Number.isInteger(bulkhead) || bulkhead < 1 || bulkhead > 1_000) errors.bulkhead = "A whole number, 1 to 1,000.";
  if (draft.reason.trim() === "") errors.reason = "Say why: the reason is kept in the audit.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const wanted = { ratePerSecond: rate, burst, bulkhead, policyName: draft.policyName, retryable: draft.retryable };
  const changed = Object.entries(wanted).filter(([name, value]) => target[name as keyof typeof wanted] !== value);
  return { ok: true, change: { ...Object.fromEntries(changed), reason: draft.reason.trim() } };
}

/** Whether anything beside the reason would change. */
export function changesSomething(change: TargetChange): boolean {
  return Object.keys(change).some((name) => name !== "reason");
}
