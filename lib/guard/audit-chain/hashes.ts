import { createHash } from "node:crypto";
import type { HashedSeal } from "@/lib/guard/audit-chain/chain.pure";

/**
 * What is hashed is a JSON array of texts and nulls, which no two different rows share. These are the only places that make
 * hashes: a change here makes every chain invalid.
 */
export type HashedEntry = {
  id: string;
  /** Microseconds since the epoch. */
  at: string;
  actor: string;
  action: string;
  subjectKind: string;
  subjectId: string | null;
  redriveId: string | null;
  reason: string | null;
  /** JSON text, as PostgreSQL writes it. */
  before: string | null;
  after: string | null;
  count: number | null;
  /** SHA-256 of the ids that the entry lists, in their order; hexadecimal. */
  listed: string | null;
  /** SHA-256 of the ids of its first rows of audit_subjects, in their order. */
  subjects: string | null;
};

/** Of the columns that nothing may change. */
export function entryHash(entry: HashedEntry): string {
  return sha256([
    ...["entry 1", entry.id, entry.at, entry.actor, entry.action, entry.subjectKind, entry.redriveId],
    ...[String(entry.count), entry.listed, entry.subjects],
  ]);
}

/** Of the columns in which a forget may replace names. */
export function textHash({ id, subjectId, reason, before, after }: HashedEntry): string {
  return sha256(["texts 1", id, subjectId, reason, canonical(before), canonical(after)]);
}

/** Of events that were added to an entry later. @param subjects null = there are none */
export function subjectsHash(entryId: string, part: string, subjects: string | null): string {
  return sha256(["subjects 1", entryId, part, subjects]);
}

/** What the first seal continues. */
export const CHAIN_START = sha256(["parkade audit chain 2"]);

export function chainHash(before: string, seal: HashedSeal): string {
  const { seq, kind, entryId, ref, contentHash, textHash: texts, sealedAtMs } = seal;
  return sha256(["seal 2", before, String(seq), kind, entryId, ref, contentHash, texts, String(sealedAtMs)]);
}

function sha256(fields: readonly (string | null)[]): string {
  return createHash("sha256").update(JSON.stringify(fields)).digest("hex");
}

type NumberText = { source: string };

/** Names in order, no spaces, numbers as they are written: another release of PostgreSQL may print JSON otherwise. */
function canonical(json: string | null): string | null {
  if (json === null) return null;
  // A number becomes an object with its digits: a double would lose some of them.
  const parse = JSON.parse as (
    text: string,
    revive: (key: string, value: unknown, context: NumberText) => unknown,
  ) => unknown;
  return print(parse(json, (_, value, { source }) => (typeof value === "number" ? new Digits(source) : value)));
}

class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function print(value: unknown): string {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value)) return `[${value.map(print).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${print((value as Record<string, unknown>)[name])}`).join(",")}}`;
}
