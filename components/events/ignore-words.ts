import { formatNumber, plural } from "@/lib/browser/format";
import type { BulkAnswer } from "@/lib/contract/events";
import { REFUSAL_TEXT, type Refusal } from "@/lib/core/refusal";

/** From here on a number is typed: nobody ignores thousands by a slip of the hand. */
const TYPED_FROM = 1_000;

/** What must be typed to confirm a set of this size: its number, `all` when it is not known, null for a small one. */
export function mustType(total: number | null): string | null {
  if (total === null) return "all";
  return total > TYPED_FROM ? String(total) : null;
}

const CHANGE_REFUSALS: Record<string, string> = {
  "not-pending": "not PENDING",
  "not-ignored": "not IGNORED",
  "already-ignored": "already IGNORED",
};

/** What was left alone for one reason: `2 not PENDING`, `3 sends already under way`. */
function leftText(reason: string, count: number): string {
  if (reason === "in-flight") return `${plural(count, "send")} already under way`;
  return `${formatNumber(count)} ${reasonText(reason)}`;
}

function reasonText(reason: string): string {
  if (reason in REFUSAL_TEXT) return REFUSAL_TEXT[reason as Refusal].replace(/^(is|has|was) /, "");
  return CHANGE_REFUSALS[reason] ?? reason;
}

/** `Ignored 37 events`, and what was left alone and why. */
export function changedText(
  kind: "ignore" | "release",
  { changed, refused }: Pick<BulkAnswer, "changed" | "refused">,
): { title: string; detail: string | undefined } {
  const verb = kind === "ignore" ? "Ignored" : "Released";
  const left = Object.entries(refused).filter(([, count]) => count > 0);
  const detail = left.map(([reason, count]) => leftText(reason, count)).join(" · ");
  return {
    title: changed === 0 ? `Nothing was ${verb.toLowerCase()}` : `${verb} ${plural(changed, "event")}`,
    detail: detail === "" ? undefined : `Left alone: ${detail}`,
  };
}
