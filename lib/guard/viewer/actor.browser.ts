import { cleanActor, actorFault as coreFault } from "@/lib/guard/viewer/actor.pure";
import { storedValue, useStoredValue } from "@/lib/platform/browser/stored-value.browser";

const stored = storedValue("parkade.actor");

/** The reason why a name cannot be used, or null. An empty name is valid: the audit then says `local`. */
export function actorFault(name: string): string | null {
  const clean = cleanActor(name);
  const fault = clean === "" ? null : coreFault(clean);
  return fault === null ? null : `The name ${fault}`;
}

/** The name of the person in this browser, as the audit records it; null before a person has set it. */
function actorName(): string | null {
  const name = stored.get();
  return name !== null && coreFault(name) === null ? name : null;
}

/** The name in a header: a character for each UTF-8 byte, because `fetch` takes no others. null = no name. */
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
