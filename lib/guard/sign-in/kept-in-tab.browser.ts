/** What this tab keeps of a person in the browser's storage. Whoever uses the tab next must not find it. */
const KEPT = { draft: "parkade.edit.", reason: "parkade-reveal-reason" } as const;
type Kept = keyof typeof KEPT;

let ended = false;

/** Throws what the storage throws, when it is full or forbidden. After `forgetPerson(true)` nothing is kept. */
export function keepInTab(kind: Kept, id: string, text: string): void {
  if (!ended) sessionStorage.setItem(KEPT[kind] + id, text);
}

/** null = nothing is kept, or the storage is forbidden. */
export function keptInTab(kind: Kept, id: string): string | null {
  try {
    return sessionStorage.getItem(KEPT[kind] + id);
  } catch {
    return null;
  }
}

export function forgetInTab(kind: Kept, id: string): void {
  try {
    sessionStorage.removeItem(KEPT[kind] + id);
  } catch {
    // Forbidden: nothing was stored.
  }
}

/**
 * At sign-out and sign-in. `leaving`: the page is left now, and an open editor that keeps its text on the way out keeps
 * nothing more.
 */
export function forgetPerson(leaving = false): void {
  ended = leaving;
  try {
    for (const key of Object.keys(sessionStorage))
      if (Object.values(KEPT).some((begin) => key.startsWith(begin))) sessionStorage.removeItem(key);
  } catch {
    // Forbidden: nothing was stored.
  }
}
