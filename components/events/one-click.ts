import type { QueryClient } from "@tanstack/react-query";
import { createElement } from "react";
import { refusalSentence } from "@/components/redrives/refusal-words";
import { failureToast, showToast, type Toast } from "@/components/ui/toast";
import { ApiError } from "@/lib/browser/fetch-json";
import { shortenId } from "@/lib/browser/format";
import { freshness, STALE_REASON } from "@/lib/browser/freshness";
import { invalidateAfter } from "@/lib/browser/keys";
import { randomKey } from "@/lib/browser/random-key";
import { changeRedrive, type RedriveAccepted, readItems, readRedrive, requestRedrive } from "@/lib/browser/redrives";
import { HoldCountdown } from "./hold-countdown";
import { outcomeState, outcomeWords } from "./outcome-words";

/** The audit keeps a reason for everything; one click has no place to ask for one. */
const REASONS = { deliver: "one click in the console", verify: "verified with one click in the console" };

/** How long the server keeps a one-click redrive back before anything is sent: the time in which Undo is certain. */
export const HOLD_MS = 5_000;

/** How often the end of a one-click redrive is looked for: at first often, then seldom. */
const FOLLOW_MS = 700;
const FOLLOW_LATER_MS = 5_000;
const FOLLOW_OFTEN_MS = 30_000;
/** After this nobody waits for the message any more; the event's history has the outcome. */
const FOLLOW_MAX_MS = 30 * 60_000;

type Mode = keyof typeof REASONS;
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

/** Why the one event was refused; null when it was accepted. */
function refusalOf({ refusedByReason }: RedriveAccepted): string | null {
  return Object.keys(refusedByReason).find((name) => (refusedByReason[name] ?? 0) > 0) ?? null;
}

async function undo(click: OneClick): Promise<void> {
  click.undone = true;
  void showToast({ id: click.toastId, title: `Cancelling ${click.name}`, durationMs: Number.POSITIVE_INFINITY });
  try {
    await changeRedrive(click.client, click.redriveId, { action: "cancel", reason: "undone in the console" });
  } catch (error) {
    // Too late, or no answer: what became of it is said when it is known.
    failureToast("It could not be undone", error);
  }
}

/** The item of a redrive of one event once it is decided; null while it is open. */
async function readOutcome(redriveId: string) {
  const state = outcomeState(await readRedrive(redriveId));
  if (state === null) return null;
  const { items } = await readItems(redriveId, { state, limit: 1 });
  return items[0] ?? null;
}

/** Waits for the end of the redrive and says it, on whatever page the person is by then. */
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
      // Without an answer the outcome is not known yet; the strip says that nothing answers.
      if (error instanceof ApiError && error.passing) continue;
      return failureToast(`What became of ${click.name} could not be read`, error);
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
 * Redrives (or only verifies) one event, on the slow lane. The server holds a redrive back for HOLD_MS; until then Undo
 * in the toast takes it back. The toast then says how it ended: delivered, refused or failed, and why.
 */
export async function redriveOne(
  client: QueryClient,
  event: { id: string; eventId: string },
  mode: Mode,
  open: (href: string) => void,
  /** An earlier version of its aggregate is parked: nothing was sent, and a person decides what becomes of it. */
  onHeld?: () => void,
): Promise<void> {
  if (freshness() !== "fresh") {
    void showToast({ title: "Nothing was sent", detail: STALE_REASON, tone: "error" });
    return;
  }
  const name = event.eventId.length > 20 ? shortenId(event.eventId) : event.eventId;
  // Counted from the press, so that Undo is offered a little shorter than the server holds.
  const untilMs = Date.now() + HOLD_MS;
  try {
    const accepted = await requestRedrive(client, {
      idempotencyKey: randomKey(),
      request: {
        select: { ids: [event.id] },
        mode,
        lane: "slow",
        reason: REASONS[mode],
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
    if (refusal === "held-by-head" && mode === "deliver" && onHeld) {
      onHeld();
    } else if (refusal !== null) {
      const title = mode === "verify" ? `${name} would be refused` : `${name} was not sent`;
      void showToast({ title, detail: `It ${refusalSentence(refusal)}.`, tone: "error", action: view });
    } else {
      if (mode === "verify") {
        void showToast({ id: click.toastId, title: `Verifying ${name}`, detail: "Nothing is sent.", action: view });
      } else {
        void showToast({
          id: click.toastId,
          title: `Redriving ${name}`,
          detail: createElement(HoldCountdown, { untilMs }),
          action: { label: "Undo", onSelect: () => void undo(click) },
          // Replaced by what comes after the wait.
          durationMs: Number.POSITIVE_INFINITY,
        });
      }
      void sayOutcome(click);
    }
  } catch (error) {
    failureToast(mode === "verify" ? `${name} was not verified` : `${name} was not sent`, error);
  }
}
