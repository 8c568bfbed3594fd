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

/** Letters that send or change something. They act only when the person pressed them alone, not as part of a word. */
const DELIBERATE = new Set(["r", "v", "i"]);

/** Two letters closer together than this are typing. Slower than a slow typist, shorter than a person notices as a wait. */
export const TYPING_MS = 500;

/** What is known of the keys pressed without a pause so far. */
export type KeyRun = { atMs: number; typing: boolean };

/**
 * Whether a press acts `now`, only after a pause of TYPING_MS (`wait`), or not at all (`drop`). A run of keys without a
 * pause is typing as soon as it holds a character that is no command, or a character that follows a deliberate one: a
 * person who types "order" or "error" with no field focused must not redrive. `j j r` is no typing: both are commands.
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

/** The deliberate key that waits for its pause is given up. Returns whether there was one. */
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
  // Whatever key comes next, wherever it goes: the letter before it was not pressed alone.
  const waited = dropWaiting();
  if (event.defaultPrevented || event.isComposing) return;
  const target = event.target instanceof Element ? event.target : null;
  if (!name.startsWith("mod+")) {
    if (target?.closest(EDITABLE) || target?.closest(OVERLAY) || document.querySelector(OPEN_DIALOG)) return;
    // Enter and space belong to the button or link that has the focus.
    if ((name === "enter" || name === " ") && target?.closest("button, a, summary, input")) return;
  }
  const started = prefix !== null && event.timeStamp - prefix.atMs < SEQUENCE_MS ? prefix.key : null;
  prefix = null;
  // After `g` the next key is the second half or nothing: `g r` must never redrive.
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
  // A key held down repeats itself: that is no second decision.
  if (started === null && DELIBERATE.has(name) && event.repeat) return;
  if (started !== null || judged.verdict === "now") handler(event);
  else if (judged.verdict === "wait") {
    waiting = setTimeout(() => {
      waiting = null;
      // What is bound now, not what was bound when the key went down: a dialog may have opened meanwhile.
      if (!document.querySelector(OPEN_DIALOG)) handlerOf(name)?.(event);
    }, TYPING_MS);
  }
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
      // What the waiting key would act on may be gone with this layer.
      dropWaiting();
      if (layers.length === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, [names, enabled]);
}
