import { storedValue, useStoredValue } from "./stored-value";

const stored = storedValue("parkade.actor");

/** Who acts in this browser, as it will stand in the audit; null until somebody said so. */
export function actorName(): string | null {
  return stored.get();
}

export function setActorName(name: string): void {
  const trimmed = name.trim();
  stored.set(trimmed === "" ? null : trimmed);
}

export function useActorName(): string | null {
  return useStoredValue(stored);
}
