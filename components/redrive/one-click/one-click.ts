import type { QueryClient } from "@tanstack/react-query";
import { createElement } from "react";
import { waitWords } from "@/components/guard/approvals/approval-words";
import { outcomeState, outcomeWords } from "@/components/redrive/one-click/outcome-words";
import { acceptedEvents, refusalSentence, refusalSummary } from "@/components/redrive/refusal-words";
import { failureToast, showToast, type Toast } from "@/components/ui/toast";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { freshness, STALE_REASON } from "@/lib/platform/browser/freshness.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { shortenId } from "@/lib/platform/plain/format.pure";
import {
  followedRedrives,
  previewRedrive,
  readItems,
  readRedrive,
  requestRedrive,
} from "@/lib/redrive/redrives.browser";
import { HOLD_MS, restoreOnUndo, showInToast } from "@/lib/redrive/request/holds.browser";
import type { RedriveAnswer } from "@/lib/redrive/request/redrive-request.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { CONFIRMABLE_REFUSALS } from "@/lib/states/refusal.pure";
import { HoldCountdown } from "./hold-countdown";
import { undoHeld } from "./undo-held";

/** The times between two reads of a one-click redrive: short at first, then longer. */
const FOLLOW_MS = 700;
const FOLLOW_LATER_MS = 5_000;
const FOLLOW_OFTEN_MS = 30_000;
/** After this time no message is shown; the history of the event has the outcome. */
const FOLLOW_MAX_MS = 30 * 60_000;

type Mode = "deliver" | "verify";
type OneClick = {
  client: QueryClient;
  redriveId: string;
  name: string;
  mode: Mode;
  toastId: string;
  view: NonNullable<Toast["action"]>;
  undone: boolean;
};

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Refusals that a person can answer in the dialog of a redrive. */
const ASKED: readonly string[] = ["held-by-head", ...CONFIRMABLE_REFUSALS];

/** The reason why the event was refused; null when it was accepted. */
function refusalOf({ refusedByReason }: RedriveAnswer): string | null {
  return Object.keys(refusedByReason).find((name) => (refusedByReason[name] ?? 0) > 0) ?? null;
}

async function undo(click: OneClick): Promise<void> {
  click.undone = true;
  void showToast({ id: click.toastId, title: `Cancelling ${click.name}`, durationMs: Number.POSITIVE_INFINITY });
  await undoHeld(click.client, click.redriveId);
}

/** The item of a redrive of one event after its decision; null while it is open. */
async function readOutcome(redriveId: string) {
  if (outcomeState(await readRedrive(redriveId)) === null) return null;
  const { items } = await readItems(redriveId, { limit: 1 });
  return items[0] ?? null;
}

/** Waits for the end of the redrive and shows it in a toast, on every page. */
async function sayOutcome(click: OneClick): Promise<void> {
  const startedMs = Date.now();
  let waitingSaid = click.mode === "verify";
  for (;;) {
    const elapsedMs = Date.now() - startedMs;
    if (elapsedMs > FOLLOW_MAX_MS) return;
    await pause(elapsedMs < FOLLOW_OFTEN_MS ? FOLLOW_MS : FOLLOW_LATER_MS);
    if (!waitingSaid && !click.undone && Date.now() - startedMs > HOLD_MS) {
      waitingSaid = true;
      const detail = "Waiting for its turn on the slow lane.";
      void showToast({ id: click.toastId, title: `Redriving ${click.name}`, detail, action: click.view });
    }
    let item: Awaited<ReturnType<typeof readOutcome>>;
    try {
      item = await readOutcome(click.redriveId);
    } catch (error) {
      // Without an answer the outcome is unknown; the strip shows that the server does not answer.
      if (error instanceof ApiError && error.passing) continue;
      return failureToast(`The result of ${click.name} could not be read`, error);
    }
    if (item !== null) {
      const words = outcomeWords(click.name, click.mode, item);
      const durationMs = words.tone === "error" ? 15_000 : 6_000;
      void showToast({ id: click.toastId, ...words, action: click.view, durationMs });
      await invalidateAfter(click.client, "redrives");
      return;
    }
  }
}

/**
 * Redrives (or only verifies) one event on the slow lane. The server waits HOLD_MS before it sends; until then Undo in
 * the toast cancels the redrive. The toast then shows the outcome: delivered, refused or failed, and why.
 */
export async function redriveOne(
  client: QueryClient,
  event: { id: string; eventId: string },
  mode: Mode,
  open: (href: string) => void,
  /** Nothing was sent: a person must decide about an earlier version, or confirm what admission asks. */
  onHeld?: () => void,
): Promise<void> {
  if (freshness() !== "fresh") {
    void showToast({ title: "Nothing was sent", detail: STALE_REASON, tone: "error" });
    return;
  }
  const name = event.eventId.length > 20 ? shortenId(event.eventId) : event.eventId;
  // Counted from the click, so that Undo ends a little before the server's wait.
  const untilMs = Date.now() + HOLD_MS;
  try {
    const accepted = await requestRedrive(client, {
      idempotencyKey: randomKey(),
      request: {
        select: { ids: [event.id] },
        mode,
        lane: "slow",
        ...(mode === "deliver" ? { holdMs: HOLD_MS } : {}),
      },
    });
    const view = { label: "View", onSelect: () => open(`/redrives/${accepted.id}`) };
    const click = {
      client,
      redriveId: accepted.id,
      name,
      mode,
      toastId: `redrive-${accepted.id}`,
      view,
      undone: false,
    };
    const refusal = refusalOf(accepted);
    const waits = waitWords(accepted.waitsFor);
    if (waits !== null) {
      void showToast({ title: `${name} is ${waits}`, detail: "Nothing is sent until then.", action: view });
    } else if (refusal !== null && ASKED.includes(refusal) && mode === "deliver" && onHeld) {
      onHeld();
    } else if (refusal !== null) {
      const title = mode === "verify" ? `${name} would be refused` : `${name} was not sent`;
      void showToast({ title, detail: `It ${refusalSentence(refusal)}.`, tone: "error", action: view });
    } else {
      if (mode === "verify") {
        void showToast({ id: click.toastId, title: `Verifying ${name}`, detail: "Nothing is sent.", action: view });
      } else {
        showInToast(accepted.id);
        void showToast({
          id: click.toastId,
          title: `Redriving ${name}`,
          detail: createElement(HoldCountdown, { untilMs }),
          action: { label: "Undo", onSelect: () => void undo(click) },
          // The toast after the wait replaces this one.
          durationMs: Number.POSITIVE_INFINITY,
        });
      }
      void sayOutcome(click);
    }
  } catch (error) {
    failureToast(mode === "verify" ? `${name} was not verified` : `${name} was not sent`, error);
  }
}

/**
 * The selection as counted; null = the number that can be sent is not the one on the button, or earlier versions hold some.
 * Events that arrive after the count are left out.
 */
export async function countedAsShown(select: Selection, count: number): Promise<Selection | null> {
  const { eligible, refused, cutoff } = await previewRedrive({ select, mode: "deliver", lane: "slow" });
  return eligible === count && (refused["held-by-head"] ?? 0) === 0 ? pinSelection(select, cutoff) : null;
}

/**
 * Redrives a selection with the defaults: slow lane, canary above ten events, brake, no reason. The server waits HOLD_MS
 * before it sends; the bar below every page shows that with Undo. `count`: the number on the button, null = it has none. If
 * another number would go, or some are held by earlier versions, nothing is started and `onAsk` opens the dialog; also when
 * the settings want a reason for so many events. Resolves with the started redrive; null = none.
 */
export async function redriveAtOnce(
  client: QueryClient,
  selection: Selection,
  count: number | null,
  on: { open: (href: string) => void; onAsk: () => void; onUndone?: () => void },
  choice: { earlier?: Earlier; reason?: string } = {},
): Promise<RedriveAnswer | null> {
  if (freshness() !== "fresh") {
    void showToast({ title: "Nothing was sent", detail: STALE_REASON, tone: "error" });
    return null;
  }
  try {
    const select = count === null ? selection : await countedAsShown(selection, count);
    if (select === null) {
      on.onAsk();
      return null;
    }
    const accepted = await requestRedrive(client, {
      idempotencyKey: randomKey(),
      request: { select, mode: "deliver", lane: "slow", canary: "auto", holdMs: HOLD_MS, ...choice },
    });
    const waits = waitWords(accepted.waitsFor);
    if (waits !== null) {
      const view = { label: "View", onSelect: () => on.open(`/redrives/${accepted.id}`) };
      void showToast({ title: `The redrive is ${waits}`, detail: "Nothing is sent until then.", action: view });
      return accepted;
    }
    if (accepted.total !== null && acceptedEvents({ ...accepted, total: accepted.total }) === 0) {
      void showToast({
        title: "Nothing is sent",
        detail: `Refused: ${refusalSummary(accepted.refusedByReason)}`,
        tone: "error",
        action:
          (accepted.refusedByReason["held-by-head"] ?? 0) > 0
            ? { label: "Include earlier versions…", onSelect: on.onAsk }
            : { label: "View", onSelect: () => on.open(`/redrives/${accepted.id}`) },
      });
      return null;
    }
    followedRedrives.follow(accepted.id);
    if (on.onUndone) restoreOnUndo(accepted.id, on.onUndone);
    return accepted;
  } catch (error) {
    if (error instanceof ApiError && error.fields.some(({ field }) => field === "reason")) on.onAsk();
    else failureToast("Nothing was sent", error);
    return null;
  }
}
