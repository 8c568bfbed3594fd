import type { QueryClient } from "@tanstack/react-query";
import { failureToast, showToast } from "@/components/ui/toast";
import { plural } from "@/lib/platform/plain/format.pure";
import { changeRedrive } from "@/lib/redrive/redrives.browser";
import { restoreSelection } from "@/lib/redrive/request/holds.browser";

/** Takes a held redrive back. The server refuses it when the hold is over; the redrive then goes on. */
export async function undoHeld(client: QueryClient, redriveId: string): Promise<void> {
  try {
    const { cancelled, open } = await changeRedrive(client, redriveId, {
      action: "undo",
      reason: "undone in the console",
    });
    restoreSelection(redriveId);
    const stay = cancelled + open === 1 ? "stays" : "stay";
    const detail = `${plural(cancelled + open, "event")} ${stay} parked.`;
    void showToast({ id: `redrive-${redriveId}`, title: "Undone: nothing was sent", detail, tone: "success" });
  } catch (error) {
    failureToast("Undo failed", error);
  }
}
