import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from "node:crypto";

/**
 * Sealed bytes: the version of this format (1 byte), a random nonce (12), the AES-256-GCM ciphertext, its tag (16). Where the bytes
 * belong is authenticated with them: they do not open in another place.
 */
const VERSION = 1;
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES;

/** Bytes that a value has more when it is sealed. */
export const SEAL_BYTES = HEAD_BYTES + TAG_BYTES;

/** Random bytes that were not used yet: to ask the system for twelve of them costs as much as to encrypt a payload. */
const random = Buffer.alloc(NONCE_BYTES * 1024);
let randomAt = random.length;

function newNonce(): Buffer {
  if (randomAt === random.length) {
    randomFillSync(random);
    randomAt = 0;
  }
  const nonce = random.subarray(randomAt, randomAt + NONCE_BYTES);
  randomAt += NONCE_BYTES;
  return nonce;
}

export function seal(key: KeyObject, place: string, bytes: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(bytes.byteLength + SEAL_BYTES);
  sealed[0] = VERSION;
  const nonce = newNonce();
  sealed.set(nonce, 1);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(place));
  sealed.set(cipher.update(bytes), HEAD_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), sealed.length - TAG_BYTES);
  return sealed;
}

/** null = the key, the place or any byte is another one than when it was sealed. */
export function unseal(key: KeyObject, place: string, sealed: Uint8Array): Buffer | null {
  if (sealed.byteLength < SEAL_BYTES || sealed[0] !== VERSION) return null;
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(1, HEAD_BYTES))
    .setAAD(Buffer.from(place))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  const bytes = decipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES));
  try {
    decipher.final();
    return bytes;
  } catch {
    return null;
  }
}
