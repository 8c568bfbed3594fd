import { useSyncExternalStore } from "react";

/** The server waits this long before it sends what a click has started; until then Undo takes it back. */
export const HOLD_MS = 5_000;

/** The most holds that a tab remembers: a hold lasts seconds, or as long as its redrive waits, but a tab stays open for weeks. */
const REMEMBERED_MAX = 50;

/** What this tab does when a held redrive is undone, and which holds a toast of this tab shows. */
const restores = new Map<string, () => void>();
let inToasts: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

/** `restore` gives the selection back. */
export function restoreOnUndo(redriveId: string, restore: () => void): void {
  restores.set(redriveId, restore);
  if (restores.size > REMEMBERED_MAX) restores.delete(restores.keys().next().value!);
}

export function restoreSelection(redriveId: string): void {
  restores.get(redriveId)?.();
  restores.delete(redriveId);
}

/** A toast shows the hold of this redrive, so no bar does. */
export function showInToast(redriveId: string): void {
  inToasts = new Set([...inToasts, redriveId].slice(-REMEMBERED_MAX));
  for (const listener of listeners) listener();
}

export function useHoldsInToasts(): ReadonlySet<string> {
  return useSyncExternalStore(
    subscribe,
    () => inToasts,
    () => inToasts,
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
