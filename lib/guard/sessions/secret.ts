import { createHash, createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import { seal, unseal } from "@/lib/platform/sealing/sealed-bytes";

/** 256 bits as base64url: nobody guesses one, and a table that is read gives none away. */
export function newSecret(): { secret: string; hash: Buffer } {
  const secret = randomBytes(32).toString("base64url");
  return { secret, hash: hashOf(secret) };
}

/** SHA-256. A slow hash is for what people choose. */
export function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

const ID_TOKEN = "parkade id token";

/** Encrypts the ID token of a session under the secret of its cookie: the store alone cannot read it. */
export function sealIdToken(secret: string, idToken: string): Buffer {
  return seal(idTokenKey(secret), ID_TOKEN, Buffer.from(idToken));
}

/** null = it was encrypted under another secret. */
export function openIdToken(secret: string, sealed: Uint8Array): string | null {
  return unseal(idTokenKey(secret), ID_TOKEN, sealed)?.toString() ?? null;
}

/** Not the hash of the secret, which the store has. */
function idTokenKey(secret: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", ID_TOKEN, 32)));
}
