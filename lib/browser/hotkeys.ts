"use client";

import { useEffect, useRef } from "react";

/**
 * The keyboard of the whole console: one listener, one table. Keys are written `j`, `shift+x`, `mod+k` (Ctrl or Cmd),
 * `enter`, `g e` (one after the other). Nothing fires while somebody types or a dialog or menu is open, except `mod+…`.
 */
export type Hotkeys = Record<string, (event: KeyboardEvent) => void>;

type KeyPress = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** The name of a press, or null for one that is not ours. Shift is named only with letters: `?` is already shifted. */
export function pressName(press: KeyPress): string | null {
  if (press.altKey || ["Shift", "Control", "Meta", "Alt"].includes(press.key)) return null;
  const key = press.key.toLowerCase();
  if (press.ctrlKey || press.metaKey) return `mod+${key}`;
  return press.shiftKey && /^[a-z]$|^.{2,}$/.test(key) ? `shift+${key}` : key;
}

const SEQUENCE_MS = 1_200;

const layers: Hotkeys[] = [];
let prefix: { key: string; atMs: number } | null = null;

function handlerOf(name: string) {
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const handler = layers[index]?.[name];
    if (handler) return handler;
  }
  return null;
}

const isPrefix = (name: string) => layers.some((layer) => Object.keys(layer).some((key) => key.startsWith(`${name} `)));

const EDITABLE = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]";
const OVERLAY = "[role=dialog], [role=alertdialog], [role=menu], [role=listbox]";

function onKeyDown(event: KeyboardEvent) {
  const name = pressName(event);
  if (name === null || event.defaultPrevented || event.isComposing) return;
  const target = event.target instanceof Element ? event.target : null;
  if (!name.startsWith("mod+")) {
    if (target?.closest(EDITABLE) || target?.closest(OVERLAY) || document.querySelector("[role=dialog][data-open]"))
      return;
    // Enter and space belong to the button or link that has the focus.
    if ((name === "enter" || name === " ") && target?.closest("button, a, summary, input")) return;
  }
  const started = prefix !== null && event.timeStamp - prefix.atMs < SEQUENCE_MS ? prefix.key : null;
  prefix = null;
  if (started === null && isPrefix(name)) {
    prefix = { key: name, atMs: event.timeStamp };
    return;
  }
  // After `g` the next key is the second half or nothing: `g r` must never redrive.
  const handler = handlerOf(started === null ? name : `${started} ${name}`);
  if (!handler) return;
  event.preventDefault();
  handler(event);
}

/** Binds keys while mounted; what was bound last wins. */
export function useHotkeys(hotkeys: Hotkeys, enabled = true): void {
  const latest = useRef(hotkeys);
  latest.current = hotkeys;
  const names = Object.keys(hotkeys).join("\n");
  useEffect(() => {
    if (!enabled) return;
    const layer: Hotkeys = {};
    for (const name of names.split("\n")) layer[name] = (event) => latest.current[name]?.(event);
    if (layers.length === 0) document.addEventListener("keydown", onKeyDown);
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      if (layers.length === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, [names, enabled]);
}
