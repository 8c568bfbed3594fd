/** Nobody signs in yet: who acts is what the caller says, and `local` when the caller says nothing. */
export const LOCAL_ACTOR = "local";

const CHARS_MAX = 128;

/** Under these Parkade itself acts: its own entries must not be mistaken for a person's, nor a person's for its own. */
const MACHINE_NAMES = new Set([
  "api",
  "consumer",
  "janitor",
  "parkade",
  "reconciler",
  "slow-lane",
  "system",
  "web",
  "worker",
]);
/** `source:orders` parks what it reads from its broker. */
const MACHINE_PREFIX = /^(?:source|worker|parkade|system|api):/;

/** Characters that show nothing or that change how their neighbours are shown: two names would look like one. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** A name in the form in which it is stored and compared. */
export function cleanActor(name: string): string {
  return name.trim().normalize("NFC");
}

/** Why nobody may act under this name, cleaned; null when it may be used. */
export function actorFault(name: string): string | null {
  if (name === "" || [...name].length > CHARS_MAX) return `must be 1 to ${CHARS_MAX} characters`;
  if (UNSHOWN.test(name)) return "holds a character that cannot be seen: type the name again";
  // Compatibility forms too: a full-width or styled `worker` reads like the plain one.
  const plain = name.normalize("NFKC").toLowerCase();
  if (MACHINE_NAMES.has(plain) || MACHINE_PREFIX.test(plain))
    return "is a name under which Parkade itself acts: use your own";
  return null;
}
