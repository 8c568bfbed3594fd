import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Begins the names of files that are being written; no key has a part that begins with it. */
export const WRITING = ".parkade-writing-";

/** Of S3, in bytes of UTF-8, with a prefix of the location. */
const KEY_BYTES_MAX = 900;
/** Of most file systems. */
const PART_BYTES_MAX = 255;

/** A key that every store takes, and that stays below its folder or prefix. Throws DomainError `archive-refused`. */
export function assertKey(key: string): void {
  const fault = faultOf(key);
  if (fault !== null) throw new DomainError("archive-refused", `${JSON.stringify(key)} is not an object key: ${fault}`);
}

/** The beginning of keys: the last part may be cut or empty. Throws DomainError `archive-refused`. */
export function assertPrefix(prefix: string): void {
  if (prefix !== "") assertKey(`${prefix}x`);
}

function faultOf(key: string): string | null {
  const parts = key.split("/");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what no key may hold
  if (/[\u0000-\u001f\u007f\\]/.test(key) || !key.isWellFormed())
    return "it contains a character that file systems refuse";
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    return "it begins or ends with a slash, or has a part that is empty, . or ..";
  if (parts.some((part) => part.startsWith(WRITING))) return `a part of it begins with ${WRITING}`;
  if (bytesOf(key) > KEY_BYTES_MAX || parts.some((part) => bytesOf(part) > PART_BYTES_MAX)) return "it is too long";
  return null;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).byteLength;
}
