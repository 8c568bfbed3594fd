import type { AdmissionMark } from "@/lib/states/admission-mark.pure";

export const MARK_WORDS: Record<AdmissionMark, string> = {
  early: "parked early",
  superseded: "older version",
  confirm: "needs confirmation",
};

export const MARK_DETAIL: Record<AdmissionMark, string> = {
  early: "Its failure is permanent: a redrive sends it only when its request confirms that.",
  superseded:
    "A newer version of its aggregate had been processed when it arrived. The dry run refuses it while that holds.",
  confirm: "A rule asks for a confirmation: a redrive sends it only when its request gives one.",
};

/** The page of admission with one rule alone. */
export function ruleHref(id: string): string {
  return `/admission?rule=${encodeURIComponent(id)}`;
}
