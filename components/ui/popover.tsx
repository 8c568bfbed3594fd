"use client";

import { Popover } from "@base-ui/react/popover";
import type { ReactNode } from "react";
import { classNames } from "./class-names";
import { type AnchoredPopup, besideAnchor, closeUnlessAnchorPressed, POPUP_CLASS } from "./overlay-anchor";

/** An open popover beside its button. `PopoverButton` mounts it to open it and unmounts it to close it. */
export function PopoverPanel(props: AnchoredPopup & { label: string; className?: string; children: ReactNode }) {
  const { anchor, label, className, children } = props;
  return (
    <Popover.Root open onOpenChange={closeUnlessAnchorPressed(props)}>
      <Popover.Portal>
        <Popover.Positioner {...besideAnchor(props)}>
          <Popover.Popup aria-label={label} finalFocus={anchor} className={classNames(POPUP_CLASS, "p-3", className)}>
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
