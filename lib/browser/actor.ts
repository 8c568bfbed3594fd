import { storedValue, useStoredValue } from "./stored-value";

const stored = storedValue("parkade.actor");

/** What a header can carry and the API accepts as a name. */
const SENDABLE = /^[\x20-\x7e\xa0-\xff]{1,128}$/;

/** Why a name cannot be used, or null. Nothing at all is allowed: then the audit says `local`. */
export function actorFault(name: string): string | null {
  const trimmed = name.trim();
  return trimmed === "" || SENDABLE.test(trimmed) ? null : "Use Latin letters: it travels in an HTTP header";
}

/** Who acts in this browser, as it will stand in the audit; null until somebody said so. */
export function actorName(): string | null {
  const name = stored.get();
  return name !== null && SENDABLE.test(name) ? name : null;
}

export function setActorName(name: string): void {
  const trimmed = name.trim();
  stored.set(trimmed === "" ? null : trimmed);
}

export function useActorName(): string | null {
  return useStoredValue(stored);
}
