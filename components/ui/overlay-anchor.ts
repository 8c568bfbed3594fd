import type { RefObject } from "react";

export type AnchoredPopup = {
  anchor: RefObject<HTMLElement | null>;
  onClose: () => void;
  align?: "start" | "center" | "end";
  side?: "top" | "bottom";
};

/**
 * Popups open beside a plain button instead of Base UI's own trigger, so that a page can load without Base UI. Base UI
 * then reads a press on that button as a press outside the popup. Such a press must not close the popup: the click that
 * follows closes it.
 */
export function closeUnlessAnchorPressed({ anchor, onClose }: AnchoredPopup) {
  return (open: boolean, { reason, event }: { reason: string; event: Event }) => {
    const onAnchor = event.target instanceof Node && anchor.current?.contains(event.target) === true;
    if (!open && !(reason === "outside-press" && onAnchor)) onClose();
  };
}

/** The position of a popup relative to its button, for Base UI's positioner. */
export function besideAnchor({ anchor, align = "start", side = "bottom" }: AnchoredPopup) {
  return { anchor, align, side, sideOffset: 4, collisionPadding: 8, className: "z-50" };
}

export const POPUP_CLASS = "enter rounded-lg border border-line-strong bg-raised text-ink shadow-pop outline-none";
