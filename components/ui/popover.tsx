"use client";

import { Popover } from "@base-ui/react/popover";
import type { ReactNode } from "react";
import { classNames } from "./class-names";
import { type AnchoredPopup, POPUP_CLASS, pressedAnchor } from "./overlay-anchor";

/** An open popover beside its anchor. Mount it to open, unmount it to close; load it lazily with `PopoverButton`. */
export function PopoverPanel({
  anchor,
  onClose,
  label,
  align = "start",
  side = "bottom",
  className,
  children,
}: AnchoredPopup & { label: string; className?: string; children: ReactNode }) {
  return (
    <Popover.Root
      open
      onOpenChange={(open, details) => {
        if (open || (details.reason === "outside-press" && pressedAnchor(anchor, details.event))) return;
        onClose();
      }}
    >
      <Popover.Portal>
        <Popover.Positioner
          anchor={anchor}
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          className="z-50"
        >
          <Popover.Popup aria-label={label} finalFocus={anchor} className={classNames(POPUP_CLASS, "p-3", className)}>
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
