import { refusalSentence, refusalSummary, refusedTotal } from "@/components/redrive/refusal-words";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import type { PreviewOut, SampleOut, SampleTarget } from "@/lib/redrive/preview/redrive-preview.shapes";

type SampleView = {
  /** The findings of the checks, and the number of checked events. */
  found: string;
  /** Whether some events would be refused. */
  bad: boolean;
  /** The part that was not checked. */
  unchecked: string;
  /** The events that are refused for what they are, not for what is before them; a person can look at them. */
  causes: { id: string; label: string }[];
};

/** The checked and the unchecked parts of a preview: "nothing found" refers only to checked events. */
export function sampleView({ sample, eligible }: Pick<PreviewOut, "sample" | "eligible">): SampleView {
  if (sample === null || (sample.checked === 0 && eligible !== 0)) {
    return {
      found:
        sample === null
          ? "Payload, order and target were not checked: the check took too long."
          : "None of the sampled events can be sent, so payload and target were not checked.",
      bad: true,
      unchecked: "Verify checks each event and sends nothing.",
      causes: [],
    };
  }
  const { checked, refused, samples } = sample;
  const whole = sample.whole || (eligible !== null && checked >= eligible);
  const scope = whole
    ? checkedAll(checked)
    : `Checked ${formatNumber(checked)} of ${eligible === null ? "all that match" : formatNumber(eligible)}`;
  const bad = refusedTotal(refused);
  const own = samples.filter(({ refusal }) => refusal !== "held-by-head");
  const rest = whole || eligible === null ? "" : `the other ${formatNumber(eligible - checked)}, and `;
  return {
    found: bad === 0 ? `${scope}: no problems found.` : faultWords(sample, scope, whole),
    bad: bad > 0,
    unchecked: `Not checked: ${rest}the target's answer.`,
    causes: own.slice(0, CAUSES_SHOWN).map((cause) => ({ id: cause.id, label: labelOf(cause, own.length) })),
  };
}

const CAUSES_SHOWN = 3;

/** `3 of 4 cannot go: v3 fails its schema, 2 wait behind it.`; of many faults the numbers by reason. */
function faultWords({ checked, refused, samples }: SampleOut, scope: string, whole: boolean): string {
  const bad = refusedTotal(refused);
  const { "held-by-head": held = 0, ...own } = refused;
  const causes = samples.filter(({ refusal }) => refusal !== "held-by-head");
  const fewCauses = whole && causes.length === refusedTotal(own) && causes.length <= CAUSES_SHOWN;
  if (!fewCauses) return `${scope}: ${formatNumber(bad)} would be refused: ${refusalSummary(refused)}.`;
  const named = causes.map((cause) => `${labelOf(cause, causes.length)} ${refusalSentence(cause.refusal)}`).join(", ");
  const behind =
    held === 0
      ? ""
      : `, ${plural(held, "event")} ${held === 1 ? "waits" : "wait"} behind ${causes.length === 1 ? "it" : "them"}`;
  return `${formatNumber(bad)} of ${formatNumber(checked)} cannot be sent: ${named}${behind}.`;
}

/** A version names an event of one aggregate alone, and several causes may be of several aggregates. */
function labelOf({ version, eventId }: SampleOut["samples"][number], causes: number): string {
  return version === null || causes > 1 ? shortenId(eventId) : `v${version}`;
}

function checkedAll(checked: number): string {
  return checked === 1 ? "Checked the one event" : `Checked all ${formatNumber(checked)}`;
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
