import * as z from "zod/mini";
import { amqp10 } from "@/lib/brokers/amqp10/kind.shapes";
import { bullmq } from "@/lib/brokers/bullmq/kind.shapes";
import { celery } from "@/lib/brokers/celery/kind.shapes";
import { http } from "@/lib/brokers/http/kind.shapes";
import { kafka } from "@/lib/brokers/kafka/kind.shapes";
import { formFields, type KindDescriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { type FieldMeta, type Mapping, mapping, referenceIn } from "@/lib/brokers/kinds/fields.shapes";
import { headerSecrets, MASK, redactUrl, urlSecrets } from "@/lib/brokers/kinds/redact-url.shapes";
import { nats } from "@/lib/brokers/nats/kind.shapes";
import { outbox } from "@/lib/brokers/outbox/kind.shapes";
import { pubsub } from "@/lib/brokers/pubsub/kind.shapes";
import { rabbitmq } from "@/lib/brokers/rabbitmq/kind.shapes";
import { redisStreams } from "@/lib/brokers/redis-streams/kind.shapes";
import { sidekiq } from "@/lib/brokers/sidekiq/kind.shapes";
import { sqs } from "@/lib/brokers/sqs/kind.shapes";
import { isSecretName } from "@/lib/guard/redaction/redact.pure";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";

/**
 * Every kind of source, in the order in which people see them. A kind is its descriptor here and its adapter in
 * lib/brokers/<kind>; the registry, the API, the forms and the docs are made of this table.
 */
const DESCRIPTORS = {
  http,
  rabbitmq,
  kafka,
  sqs,
  pubsub,
  nats,
  "redis-stream": redisStreams,
  amqp10,
  bullmq,
  outbox,
  sidekiq,
  celery,
};

export type Kind = keyof typeof DESCRIPTORS;
export type ConfigOf<K extends Kind> = z.infer<(typeof DESCRIPTORS)[K]["config"]>;
/** A source's configuration with its kind. */
export type SourceConfig = { [K in Kind]: { kind: K; config: ConfigOf<K> } }[Kind];

export const KINDS = Object.keys(DESCRIPTORS) as Kind[];

/** The descriptor of a kind, with the types of its configuration left open. */
export function kindOf(kind: Kind): KindDescriptor {
  return DESCRIPTORS[kind] as unknown as KindDescriptor;
}

function isKind(kind: string): kind is Kind {
  return Object.hasOwn(DESCRIPTORS, kind);
}

/** Variables that configurations may name; PARKADE_ENV_REFERENCES lists more. */
export const SECRET_PREFIX = "PARKADE_SECRET_";
/**
 * Never, whatever a list says: these are Parkade's own way to its store and queue, the key that it signs with and the keys
 * of its archive.
 */
const OWN_VARIABLES =
  /^(?:DATABASE_URL|REDIS_URL|PG[A-Z]+|PARKADE_(?!SECRET_).*|PARKADE_SECRET_(?:CONFIRMED|ARCHIVE_\w+))$/i;

/**
 * True when a configuration may name the variable. Everything else in the environment is not its business: whoever edits
 * a source also chooses where the value is sent.
 */
export function mayReference(name: string, listed: readonly string[]): boolean {
  if (OWN_VARIABLES.test(name)) return false;
  return name.startsWith(SECRET_PREFIX) || listed.includes(name);
}

type Role = NonNullable<FieldMeta["role"]>;

/** The role of the setting at each path of a kind; entries of a list or a table have the role of their setting. */
function rolesOf(kind: Kind): (path: readonly string[]) => Role | undefined {
  const fields = formFields(kindOf(kind).config).filter(({ role }) => role !== undefined);
  const roles = new Map(fields.map(({ path, role }) => [path.join("."), role!]));
  return (path) => roles.get(path.join(".")) ?? roles.get(path.slice(0, -1).join("."));
}

const ROLES = Object.fromEntries(KINDS.map((kind) => [kind, rolesOf(kind)])) as Record<
  Kind,
  ReturnType<typeof rolesOf>
>;

/** A row of a kind that this version does not know shows nothing. */
function roleAt(kind: string): (path: readonly string[]) => Role | undefined {
  return isKind(kind) ? ROLES[kind] : () => "secret";
}

function fieldErrors(error: z.core.$ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    const path = (tail: PropertyKey[]) => [...issue.path, ...tail].join(".");
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ field: path([key]), detail: "is not a setting of this kind" }));
    return { field: path([]), detail: issue.message };
  });
}

/**
 * Checks a source's configuration. Throws DomainError `invalid-config` whose fields are paths such as `config.url`;
 * no message repeats a value.
 */
export function parseSourceConfig(kind: string, config: unknown): SourceConfig {
  if (!isKind(kind)) {
    const detail = `is not a kind of source: use one of ${KINDS.join(", ")}`;
    throw new DomainError("invalid-config", `kind ${JSON.stringify(kind.slice(0, 40))} ${detail}`, {
      fields: [{ field: "kind", detail }],
    });
  }
  const parsed = z.object({ config: kindOf(kind).config }).safeParse({ config: config ?? {} });
  if (parsed.success) {
    // The kind and the type of its configuration go together, which only the table knows.
    const source = { kind, config: parsed.data.config } as SourceConfig;
    const misplaced = referencesIn(source).filter(({ path }) => ROLES[kind](path) === undefined);
    if (misplaced.length === 0) return source;
    const takers = formFields(kindOf(kind).config).filter(({ role }) => role !== undefined);
    const names = takers.map(({ path }) => path.join(".")).join(", ");
    throw badReferences(misplaced, `holds env:NAME, which is read only in ${names}: write the value itself`);
  }
  const fields = fieldErrors(parsed.error);
  throw new DomainError("invalid-config", `the configuration of this ${kind} source is not valid`, { fields });
}

/** Checks a mapping alone; its paths are those of a configuration: `config.mapping.tags`. Throws `invalid-config`. */
export function parseMapping(value: unknown): Mapping {
  const parsed = z.object({ config: z.object({ mapping }) }).safeParse({ config: { mapping: value } });
  if (parsed.success) return parsed.data.config.mapping ?? {};
  throw new DomainError("invalid-config", "the mapping is not valid", { fields: fieldErrors(parsed.error) });
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Rebuilds a JSON value with every string passed through `change`, which also gets its path. */
function mapStrings(value: Json, path: string[], change: (text: string, path: string[]) => string): Json {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((entry, index) => mapStrings(entry, [...path, String(index)], change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== undefined)
      .map(([key, entry]) => [key, mapStrings(entry, [...path, key], change)]),
  );
}

type Reference = { path: string[]; name: string };

function referencesIn(source: SourceConfig): Reference[] {
  const found: Reference[] = [];
  mapStrings(source.config as Json, [], (text, path) => {
    const name = referenceIn(text);
    if (name !== null) found.push({ path, name });
    return text;
  });
  return found;
}

function badReferences(references: readonly Reference[], fault: string): DomainError {
  const fields = references.map(({ path }) => ({ field: ["config", ...path].join("."), detail: fault }));
  return new DomainError("invalid-config", `${fields[0]!.field} ${fault}`, { fields });
}

/**
 * Throws DomainError `invalid-config`, which names the fields, when a configuration names a variable that it may not.
 * `listed`: the names in PARKADE_ENV_REFERENCES. The answer is the same whether the variable exists or not.
 */
function assertReferences(source: SourceConfig, listed: readonly string[]): void {
  const refused = referencesIn(source).filter(({ name }) => !mayReference(name, listed));
  if (refused.length === 0) return;
  throw badReferences(
    refused,
    `names a variable that a source may not read: rename it to ${SECRET_PREFIX}..., or list it in PARKADE_ENV_REFERENCES, for web and worker`,
  );
}

/** What a configuration that is saved may name; see `lib/platform/address-filter.ts` for `assertAllowed`. */
export type ConfigLimits = { envReferences: readonly string[]; addresses: { assertAllowed(host: string): void } };

/**
 * Throws DomainError `invalid-config`, which names the fields, for a variable or an IP address that a source may not have.
 * The address of a name, or of a reference, is checked at each connect.
 */
export function assertPermitted(source: SourceConfig, { envReferences, addresses }: ConfigLimits): void {
  assertReferences(source, envReferences);
  const fields: FieldError[] = [];
  mapStrings(source.config as Json, [], (text, path) => {
    if (ROLES[source.kind](path) !== "address") return text;
    try {
      for (const host of hostsIn(text)) addresses.assertAllowed(host);
    } catch (error) {
      fields.push({ field: ["config", ...path].join("."), detail: (error as Error).message });
    }
    return text;
  });
  if (fields.length === 0) return;
  throw new DomainError("invalid-config", fields.map(({ field, detail }) => `${field}: ${detail}`).join("; "), {
    fields,
  });
}

/** The hosts that an address names: that of a URL, also in its query as PostgreSQL reads it, or that before a port. */
function hostsIn(address: string): string[] {
  const url = address.includes("://") && URL.canParse(address) ? new URL(address) : null;
  if (url === null) return [address.replace(/:\d+$/, "")];
  return [url.hostname, ...url.searchParams.getAll("host")];
}

/** Where secrets by reference are found: the environment, and the names in PARKADE_ENV_REFERENCES. */
export type SecretVariables = {
  variables: Readonly<Record<string, string | undefined>>;
  listed: readonly string[];
};

/**
 * The configuration with every `env:NAME` replaced, to be used at once and not kept, and the texts that nobody may see:
 * what the references stood for, and the credentials beside them. Throws DomainError `invalid-config` naming the field
 * whose variable may not be read, is not set, or held something else.
 */
export function resolveSecrets(
  source: SourceConfig,
  { variables, listed }: SecretVariables,
): { source: SourceConfig; secrets: string[] } {
  assertReferences(source, listed);
  const secrets: string[] = [];
  const resolved = mapStrings(source.config as Json, [], (text, path) => {
    const name = referenceIn(text);
    const value = name === null ? text : (variables[name] ?? "");
    // An empty text that is no reference stands for itself: the prefix of a signature may be none.
    if (name !== null && value === "") {
      throw badReferences(
        [{ path, name }],
        `names ${name}, which is not set: set it for web and worker, or change the field`,
      );
    }
    if (name !== null) secrets.push(value);
    const role = ROLES[source.kind](path);
    if (role === "address") secrets.push(...urlSecrets(value));
    // The value of a fixed header is no secret because it is one: `x-tenant: acme` may stand in every error.
    if (role === "secret" && (name !== null || path[0] !== "headers" || isSecretName(path[1]!)))
      secrets.push(...headerSecrets(value));
    return value;
  });
  return { source: parseSourceConfig(source.kind, resolved), secrets };
}

/**
 * The configuration as it may leave the server: references stay, credentials in addresses and secrets are masked.
 */
export function redactConfig(kind: string, config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const role = roleAt(kind);
  const redacted = mapStrings(config as Json, [], (text, path) => {
    if (referenceIn(text) !== null) return text;
    if (role(path) === "secret") return MASK;
    return role(path) === "address" ? redactUrl(text) : text;
  });
  return redacted as Record<string, unknown>;
}

/**
 * An edited configuration with the values that came back masked, as `redactConfig` shows them, put back from the
 * stored one. So a form may send back what it was given. Credentials stay with the server they were typed for: throws
 * DomainError `invalid-config`, naming each field that must be typed again, when an address has another scheme, host or
 * port than every stored one, or was edited around its mask, and when a list lost entries, of which the masks do not tell.
 * `stored` is null for a new configuration: a mask in it, copied from what was shown of another, stands for nothing.
 */
export function restoreMasked(
  kind: string,
  edited: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>> | null,
): Record<string, unknown> {
  const role = roleAt(kind);
  const shown = redactConfig(kind, stored ?? {});
  const known = new Set(serversOf(kind, stored ?? {}));
  const moved = stored !== null && serversOf(kind, edited).some((server) => !known.has(server));
  const lost: FieldError[] = [];
  const restored = mapStrings(edited as Json, [], (text, path) => {
    if (!text.includes(MASK)) return text;
    const before = at(stored, path);
    const isSecret = role(path) === "secret";
    const [list, storedList] = [edited, stored].map((root) => at(root, path.slice(0, -1)));
    // The masks of a list look alike: of a shorter list nobody knows which entries are left.
    const isShorter = Array.isArray(list) && Array.isArray(storedList) && list.length < storedList.length;
    if (text === at(shown, path) && typeof before === "string" && !isShorter && !(isSecret && moved)) return before;
    if (role(path) === undefined) return text;
    const detail = !isSecret
      ? "holds ***, which stands for a value that is not shown: type the whole address again"
      : moved
        ? "is masked, and the address has changed: type the value again, it is not sent to another server"
        : stored === null
          ? "is masked: type the value, or env:NAME of the variable that holds it"
          : "is masked, and does not tell which of the values it stands for: type the value again";
    lost.push({ field: ["config", ...path].join("."), detail });
    return text;
  });
  if (lost.length === 0) return restored as Record<string, unknown>;
  throw new DomainError("invalid-config", lost.map(({ field, detail }) => `${field} ${detail}`).join("; "), {
    fields: lost,
  });
}

function at(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    root,
  );
}

/** Scheme, host and port of each address, or the text that stands for one. */
function serversOf(kind: string, config: Readonly<Record<string, unknown>>): string[] {
  const servers: string[] = [];
  const role = roleAt(kind);
  mapStrings(config as Json, [], (text, path) => {
    if (role(path) === "address" && text !== "") {
      const url = URL.canParse(text) ? new URL(text) : null;
      servers.push(url === null || url.host === "" ? text : `${url.protocol}//${url.host}`);
    }
    return text;
  });
  return servers;
}

/** The names or IP addresses of the servers in a configuration whose secrets are resolved. */
export function hostsOf({ kind, config }: SourceConfig): string[] {
  return serversOf(kind, config).flatMap((server) => {
    if (server.includes("://")) return [new URL(server).hostname];
    return [server.replace(/:\d+$/, "")];
  });
}

/**
 * Where a target delivers, for display: no secrets. A named target, whose lane is null, has its destination in place of
 * the source's main one. null: nowhere, redrives are refused as `no-target`.
 */
export function targetAddress({ kind, config }: SourceConfig, lane: "main" | "slow" | null): string | null {
  return kindOf(kind).address(config, lane ?? "main");
}
