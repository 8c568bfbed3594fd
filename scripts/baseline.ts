import { createHash } from "node:crypto";

/** The schema of the first release, in one migration. */
export const BASELINE = "20261208000000_baseline";

/** The last of the development migrations that the baseline replaces. */
const LAST_REPLACED = "20261207620001_uncounted_entries";
/** SHA-256 over `<name> <sha256>\n` of all 86 in order: a store or a backup that has exactly these has the baseline's schema. */
const REPLACED = "2b129f33c2b871731907a2fe65b3b8dd7abbbd1118071e62ccb6023923a0f6d7";

type Named = { name: string; sha256: string };

/** The store or the backup has what the baseline makes, under the names of the migrations that it replaces. */
export function isAtBaseline(migrations: readonly Named[]): boolean {
  const hash = createHash("sha256");
  for (const { name, sha256 } of migrations.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
    hash.update(`${name} ${sha256}\n`);
  return hash.digest("hex") === REPLACED;
}

/** What to do with a store or a backup of a development version; null: it is none. `what` names it at the start of the sentence. */
export function beforeBaseline(migrations: readonly Named[], what: string): string | null {
  const old = migrations.filter(({ name }) => name < BASELINE);
  if (old.length === 0 || isAtBaseline(migrations)) return null;
  return `${what} is at migration ${old.at(-1)!.name} of a development version before 0.1.0: start the last development version (migration ${LAST_REPLACED}) on it once, then this one.`;
}
