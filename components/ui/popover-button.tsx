"use client";

import { type ReactNode, useCallback, useRef, useState } from "react";
import { type ButtonLook, buttonClass } from "./button";
import { lazily } from "./lazily";

const load = () => import("./popover");
const PopoverPanel = lazily(() => load().then(({ PopoverPanel }) => PopoverPanel));

/** A button that opens a popover; Base UI is fetched when the pointer or the focus comes near. */
export function PopoverButton({
  label,
  tip,
  name,
  variant,
  size,
  align,
  side,
  className,
  panelClassName,
  children,
}: ButtonLook & {
  /** What the button shows. */
  label: ReactNode;
  /** Its accessible name where `label` alone does not say it, and the name of the popover. */
  name: string;
  tip?: string;
  align?: "start" | "center" | "end";
  side?: "top" | "bottom";
  className?: string;
  panelClassName?: string;
  children: (close: () => void) => ReactNode;
}) {
  const anchor = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        aria-label={name}
        aria-haspopup="dialog"
        aria-expanded={open}
        data-tip={open ? undefined : tip}
        onPointerEnter={load}
        onFocus={load}
        onClick={() => setOpen((now) => !now)}
        className={buttonClass({ variant, size }, className)}
      >
        {label}
      </button>
      {open ? (
        <PopoverPanel anchor={anchor} onClose={close} label={name} align={align} side={side} className={panelClassName}>
          {children(close)}
        </PopoverPanel>
      ) : null}
    </>
  );
}
