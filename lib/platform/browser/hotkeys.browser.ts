"use client";

import { useEffect, useRef } from "react";
import { takeEarlyKeys } from "./early-keys.browser";

/**
 * The keyboard of the whole console: one listener, one table. Keys are written `j`, `shift+x`, `mod+k` (Ctrl or Cmd),
 * `enter`, `g e` (one after the other). While a field has the focus or a dialog or menu is open, only `mod+…` acts.
 */
export type Hotkeys = Record<string, (event: KeyboardEvent) => void>;

type KeyPress = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** The name of a pressed key; null = no shortcut uses it. Shift is named only with letters: `?` includes it. */
export function pressName(press: KeyPress): string | null {
  if (press.altKey || ["Shift", "Control", "Meta", "Alt"].includes(press.key)) return null;
  const key = press.key.toLowerCase();
  if (press.ctrlKey || press.metaKey) return `mod+${key}`;
  return press.shiftKey && /^[a-z]$|^.{2,}$/.test(key) ? `shift+${key}` : key;
}

const SEQUENCE_MS = 1_200;

/** Letters that send or change something, or open an editor. They act only when pressed alone, not as part of a word. */
const DELIBERATE = new Set(["r", "v", "i", "e", "m"]);

/** Two letters closer together are typing. Longer than a slow typist's pause, not a noticeable delay. */
export const TYPING_MS = 500;

/** The state of the keys pressed without a pause. */
export type KeyRun = { atMs: number; typing: boolean };

/**
 * Whether a key acts `now`, only after a pause of TYPING_MS (`wait`), or not at all (`drop`). Keys without a pause are
 * typing as soon as one of them is no command, or follows a deliberate key: a person who types "order" or "error"
 * without a focused field must not redrive. `j j r` is not typing, because all three are commands.
 */
export function judgePress(
  before: KeyRun | null,
  press: { name: string; atMs: number; bound: boolean; waiting: boolean },
): { run: KeyRun; verdict: "now" | "wait" | "drop" } {
  const character = press.name.replace("shift+", "").length === 1;
  const running = before !== null && press.atMs - before.atMs < TYPING_MS;
  const typing = (running && before.typing) || (character && (!press.bound || (running && press.waiting)));
  const run = { atMs: press.atMs, typing };
  if (!DELIBERATE.has(press.name)) return { run, verdict: "now" };
  return { run, verdict: typing ? "drop" : "wait" };
}

const layers: Hotkeys[] = [];
let prefix: { key: string; atMs: number } | null = null;
let run: KeyRun | null = null;
let waiting: ReturnType<typeof setTimeout> | null = null;

/** Cancels the deliberate key that waits for its pause. Returns whether there was one. */
function dropWaiting(): boolean {
  if (waiting === null) return false;
  clearTimeout(waiting);
  waiting = null;
  return true;
}

function handlerOf(name: string) {
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    const handler = layers[index]?.[name];
    if (handler) return handler;
  }
  return null;
}

const isPrefix = (name: string) => layers.some((layer) => Object.keys(layer).some((key) => key.startsWith(`${name} `)));

const EDITABLE = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable=true]";
const OPEN_DIALOG = "[role=dialog][data-open], [role=alertdialog][data-open]";
const OVERLAY = "[role=dialog], [role=alertdialog], [role=menu], [role=listbox]";

function onKeyDown(event: KeyboardEvent) {
  const name = pressName(event);
  if (name === null) return;
  // After any other key the waiting letter was not pressed alone.
  const waited = dropWaiting();
  if (event.defaultPrevented || event.isComposing) return;
  const target = event.target instanceof Element ? event.target : null;
  if (!name.startsWith("mod+")) {
    if (target?.closest(EDITABLE) || target?.closest(OVERLAY) || document.querySelector(OPEN_DIALOG)) return;
    // A focused button or link itself uses Enter and space.
    if ((name === "enter" || name === " ") && target?.closest("button, a, summary, input")) return;
  }
  const started = prefix !== null && event.timeStamp - prefix.atMs < SEQUENCE_MS ? prefix.key : null;
  prefix = null;
  // After `g` the next key is only the second half: `g r` must never redrive.
  const handler = handlerOf(started === null ? name : `${started} ${name}`);
  const startsSequence = started === null && isPrefix(name);
  const bound = handler !== null || startsSequence;
  const judged = judgePress(run, { name, atMs: event.timeStamp, bound, waiting: waited });
  run = judged.run;
  if (startsSequence) {
    prefix = { key: name, atMs: event.timeStamp };
    return;
  }
  if (!handler) return;
  event.preventDefault();
  // A key that is held down repeats; a repeat is not a second command.
  if (started === null && DELIBERATE.has(name) && event.repeat) return;
  if (started !== null || judged.verdict === "now") handler(event);
  else if (judged.verdict === "wait") {
    waiting = setTimeout(() => {
      waiting = null;
      // The binding at this time, not at the time of the press: a dialog may have opened meanwhile.
      if (!document.querySelector(OPEN_DIALOG)) handlerOf(name)?.(event);
    }, TYPING_MS);
  }
}

/** Presses the keys that came before the page, except those that would change something or send it now. */
function replayEarlyKeys(): void {
  for (const key of takeEarlyKeys()) {
    if (!DELIBERATE.has(key)) document.dispatchEvent(new KeyboardEvent("keydown", { key }));
  }
}

/** Binds keys while the component is mounted; the last binding wins. */
export function useHotkeys(hotkeys: Hotkeys, enabled = true): void {
  const latest = useRef(hotkeys);
  latest.current = hotkeys;
  const names = Object.keys(hotkeys).join("\n");
  useEffect(() => {
    if (!enabled) return;
    const layer: Hotkeys = {};
    for (const name of names.split("\n")) layer[name] = (event) => latest.current[name]?.(event);
    if (layers.length === 0) {
      document.addEventListener("keydown", onKeyDown);
      // After the other components of the page have bound theirs.
      setTimeout(replayEarlyKeys);
    }
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
      // The object of the waiting key may have disappeared with this component.
      dropWaiting();
      if (layers.length === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, [names, enabled]);
}
