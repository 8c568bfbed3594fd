import type { AdmissionMark } from "@/lib/states/admission-mark.pure";

export const MARK_WORDS: Record<AdmissionMark, string> = {
  early: "parked early",
  superseded: "older version",
  confirm: "needs confirmation",
};

export const MARK_DETAIL: Record<AdmissionMark, string> = {
  early: "Its failure is permanent: a redrive sends it only if the redrive request confirms it.",
  superseded:
    "A newer version of its aggregate had been processed when it arrived. The dry run refuses it as long as that is the case.",
  confirm: "A rule requires confirmation: a redrive sends it only if the redrive request confirms it.",
};

/** The page of admission with one rule alone. */
export function ruleHref(id: string): string {
  return `/admission?rule=${encodeURIComponent(id)}`;
}
