import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { plainPassword } from "./password.pure";

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** OWASP Password Storage Cheat Sheet: N = 2^15, r = 8, p = 3, which takes 32 MiB and a tenth of a second. */
const COST = { log2N: 15, r: 8, p: 3 };
const BYTES = 32;

/** Hashes at the same time: each takes its memory and a thread. */
const AT_ONCE = 2;
/** Sign-ins that may wait; above it they are asked to come again. */
const WAITING_MAX = 20;

let working = 0;
const waiting: (() => void)[] = [];

/** `first`: before all others that wait, however many they are. Else rejects with DomainError `too-many-requests` when too many wait. */
async function inTurn<T>(work: () => Promise<T>, first = false): Promise<T> {
  if (working >= AT_ONCE) {
    if (!first && waiting.length >= WAITING_MAX)
      throw new DomainError("too-many-requests", "Many people are signing in right now: try again in a moment", {
        retryAfterMs: 2_000,
      });
    await new Promise<void>((resolve) => (first ? waiting.unshift(resolve) : waiting.push(resolve)));
  } else working++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else working--;
  }
}

/** `scrypt$log2N$r$p$salt$hash`: a later cost reads the passwords of an earlier one. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await inTurn(() => hashWith(password, salt, COST));
  return ["scrypt", COST.log2N, COST.r, COST.p, salt.toString("base64url"), hash.toString("base64url")].join("$");
}

/**
 * `stored` null = there is no such account: it takes as long, and is false. `first`: whose tries are few by themselves is judged before
 * strangers.
 */
export async function isPassword(
  password: string,
  stored: string | null,
  { first = false }: { first?: boolean } = {},
): Promise<boolean> {
  const [, log2N, r, p, salt, hash] = (stored ?? NOBODYS).split("$");
  const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) };
  const found = await inTurn(() => hashWith(password, Buffer.from(salt!, "base64url"), cost), first);
  const wanted = Buffer.from(hash!, "base64url");
  return found.length === wanted.length && timingSafeEqual(found, wanted) && stored !== null;
}

const NOBODYS = ["scrypt", COST.log2N, COST.r, COST.p, "AAAAAAAAAAAAAAAAAAAAAA", "A".repeat(43)].join("$");

function hashWith(password: string, salt: Buffer, { log2N, r, p }: typeof COST): Promise<Buffer> {
  const N = 2 ** log2N;
  return derive(plainPassword(password), salt, BYTES, { N, r, p, maxmem: 256 * N * r });
}
