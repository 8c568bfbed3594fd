import type { QueryClient } from "@tanstack/react-query";
import { failureToast, showToast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { fetchJson } from "@/lib/browser/fetch-json";
import { plural } from "@/lib/browser/format";
import { invalidateAfter } from "@/lib/browser/keys";
import type { BulkAnswer } from "@/lib/contract/events";
import { changedText } from "./ignore-words";

type Kind = "ignore" | "release";

/** Says what an ignore or a release changed, with Undo over exactly these events. */
export function sayMoved(client: QueryClient, kind: Kind, answer: BulkAnswer): void {
  if (answer.state === "RUNNING") {
    void showToast({ title: kind === "ignore" ? "Ignoring them" : "Releasing them", detail: "A worker changes them." });
    return;
  }
  const { title, detail } = changedText(kind, answer);
  const { ids } = answer;
  const undoable = ids !== null && ids.length > 0;
  // A number of them stands among those left alone.
  const unknown = answer.underWay === null ? underWayWords(null) : undefined;
  const tooMany = ids === null ? "Too many for Undo: select them again to change them back." : undefined;
  void showToast({
    title,
    detail: [detail && `${detail}.`, unknown, tooMany].filter(Boolean).join(" ") || undefined,
    tone: answer.changed > 0 ? "success" : "neutral",
    ...(undoable ? { action: { label: "Undo", onSelect: () => void takeBack(client, kind, ids) } } : {}),
  });
}

async function takeBack(client: QueryClient, kind: Kind, ids: string[]): Promise<void> {
  const inverse = kind === "ignore" ? "release" : "ignore";
  try {
    const answer = await fetchJson<BulkAnswer>(`/api/v1/events/${inverse}`, {
      method: "POST",
      body: {
        select: { ids },
        reason: kind === "ignore" ? "undone: they had been ignored" : "undone: they had been released",
        // As if they had never been ignored: a release by a person would let failures and cooldown start anew.
        ...(inverse === "release" ? { keepLimits: true } : {}),
      },
    });
    const state = inverse === "release" ? "PENDING" : "IGNORED";
    void showToast({
      title: `${plural(answer.changed, "event")} ${answer.changed === 1 ? "is" : "are"} ${state} again`,
      detail: changedText(inverse, answer).detail,
      tone: answer.changed > 0 ? "success" : "error",
    });
  } catch (error) {
    failureToast("It could not be undone", error);
  } finally {
    await invalidateAfter(client, "events");
  }
}
