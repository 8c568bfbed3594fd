import { createSecretKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve, sep } from "node:path";
import { EnvError } from "@/lib/platform/env";

/** The keys that wrap data keys. They are in the configuration alone, and never in the store or the log. */
export type MasterKeys = {
  /** Wraps new data keys; null = new bodies are stored as they are. */
  current: string | null;
  byId: ReadonlyMap<string, KeyObject>;
};

export const NO_MASTER_KEYS: MasterKeys = { current: null, byId: new Map() };

/** In place of an id: keys open what is encrypted, and new bodies are stored as they are. */
const NONE = "none";
const KEYS = "PARKADE_ENCRYPTION_KEYS";
const KEY_ID = "PARKADE_ENCRYPTION_KEY_ID";
const FILE = "file:";
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const KEY = /^[A-Za-z0-9+/]{43}=$/;
const FORM = "id=KEY, where KEY is 32 random bytes in base64, such as `openssl rand -base64 32` writes";

type Settings = {
  /** Keys, or `file:/...` of a file with them; null = none. */
  keys: string | null;
  /** Of the key that wraps; null = of the first one. */
  keyId: string | null;
  /** The folder of the secrets of sources. */
  secretFiles: string | null;
};

/** Throws EnvError, which repeats no key. */
export function readMasterKeys({ keys, keyId, secretFiles }: Settings): MasterKeys {
  if (keys === null) {
    if (keyId === null || keyId === NONE) return NO_MASTER_KEYS;
    throw new EnvError([`${KEY_ID} is set and ${KEYS} is not: set ${KEYS} to ${FORM}, or unset ${KEY_ID}.`]);
  }
  const byId = new Map<string, KeyObject>();
  for (const [index, entry] of entriesOf(keys, secretFiles).entries()) {
    const at = entry.indexOf("=");
    const [id, key] = [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
    const which = `${KEYS}: entry ${index + 1}`;
    // Without an id, what is before the "=" at the end of a key is the key.
    if (at < 0 || !ID.test(id) || id === NONE || /^=?$/.test(key))
      throw new EnvError([`${which} has no id of letters, digits, dots, dashes, or no key: write it as ${FORM}.`]);
    if (!KEY.test(key)) throw new EnvError([`${which} (${id}) is no key: write it as ${FORM}.`]);
    if (byId.has(id)) throw new EnvError([`${which} has the id ${id} again: give each key an id of its own.`]);
    byId.set(id, createSecretKey(Buffer.from(key, "base64")));
  }
  const [first] = byId.keys();
  if (first === undefined) throw new EnvError([`${KEYS} holds no key: write ${FORM}, or unset it.`]);
  if (keyId === NONE) return { current: null, byId };
  const current = keyId ?? first;
  if (byId.has(current)) return { current, byId };
  throw new EnvError([
    `${KEY_ID} is "${current}", which is no id of ${KEYS}: name one of ${[...byId.keys()].join(", ")}, or ${NONE}.`,
  ]);
}

/** One for each key. In a file a line may begin with # instead. */
function entriesOf(keys: string, secretFiles: string | null): string[] {
  const text = keys.startsWith(FILE) ? fileText(keys.slice(FILE.length), secretFiles) : keys;
  return text
    .split("\n")
    .flatMap((line) => (line.trim().startsWith("#") ? [] : line.split(",")))
    .map((entry) => entry.trim())
    .filter(Boolean);
}

function fileText(path: string, secretFiles: string | null): string {
  if (secretFiles !== null && `${resolve(path)}${sep}`.startsWith(`${resolve(secretFiles)}${sep}`))
    throw new EnvError([
      `${KEYS} names a file in the folder of PARKADE_SECRET_FILES, which sources may send elsewhere: move it out of that folder.`,
    ]);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new EnvError([
      `${KEYS} names a file that cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"}): correct the path file:/..., or let this process read it.`,
    ]);
  }
}
