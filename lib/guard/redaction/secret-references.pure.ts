import type { SignInMode } from "@/lib/guard/viewer/sign-in-mode.pure";
import { matchesName, parseHostNames } from "@/lib/platform/plain/host-names.pure";

/** Variables that configurations may name; PARKADE_ENV_REFERENCES lists more. */
const SECRET_PREFIX = "PARKADE_SECRET_";
/** Never allowed, whatever a list says: Parkade's own credentials, keys and places of secrets. */
const OWN_VARIABLES =
  /^(?:DATABASE_URL|REDIS_URL|PG[A-Z]+|PARKADE_(?!SECRET_).*|PARKADE_SECRET_(?:CONFIRMED|FILES|ARCHIVE_\w+)|\w+__HOSTS)$/i;
const FILE = "file:";

const ENV_REFERENCE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;
/** An absolute path; not `file://`, which is an address. */
const FILE_REFERENCE = /^file:\/[A-Za-z0-9._@-][A-Za-z0-9._@/-]*$/;

/** The variable of `env:NAME`, read at use and never stored or shown. `file:/PATH` names a file in the folder of secrets. */
export function referenceIn(value: string): string | null {
  return ENV_REFERENCE.exec(value)?.[1] ?? FILE_REFERENCE.exec(value)?.[0] ?? null;
}

/** Whether a person may give a secret as it is, or by reference alone. */
export const PLAIN_SECRET_MODES = ["refuse", "take"] as const;
export type PlainSecretMode = (typeof PLAIN_SECRET_MODES)[number];

/** Where none is set: a console that is open on its own machine, as for the demo, takes them; one that others reach does not. */
export function plainSecretModeOf(given: PlainSecretMode | null, signIn: SignInMode): PlainSecretMode {
  return given ?? (signIn === "elsewhere" ? "take" : "refuse");
}

/** Why a secret is refused that is no reference, and the fix. It does not repeat the secret. */
const BY_REFERENCE = "env:PARKADE_SECRET_NAME or file:/..., see docs/hardening.md#secrets";
export const PLAIN_SECRET_WORDS = `is a secret: give it as ${BY_REFERENCE}`;
export const PLAIN_ADDRESS_WORDS = `contains a password, a token or a key: give the whole address as ${BY_REFERENCE}`;

export type SecretVariables = {
  variables: Readonly<Record<string, string | undefined>>;
  /** The names in PARKADE_ENV_REFERENCES, and `file:FOLDER/` for the folder of secrets: see `listedReferences`. */
  listed: readonly string[];
  /** What a file of that folder holds; undefined = it cannot be read. Without it there are no files. */
  files?: (path: string) => string | undefined;
};

/** What configurations may name beside `PARKADE_SECRET_*`: variables, and every file of the folder. */
export function listedReferences(variables: readonly string[], folder: string | null): string[] {
  return folder === null ? [...variables] : [...variables, `${FILE}${folder.replace(/\/+$/, "")}/`];
}

/** Whether a configuration may name the variable or file. Others stay private: who edits a source also chooses where the value is sent. */
export function mayReference(name: string, listed: readonly string[]): boolean {
  if (name.startsWith(FILE))
    return listed.some((entry) => entry.startsWith(FILE) && name.startsWith(entry)) && !/\/\.{0,2}(?:\/|$)/.test(name);
  if (OWN_VARIABLES.test(name)) return false;
  return name.startsWith(SECRET_PREFIX) || listed.includes(name);
}

/** Why a configuration may not name it, and the fix. `what`: a source, a channel. */
export function referenceFault(name: string, what: string): string {
  return name.startsWith(FILE)
    ? `names a file that a ${what} may not read: put it in the folder that PARKADE_SECRET_FILES names, for web and worker`
    : `names a variable that a ${what} may not read: rename it to ${SECRET_PREFIX}..., or list it in PARKADE_ENV_REFERENCES, for web and worker`;
}

/** Empty = it is not set, or the file cannot be read. */
export function secretValue({ variables, files }: SecretVariables, name: string): string {
  return (name.startsWith(FILE) ? files?.(name.slice(FILE.length)) : variables[name]) ?? "";
}

/**
 * The hosts, as they are listed, when the secret may not go to one of `hosts`; null when it may go to all. They stand in
 * `NAME__HOSTS`; a file is bound by the variable of its own name in capitals: `orders-token` by `ORDERS_TOKEN__HOSTS`. A list that
 * cannot be read allows none.
 */
export function boundElsewhere(name: string, hosts: readonly string[], { variables }: SecretVariables): string | null {
  const bound = variables[`${variableOf(name)}__HOSTS`];
  if (bound === undefined || bound.trim() === "") return null;
  const names = parseHostNames(bound) ?? [];
  return hosts.every((host) => matchesName(host, names)) ? null : bound.trim();
}

function variableOf(name: string): string {
  if (!name.startsWith(FILE)) return name;
  return name
    .slice(name.lastIndexOf("/") + 1)
    .replace(/\W/g, "_")
    .toUpperCase();
}

/** What a configuration that is saved may name; see `lib/platform/address-filter.ts` for `assertAllowed`. */
export type ConfigLimits = {
  envReferences: readonly string[];
  plainSecretMode: PlainSecretMode;
  addresses: { assertAllowed(host: string): void };
};
