import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** RFC 6238: a code of six digits for each 30 s, by HMAC-SHA-1, as every authenticator app makes it. */
const STEP_MS = 30_000;
const DIGITS = 6;
/** Steps before and after the present one: the clock of a phone is off by some seconds. */
const DRIFT_STEPS = 1;

/** 160 bits, as RFC 4226 recommends. */
export function newTotpSecret(): Buffer {
  return randomBytes(20);
}

/** RFC 4226, section 5.3. */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const at = mac[mac.length - 1]! & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** The step whose code this is, later than `usedStep`; null = it is none. A code works once. */
export function totpStepOf(
  code: string,
  { secret, usedStep, nowMs }: { secret: Uint8Array; usedStep: number | null; nowMs: number },
): number | null {
  const present = Math.floor(nowMs / STEP_MS);
  let found: number | null = null;
  for (let step = present - DRIFT_STEPS; step <= present + DRIFT_STEPS; step++) {
    const wanted = Buffer.from(totpCode(secret, step));
    const given = Buffer.from(code);
    if (given.length === wanted.length && timingSafeEqual(given, wanted) && step > (usedStep ?? -1)) found = step;
  }
  return found;
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** RFC 4648 base32 without padding: how authenticator apps take a secret by hand. */
export function base32(bytes: Uint8Array): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(8, "0");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(5, "0"), 2)]).join("");
}

/** The address that a QR code holds. https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
export function totpAddress(secret: Uint8Array, { name, issuer }: { name: string; issuer: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}&algorithm=SHA1&digits=6&period=30`;
}
