import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { UsageError } from "@/lib/cli/command";

/** What `parkade login` keeps of one Parkade. */
export type Credential = { token: string; tokenId: string; account: string; expiresAt: string };

type Stored = { servers: Record<string, Credential> };

export function credentialsFile(env: Record<string, string | undefined> = process.env): string {
  return join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "parkade", "credentials.json");
}

/** Addresses of one Parkade that are spelled otherwise have one credential. */
function keyOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** null = there is none for this address. Throws UsageError for a file that others may read, or that holds something else. */
export function readCredential(file: string, url: string): Credential | null {
  return readStored(file).servers[keyOf(url)] ?? null;
}

/** null forgets it. The file is replaced as a whole: an interrupted write leaves the former one. */
export function writeCredential(file: string, url: string, credential: Credential | null): void {
  const { [keyOf(url)]: _, ...others } = readStored(file).servers;
  const servers = credential === null ? others : { ...others, [keyOf(url)]: credential };
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${randomUUID()}`;
  writeFileSync(next, `${JSON.stringify({ servers }, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

function readStored(file: string): Stored {
  try {
    // Windows has no such bits: there the folder of the user is private.
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0)
      throw new UsageError(`others on this machine may read ${file}: chmod 600 it, or delete it and log in again`);
    const stored: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (isStored(stored)) return stored;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { servers: {} };
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UsageError(`${file} is not what parkade login writes: delete it, and log in again`);
}

function isStored(value: unknown): value is Stored {
  const servers = (value as Partial<Stored> | null)?.servers;
  if (typeof servers !== "object" || servers === null) return false;
  return Object.values(servers).every(({ token, tokenId }) => typeof token === "string" && typeof tokenId === "string");
}
