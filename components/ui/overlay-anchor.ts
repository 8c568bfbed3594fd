import type { RefObject } from "react";

/**
 * Popups here open beside a plain button instead of Base UI's own trigger, so that a page can load without Base UI.
 * A press on that button then counts as a press outside, and must not close what its click is about to toggle.
 */
export function pressedAnchor(anchor: RefObject<HTMLElement | null>, event: Event): boolean {
  return event.target instanceof Node && anchor.current?.contains(event.target) === true;
}

export type AnchoredPopup = {
  anchor: RefObject<HTMLElement | null>;
  onClose: () => void;
  align?: "start" | "center" | "end";
  side?: "top" | "bottom";
};

export const POPUP_CLASS = "enter rounded-lg border border-line-strong bg-raised text-ink shadow-pop outline-none";
