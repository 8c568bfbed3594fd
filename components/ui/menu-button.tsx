"use client";

import { type ReactNode, useCallback, useRef, useState } from "react";
import { type ButtonLook, buttonClass } from "./button";
import { lazily } from "./lazily";
import type { MenuEntry } from "./menu";

const load = () => import("./menu");
const MenuPanel = lazily(() => load().then(({ MenuPanel }) => MenuPanel));

/** A button that opens a menu; Base UI is fetched when the pointer or the focus comes near. */
export function MenuButton({
  label,
  name,
  tip,
  entries,
  variant,
  size,
  align,
  side,
  className,
  disabled,
}: ButtonLook & {
  /** What the button shows. */
  label: ReactNode;
  /** Its accessible name, and that of the menu. */
  name: string;
  tip?: string;
  entries: MenuEntry[];
  align?: "start" | "center" | "end";
  side?: "top" | "bottom";
  className?: string;
  disabled?: boolean;
}) {
  const anchor = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const close = useCallback(() => setOpen(false), []);
  return (
    <>
      <button
        ref={anchor}
        type="button"
        disabled={disabled}
        aria-label={name}
        aria-haspopup="menu"
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
        <MenuPanel anchor={anchor} onClose={close} label={name} entries={entries} align={align} side={side} />
      ) : null}
    </>
  );
}
