import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { assertKey } from "@/lib/platform/archive/archive-key.pure";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/**
 * A sealed object: MAGIC, the id of its key (8 bytes), a random nonce (12 bytes), the AES-256-GCM ciphertext and its tag (16
 * bytes). The header before the nonce and the object's key in the archive are authenticated with it: an object that is put in
 * the place of another, or changed, does not open.
 */
const MAGIC = Buffer.from("PKSEAL1\n");
const CIPHER = "aes-256-gcm";
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = MAGIC.length + KEY_ID_BYTES + NONCE_BYTES;

/** Bytes that an object has more when it is sealed. */
export const SEAL_BYTES = HEADER_BYTES + TAG_BYTES;

const VARIABLE = "PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY";

/**
 * Seals what is written with the first of the keys, and opens what any of them has sealed. Objects that are not sealed are read
 * as they are, so that sealing can begin later; `list` gives the bytes that are stored. A sealed object that does not open
 * rejects with DomainError `archive-unreadable`. `keys`: 32 bytes each; none = nothing is sealed.
 */
export function sealedStore(store: ArchiveStore, keys: readonly Uint8Array[]): ArchiveStore {
  const byId = new Map(keys.map((key) => [idOf(key).toString("hex"), key]));
  const [own] = keys;
  return {
    place: store.place,
    put: async (key, bytes) => {
      // The key is authenticated as it is: what a store refuses is refused before it is sealed.
      assertKey(key);
      await store.put(key, own === undefined ? bytes : seal(own, key, bytes));
    },
    get: async (key) => {
      const bytes = await store.get(key);
      if (bytes === null || !isSealed(bytes)) return bytes;
      return open(byId, key, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    },
    list: (prefix) => store.list(prefix),
    remove: (key) => store.remove(key),
    close: () => store.close(),
  };
}

function idOf(key: Uint8Array): Buffer {
  return createHash("sha256").update("parkade archive key id\0").update(key).digest().subarray(0, KEY_ID_BYTES);
}

function isSealed(bytes: Uint8Array): boolean {
  return bytes.byteLength >= SEAL_BYTES && MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

function seal(key: Uint8Array, objectKey: string, bytes: Uint8Array): Buffer {
  const head = Buffer.concat([MAGIC, idOf(key)]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.concat([head, Buffer.from(objectKey)]));
  return Buffer.concat([head, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function open(keys: ReadonlyMap<string, Uint8Array>, objectKey: string, bytes: Buffer): Buffer {
  const head = bytes.subarray(0, MAGIC.length + KEY_ID_BYTES);
  const key = keys.get(head.subarray(MAGIC.length).toString("hex"));
  if (key === undefined) {
    throw unreadable(
      keys.size === 0
        ? `${objectKey} is sealed, and ${VARIABLE} is not set: set it to the key that sealed the object`
        : `${objectKey} is sealed with another key than those of ${VARIABLE}: add that key to it, after a comma`,
    );
  }
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(head.length, HEADER_BYTES))
    .setAAD(Buffer.concat([head, Buffer.from(objectKey)]))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch (error) {
    throw unreadable(`${objectKey} was changed: its seal does not match its content or its name`, error);
  }
}

function unreadable(text: string, internal?: unknown): DomainError {
  return new DomainError("archive-unreadable", text, { internal });
}
