import { decided, sizeOf } from "@/components/redrive/progress-segments";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { isStandstill } from "@/lib/redrive/life/stalled.pure";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";

export type Result = { tone: "running" | "still" | "ended" | "failed"; words: string };

type Counted = Pick<
  RedriveOut,
  | "state"
  | "mode"
  | "total"
  | "delivered"
  | "passed"
  | "failed"
  | "refused"
  | "cancelled"
  | "open"
  | "stalled"
  | "brakeSeen"
>;

/** What a followed redrive does, or how it ended: `Ended: 120 delivered, 3 failed`. */
export function resultOf(redrive: Counted): Result {
  const { state, open, stalled } = redrive;
  if (isFinal(state) && open > 0) return { tone: "running", words: `Cancelling: ${plural(open, "event")} left` };
  if (!isFinal(state)) {
    if (stalled !== null) return { tone: isStandstill(redrive) ? "still" : "running", words: stalled.text };
    return { tone: "running", words: `${formatNumber(decided(redrive))} of ${plural(sizeOf(redrive), "event")}` };
  }
  const ended = state === "CANCELLED" ? "Cancelled" : "Ended";
  return { tone: redrive.failed > 0 ? "failed" : "ended", words: `${ended}: ${countWords(redrive)}` };
}

function countWords({ mode, delivered, passed, failed, refused, cancelled }: Counted): string {
  const counts: [number, string][] = [
    mode === "verify" ? [passed, "would be sent"] : [delivered, "delivered"],
    [failed, "failed"],
    [refused, mode === "verify" ? "would be refused" : "left out"],
    [cancelled, "cancelled"],
  ];
  const said = counts.filter(([count]) => count > 0).map(([count, word]) => `${formatNumber(count)} ${word}`);
  return said.length === 0 ? "no events" : said.join(", ");
}

/** The one line of several: `3 redrives: 1 running, 2 ended`. */
export function groupWords(results: readonly Result[]): string {
  const count = (...tones: Result["tone"][]) => results.filter(({ tone }) => tones.includes(tone)).length;
  const parts = [
    [count("running"), "running"],
    [count("still"), "stalled"],
    [count("ended"), "ended"],
    [count("failed"), "ended with failures"],
  ] as const;
  const said = parts.filter(([many]) => many > 0).map(([many, word]) => `${many} ${word}`);
  return `${plural(results.length, "redrive")}: ${said.join(", ")}`;
}

/** It was taken back before anything was sent: the person knows. */
export function isUndone({ state, delivered, failed }: Counted): boolean {
  return state === "CANCELLED" && delivered + failed === 0;
}
