import { useSyncExternalStore } from "react";

/**
 * One stored choice of this browser (zone, name, theme): a value in localStorage. Every component and every tab follows
 * its changes. Without storage (private mode) it lasts as long as the page.
 */
export type StoredValue = {
  get: () => string | null;
  set: (value: string | null) => void;
  subscribe: (listener: () => void) => () => void;
};

export function storedValue(key: string): StoredValue {
  const listeners = new Set<() => void>();
  let fallback: string | null = null;

  const get = () => {
    if (typeof window === "undefined") return null;
    try {
      return window.localStorage.getItem(key);
    } catch {
      // Storage is refused: the choice lasts as long as the page.
      return fallback;
    }
  };

  const set = (value: string | null) => {
    fallback = value;
    try {
      if (value === null) window.localStorage.removeItem(key);
      else window.localStorage.setItem(key, value);
    } catch {
      // Storage is refused: `fallback` keeps the value.
    }
    for (const listener of listeners) listener();
  };

  const subscribe = (listener: () => void) => {
    const onStorage = (event: StorageEvent) => {
      if (event.key === key || event.key === null) listener();
    };
    listeners.add(listener);
    window.addEventListener("storage", onStorage);
    return () => {
      listeners.delete(listener);
      window.removeEventListener("storage", onStorage);
    };
  };

  return { get, set, subscribe };
}

/** The value as React state; `null` on the server and during hydration. */
export function useStoredValue(value: StoredValue): string | null {
  return useSyncExternalStore(value.subscribe, value.get, () => null);
}
