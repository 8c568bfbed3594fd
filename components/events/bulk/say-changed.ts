import type { QueryClient } from "@tanstack/react-query";
import { failureToast, showToast, type Toast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { arrivedSince, changeEvents, followedOperations } from "@/lib/events/bulk/bulk-operations.browser";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import type { Selection } from "@/lib/selection/selection.shapes";
import { BULK_EFFECT, type BulkKind, INVERSE } from "@/lib/states/bulk-operation.pure";
import { changedText, laterWords, VERBS } from "./bulk-words";

type Changed = Pick<BulkAnswer, "state" | "changed" | "refused" | "underWay"> & {
  /** Selects the changed events, for Undo; null = no event was changed. */
  select: Selection | null;
};

/** Shows the result in a toast, with Undo for exactly the changed events where the operation has an inverse. */
export function changedToast(client: QueryClient, kind: BulkKind, changed: Changed): Toast {
  const { title, detail } = changedText(kind, changed);
  const inverse = INVERSE[kind];
  const { select } = changed;
  // The sends under way are already a reason among the unchanged events.
  const unknown = changed.underWay === null ? underWayWords(null) : undefined;
  return {
    title,
    detail: [detail && `${detail}.`, unknown].filter(Boolean).join(" ") || undefined,
    tone: changed.changed > 0 ? "success" : "neutral",
    ...(inverse !== null && select !== null
      ? { action: { label: "Undo", onSelect: () => void takeBack(client, kind, inverse, select) } }
      : {}),
  };
}

/** The toast of a change limited to its count, with what arrived since. */
export async function countedToast(
  client: QueryClient,
  kind: BulkKind,
  answer: BulkAnswer,
  counted: { selection: Selection; cutoff: string | null },
): Promise<Toast> {
  // Before `answerToast`, whose toast of a start would otherwise replace that of the end.
  const later = laterWords(await arrivedSince(counted.selection, counted.cutoff));
  const toast = answerToast(client, kind, answer);
  return later === null ? toast : { ...toast, detail: [toast.detail, later].filter(Boolean).join(" ") };
}

/** Shows the answer to a request in a toast, and that of an operation again at its end. The strip below the page shows an operation's progress. */
function answerToast(client: QueryClient, kind: BulkKind, answer: BulkAnswer): Toast {
  // The toast at its end has the same id and replaces this one.
  if (answer.id !== null) {
    followedOperations.follow(answer.id);
    return { id: answer.id, title: `${VERBS[kind].doing} events`, detail: "You can leave this page." };
  }
  const { ids } = answer;
  return changedToast(client, kind, { ...answer, select: ids === null || ids.length === 0 ? null : { ids } });
}

export async function takeBack(
  client: QueryClient,
  kind: BulkKind,
  inverse: BulkKind,
  select: Selection,
): Promise<void> {
  try {
    const answer = await changeEvents(client, {
      kind: inverse,
      select,
      reason: `undone: they had been ${VERBS[kind].done.toLowerCase()}`,
      // Undo restores failures and cooldown; a release by a person would reset them.
      ...(inverse === "release" ? { keepLimits: true } : {}),
    });
    if (answer.id !== null) return void showToast(answerToast(client, inverse, answer));
    void showToast({
      title: `${plural(answer.changed, "event")} ${answer.changed === 1 ? "is" : "are"} ${BULK_EFFECT[inverse].after.status ?? "at their previous revision"} again`,
      detail: changedText(inverse, answer).detail,
      tone: answer.changed > 0 ? "success" : "error",
    });
  } catch (error) {
    failureToast("Undo failed", error);
  }
}
