import type { Selection } from "@/lib/events/selection/selection.shapes";
import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import { keys } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";

/** What a removal of these events would do now. Counted once: the number in the dialog is the one that is confirmed. */
export const useRemovalPreview = (select: Selection) =>
  useRead<RemovalPreview>(keys.removal({ select }), "/api/v1/events/remove/preview", {
    asks: { select },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
