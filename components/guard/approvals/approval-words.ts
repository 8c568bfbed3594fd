import { recipeWords } from "@/components/repair/mends/recipe-draft";
import type { ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { formatNumber, formatRate, formatShare } from "@/lib/platform/plain/format.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import type { RecordedRecipe } from "@/lib/selection/operations/recipe.shapes";

/** `waits for approval`; null = it waits for nothing. An approval comes first: a person must answer it. */
export function waitWords(waitsFor: RedriveOut["waitsFor"]): string | null {
  if (waitsFor.includes("approval")) return "waiting for a second person to approve it";
  if (waitsFor.includes("time")) return "waiting for its start time";
  return waitsFor.includes("breaker") ? "waiting for its target's breaker to close" : null;
}

export const APPROVAL_WORDS: Record<ApprovalOut["state"], string> = {
  asked: "waiting for approval",
  given: "approved",
  rejected: "rejected",
  expired: "expired",
  voided: "voided",
  withdrawn: "withdrawn",
};

/** What is approved, as rows of a name and its words. */
export function termRows({ terms }: Pick<ApprovalOut, "terms">): { name: string; words: string }[] {
  const { events, lane } = terms;
  const mend = terms.recipe as { recipe: RecordedRecipe; breaking: boolean } | null;
  return [
    { name: "Events", words: formatNumber(events) },
    ...(mend ? [{ name: "Recipe", words: recipeWords(mend.recipe) }] : []),
    ...(mend?.breaking
      ? [{ name: "Schema", words: "includes events whose mended payload does not match their schema" }]
      : []),
    // A mend sends nothing.
    ...(lane === null ? [] : sendRows({ ...terms, lane })),
  ];
}

function sendRows(terms: ApprovalOut["terms"] & { lane: string }): { name: string; words: string }[] {
  const { lane, target, ratePerSecond, canary, brake, earlier, despite, startAt } = terms;
  const brakeTerms = brake as { ratio: number; window: number } | null;
  return [
    ...(startAt === undefined
      ? []
      : [{ name: "Starts", words: `not before ${startAt.slice(0, 16).replace("T", " ")} UTC` }]),
    { name: "Target", words: target ?? "the target of each event's source" },
    { name: "Lane", words: lane },
    {
      name: "Rate",
      words: ratePerSecond === null ? "as fast as its targets accept" : `${formatRate(ratePerSecond)} at most`,
    },
    { name: "Canary", words: canary === null ? "none" : `${canary.steps.map(formatNumber).join(", ")}, then all` },
    {
      name: "Brake",
      words:
        brakeTerms === null
          ? "none"
          : `when more than ${formatShare(brakeTerms.ratio)} of the last ${brakeTerms.window} fail`,
    },
    ...(earlier === "include" ? [{ name: "Order", words: "includes earlier versions" }] : []),
    ...(earlier === "pass" ? [{ name: "Order", words: "sends out of order: earlier versions stay parked" }] : []),
    ...(despite.length > 0 ? [{ name: "Overrides", words: despite.join(", ") }] : []),
  ];
}
