import type { QueryClient } from "@tanstack/react-query";
import { randomKey } from "@/components/redrives/idempotency-keys";
import { showToast } from "@/components/ui/toast";
import { ApiError, fetchJson } from "@/lib/browser/fetch-json";
import { invalidateAfter } from "@/lib/browser/keys";
import type { RedriveAccepted } from "@/lib/browser/redrives";
import { REFUSAL_TEXT, type Refusal } from "@/lib/core/refusal";

/** The audit keeps a reason for everything; one click has no place to ask for one. */
const REASONS = { deliver: "one click in the console", verify: "verified with one click in the console" };

/** Why the one event was refused, as a sentence without its subject; null when it was accepted. */
function refusalOf({ refusedByReason }: RedriveAccepted): string | null {
  const reason = Object.keys(refusedByReason).find((name) => (refusedByReason[name] ?? 0) > 0);
  if (reason === undefined) return null;
  return reason in REFUSAL_TEXT ? REFUSAL_TEXT[reason as Refusal] : `was refused: ${reason}`;
}

function failed(title: string, error: unknown): void {
  void showToast({
    title,
    detail: error instanceof ApiError ? error.detail : undefined,
    tone: "error",
    durationMs: 10_000,
  });
}

async function undo(client: QueryClient, redriveId: string): Promise<void> {
  try {
    await fetchJson(`/api/v1/redrives/${encodeURIComponent(redriveId)}`, {
      method: "PATCH",
      body: { action: "cancel", reason: "undone in the console" },
    });
    void showToast({ title: "Cancelled before it was sent", tone: "success" });
  } catch (error) {
    // Too late: what was delivered stays delivered, and the person must know.
    failed("It could not be undone", error);
  } finally {
    await invalidateAfter(client, "redrives");
  }
}

/**
 * Redrives (or only verifies) one event at once, on the slow lane. No dialog: Undo stands in the toast, and cancels
 * what has not been sent. A refusal says why and what to do.
 */
export async function redriveOne(
  client: QueryClient,
  event: { id: string; eventId: string },
  mode: "deliver" | "verify",
  open: (href: string) => void,
): Promise<void> {
  const name = event.eventId.length > 20 ? `${event.eventId.slice(0, 8)}…` : event.eventId;
  try {
    const accepted = await fetchJson<RedriveAccepted>("/api/v1/redrives", {
      method: "POST",
      headers: { "idempotency-key": randomKey() },
      body: { select: { ids: [event.id] }, mode, lane: "slow", reason: REASONS[mode] },
    });
    const refusal = refusalOf(accepted);
    const view = { label: "View", onSelect: () => open(`/redrives/${accepted.id}`) };
    if (refusal) {
      void showToast({ title: `${name} was not sent`, detail: `It ${refusal}.`, tone: "error", action: view });
    } else if (mode === "verify") {
      void showToast({ title: `Verifying ${name}`, detail: "Nothing is sent.", action: view });
    } else {
      void showToast({
        title: `Redriving ${name}`,
        detail: "On the slow lane.",
        action: { label: "Undo", onSelect: () => void undo(client, accepted.id) },
      });
    }
  } catch (error) {
    failed(`${name} was not sent`, error);
  } finally {
    await invalidateAfter(client, "redrives");
  }
}
