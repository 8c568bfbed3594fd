import { createHash, randomInt } from "node:crypto";

/** No letters that look alike: each is worth 4.95 bits. */
const LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";

/** A code of `groups` times five letters that a person reads and types, such as `7KQ2M-XW4HT`. Two groups are 49 bits, five 123. */
export function newReadableCode(groups: number): string {
  const letters = () => Array.from({ length: 5 }, () => LETTERS[randomInt(LETTERS.length)]).join("");
  return Array.from({ length: groups }, letters).join("-");
}

/** SHA-256 of a code, whatever its case and what stands between its letters. */
export function hashOfCode(code: string): Buffer {
  return createHash("sha256")
    .update(code.toUpperCase().replace(/[^0-9A-Z]/g, ""))
    .digest();
}
