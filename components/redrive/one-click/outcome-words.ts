import { refusalSentence } from "@/components/redrive/refusal-words";
import type { RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { ITEM_ENDS } from "@/lib/states/item-state.pure";
import { isFinal } from "@/lib/states/redrive-state.pure";
import { GATE_REFUSALS } from "@/lib/states/refusal.pure";

type OutcomeWords = { title: string; detail?: string; tone: "neutral" | "success" | "error" };

type Item = Pick<RedriveItemOut, "state" | "outcome" | "result" | "detail" | "attempts" | "findings">;

/** The outcome of a redrive of one event: the only counter that is not zero. null while the item is open. */
export function outcomeState(
  redrive: Pick<RedriveOut, "state" | "open" | "delivered" | "passed" | "failed" | "refused" | "cancelled">,
): Item["state"] | null {
  if (redrive.open > 0 || !isFinal(redrive.state)) return null;
  return ITEM_ENDS.find((state) => redrive[state] > 0) ?? null;
}

function why(item: Item): string {
  const wrong = item.findings.find((finding) => finding.ok === false)?.detail;
  return item.detail?.trim() || wrong || item.result || "no reason was recorded";
}

function withWarnings(said: string, { findings }: Item): string {
  return `${[said, ...findings.flatMap(({ warning, detail }) => (warning ? [detail] : []))].join("; ")}.`;
}

/** The outcome of the redrive (or dry run) of one event, in the words of a toast. */
export function outcomeWords(name: string, mode: RedriveOut["mode"], item: Item): OutcomeWords {
  switch (item.state) {
    case "delivered":
      return item.outcome === "deduplicated" || item.result === "ALREADY_PROCESSED"
        ? { title: `${name} was deduplicated`, detail: "Its target already had it.", tone: "success" }
        : { title: `${name} was sent`, detail: withWarnings("The target accepted it", item), tone: "success" };
    case "passed":
      return {
        title: `${name} passed every check`,
        detail: withWarnings("Nothing was sent", item),
        tone: "success",
      };
    case "failed":
      return { title: `${name} failed`, detail: why(item), tone: "error" };
    case "refused": {
      const title = mode === "verify" ? `${name} would be refused` : `${name} was refused`;
      const sentence = `It ${refusalSentence(item.result ?? "")}.`;
      // What the gate found is in the sentence already.
      const byGate = GATE_REFUSALS.some((refusal) => refusal === item.result);
      const found = byGate ? undefined : item.findings.find((finding) => finding.ok === false)?.detail;
      return { title, detail: found ? `${sentence} ${found}` : sentence, tone: "error" };
    }
    case "cancelled":
      // Only an event without an attempt certainly did not leave.
      return item.attempts === 0
        ? { title: "Cancelled before it was sent", detail: `${name} stays parked.`, tone: "success" }
        : {
            title: `${name} was cancelled after ${item.attempts === 1 ? "an attempt" : `${item.attempts} attempts`}`,
            detail: "Its target may have received it: see its history.",
            tone: "error",
          };
    case "open":
      return { title: `${name} is not finished yet`, tone: "neutral" };
  }
}
