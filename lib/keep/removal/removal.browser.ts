import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { Selection } from "@/lib/selection/selection.shapes";

/** What a removal of these events would do now. Counted once: the number in the dialog is the one that is confirmed. */
export const useRemovalPreview = (select: Selection) =>
  useRead<RemovalPreview>("removal", "/api/v1/events/remove/preview", {
    asks: { select },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
