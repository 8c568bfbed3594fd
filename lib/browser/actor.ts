import { cleanActor, actorFault as coreFault } from "@/lib/core/actor";
import { storedValue, useStoredValue } from "./stored-value";

const stored = storedValue("parkade.actor");

/** Why a name cannot be used, or null. Nothing at all is allowed: then the audit says `local`. */
export function actorFault(name: string): string | null {
  const clean = cleanActor(name);
  const fault = clean === "" ? null : coreFault(clean);
  return fault === null ? null : `The name ${fault}`;
}

/** Who acts in this browser, as it will stand in the audit; null until somebody said so. */
function actorName(): string | null {
  const name = stored.get();
  return name !== null && coreFault(name) === null ? name : null;
}

/** The name as a header carries it: a character for each byte of its UTF-8, which `fetch` takes. null = no name. */
export function actorHeader(): string | null {
  const name = actorName();
  return name === null ? null : String.fromCharCode(...new TextEncoder().encode(name));
}

export function setActorName(name: string): void {
  const clean = cleanActor(name);
  stored.set(clean === "" ? null : clean);
}

export function useActorName(): string | null {
  return useStoredValue(stored);
}
