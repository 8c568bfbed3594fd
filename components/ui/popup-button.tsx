"use client";

import { type ComponentProps, type ReactNode, useCallback, useRef, useState } from "react";
import { type ButtonLook, buttonClass } from "./button";
import { lazily } from "./lazily";
import type { MenuEntry } from "./menu";
import type { AnchoredPopup } from "./overlay-anchor";

const loadMenu = () => import("./menu");
const MenuPanel = lazily(loadMenu, "MenuPanel");
const loadPopover = () => import("./popover");
const PopoverPanel = lazily(loadPopover, "PopoverPanel");

type PopupButtonProps = ButtonLook &
  Pick<AnchoredPopup, "align" | "side"> &
  Pick<ComponentProps<"button">, "className" | "disabled"> & {
    label: ReactNode;
    /** The accessible name of the button and of its popup. */
    name: string;
    tip?: string;
  };

/** The code of a popup is fetched when the pointer or the focus reaches its button. */
function PopupButton(
  props: PopupButtonProps & {
    popup: "menu" | "dialog";
    load: () => Promise<unknown>;
    children: (popup: AnchoredPopup & { label: string }) => ReactNode;
  },
) {
  const { label, name, tip, variant, size, align, side, className, disabled, popup, load, children } = props;
  const anchor = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const onClose = useCallback(() => setOpen(false), []);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        disabled={disabled}
        aria-label={name}
        aria-haspopup={popup}
        aria-expanded={open}
        data-tip={open ? undefined : tip}
        onPointerEnter={load}
        onFocus={load}
        onClick={() => setOpen((now) => !now)}
        className={buttonClass({ variant, size }, className)}
      >
        {label}
      </button>
      {open ? children({ anchor, onClose, label: name, align, side }) : null}
    </>
  );
}

export function MenuButton({ entries, ...button }: Omit<PopupButtonProps, "align"> & { entries: MenuEntry[] }) {
  return (
    <PopupButton {...button} popup="menu" load={loadMenu}>
      {(popup) => <MenuPanel {...popup} align="end" entries={entries} />}
    </PopupButton>
  );
}

export function PopoverButton(
  props: PopupButtonProps & { panelClassName?: string; children: (close: () => void) => ReactNode },
) {
  const { panelClassName, children, ...button } = props;
  return (
    <PopupButton {...button} popup="dialog" load={loadPopover}>
      {(popup) => (
        <PopoverPanel {...popup} className={panelClassName}>
          {children(popup.onClose)}
        </PopoverPanel>
      )}
    </PopupButton>
  );
}
