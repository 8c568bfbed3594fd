/** The actor of a request without a signed-in user: the name that the request gives, or `local` when it gives none. */
export const LOCAL_ACTOR = "local";

/** The actor of a request that nobody has signed in for, and that is signed with the secret of a source. */
export const SIGNATURE_ACTOR = "signature";

const CHARS_MAX = 128;

/** Parkade itself acts under these names. A person cannot take one, so an audit entry always shows who acted. */
export const MACHINE_NAMES = new Set([
  "api",
  "consumer",
  "janitor",
  "parkade",
  "reconciler",
  SIGNATURE_ACTOR,
  "slow-lane",
  "system",
  "web",
  "worker",
]);
/** `source:orders` parks the messages of the broker of that source, `rule:nightly` redrives what a redrive rule takes. */
export const MACHINE_PREFIX = /^(?:source|rule|worker|parkade|system|api):/;

/**
 * Invisible characters, and characters that change how their neighbours are shown: with them two names could look
 * equal.
 */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The name that an x-actor header sends, cleaned. A header comes as one character for each byte; bytes that are no
 * UTF-8 are the Latin-1 of older clients.
 */
export function sentActor(header: string): string {
  try {
    return cleanActor(utf8.decode(Uint8Array.from(header, (letter) => letter.charCodeAt(0))));
  } catch {
    return cleanActor(header);
  }
}

/** The name in the form that is stored and compared. */
export function cleanActor(name: string): string {
  return name.trim().normalize("NFC");
}

/** The reason why a cleaned name is not allowed; null when it is allowed. */
export function actorFault(name: string): string | null {
  if (name === "" || [...name].length > CHARS_MAX) return `must be 1 to ${CHARS_MAX} characters`;
  if (UNSHOWN.test(name)) return "contains an invisible character: enter the name again";
  // Compatibility forms count too: a full-width or styled `worker` looks like the plain word.
  const plain = name.normalize("NFKC").toLowerCase();
  if (plain === LOCAL_ACTOR && name !== LOCAL_ACTOR)
    return `must be written "${LOCAL_ACTOR}" in small letters, or be another name`;
  if (MACHINE_NAMES.has(plain) || MACHINE_PREFIX.test(plain))
    return "is a name under which Parkade itself acts: use your own";
  return null;
}

/**
 * Whether two names may be of one person: they differ in case, accents, spaces, punctuation or the form of their
 * characters alone. Names that mean two persons can be equal here; who asks for an approval must not give it, so this
 * is the safe side.
 */
export function samePerson(one: string, other: string): boolean {
  return nameKey(one) === nameKey(other);
}

/**
 * A name without case, accents, width, spaces, punctuation and characters that cannot be seen: equal for names of one person, see
 * `samePerson`. To large letters and back: `ß` and `SS`, and the two small sigmas, are one.
 */
export function nameKey(name: string): string {
  const plain = name.normalize("NFKD").toUpperCase().toLowerCase().normalize("NFKD");
  return plain.replace(/[^\p{L}\p{N}]/gu, "").replaceAll("ς", "σ") || plain;
}

/** Who a channel names as its last editor until a person enables, edits or deletes it after a restore. */
export const RESTORE = "restore";
