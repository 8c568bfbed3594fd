import { refusalSummary, refusedTotal } from "@/components/redrives/refusal-words";
import type { PreviewOut, SampleTarget } from "@/lib/contract/redrive-preview";
import { formatNumber } from "@/lib/core/format";

export type SampleView = {
  /** The findings of the checks, and the number of checked events. */
  found: string;
  /** Whether some events would be refused. */
  bad: boolean;
  /** The part that was not checked. */
  unchecked: string;
};

/** The checked and the unchecked parts of a preview: "nothing found" refers only to checked events. */
export function sampleView({ sample, eligible }: Pick<PreviewOut, "sample" | "eligible">): SampleView {
  if (sample === null || (sample.checked === 0 && eligible !== 0)) {
    return {
      found:
        sample === null
          ? "Payload, order and target were not checked: it took too long."
          : "None that may go was among the events looked at: payload and target were not checked.",
      bad: true,
      unchecked: "Verify checks each event and sends nothing.",
    };
  }
  const { checked, refused } = sample;
  const whole = eligible !== null && checked >= eligible;
  const scope = whole ? checkedAll(checked) : `Checked ${formatNumber(checked)} of ${countOf(eligible)}`;
  const bad = refusedTotal(refused);
  const found =
    bad === 0
      ? `${scope}: nothing found against ${checked === 1 ? "it" : "them"}.`
      : `${scope}: ${formatNumber(bad)} would be refused: ${refusalSummary(refused)}.`;
  const rest = whole || eligible === null ? "" : `the other ${formatNumber(eligible - checked)}, and `;
  return { found, bad: bad > 0, unchecked: `Not checked: ${rest}what the target answers.` };
}

function checkedAll(checked: number): string {
  return checked === 1 ? "Checked the one event" : `Checked all ${formatNumber(checked)}`;
}

function countOf(eligible: number | null): string {
  return eligible === null ? "all that match" : formatNumber(eligible);
}

/** The targets that take nothing now, one line each, with the time left. */
export function targetProblems(
  targets: readonly SampleTarget[],
): { name: string; text: string; until: string | null }[] {
  return targets.flatMap(({ name, reachable, detail, breaker, breakerUntil }) => {
    if (reachable === false) return [{ name, text: `cannot be reached: ${detail ?? "no answer"}`, until: null }];
    if (breaker === "held-open") return [{ name, text: "its breaker is held open by a person", until: null }];
    if (breaker === "open") return [{ name, text: "its breaker is open after failures", until: breakerUntil }];
    return [];
  });
}
