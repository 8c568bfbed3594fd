import * as z from "zod/mini";
import { DomainError, type FieldError } from "@/lib/core/problem";
import { isSecretName } from "@/lib/core/redact";
import { TAGS_MAX } from "@/lib/core/storable";

const ENV_REFERENCE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** Addresses, at the top of a configuration. */
const URL_FIELDS = new Set(["url", "redriveUrl", "slowLaneUrl"]);

/** What is shown instead of a secret. */
const MASK = "***";

/** `env:NAME`: the value is read from the environment when it is used, and never stored or shown. */
function isSecretReference(value: string): boolean {
  return ENV_REFERENCE.test(value);
}

/** Variables that configurations may name; PARKADE_ENV_REFERENCES lists more. */
const SECRET_PREFIX = "PARKADE_SECRET_";
/** Never, whatever a list says: these are Parkade's own way to its store and queue. */
const OWN_VARIABLES = /^(?:DATABASE_URL|REDIS_URL|PG[A-Z]+|PARKADE_(?!SECRET_).*)$/i;

/**
 * True when a configuration may name the variable. Everything else in the environment is not its business: whoever edits
 * a source also chooses where the value is sent.
 */
function mayReference(name: string, listed: readonly string[]): boolean {
  if (OWN_VARIABLES.test(name)) return false;
  return name.startsWith(SECRET_PREFIX) || listed.includes(name);
}

/** Only these are sent as they are. Anywhere else a broker repeats the text: in an error, a name, a message. */
function takesReference(path: readonly string[]): boolean {
  if (path.length === 1) return URL_FIELDS.has(path[0]!);
  return path.length === 2 && path[0] === "headers";
}

function text(min: number, max?: number) {
  const bounded = z.string("must be text").check(z.minLength(min, "must not be empty"));
  return max === undefined ? bounded : bounded.check(z.maxLength(max, `at most ${max} characters`));
}

/** An absolute URL of one of `protocols` (with colon), or a reference to one. */
function urlOf(protocols: readonly string[], example: string) {
  // The value is not repeated: it may hold a password.
  return z.string("must be text").check(
    z.refine((value) => {
      if (isSecretReference(value)) return true;
      const url = URL.canParse(value) ? new URL(value) : null;
      return url !== null && protocols.includes(url.protocol) && url.hostname !== "" && isDecodable(url);
    }, `must be a URL such as ${example}, or env:PARKADE_SECRET_NAME`),
  );
}

/** Clients decode user, password and virtual host: a stray percent sign would fail there, in words of their own. */
function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

/** A header name, `property:correlationId` for an AMQP property, or a JSON pointer such as `/order/id`. */
const selector = z.optional(text(1, 200));

const mapping = z.strictObject({
  eventId: selector,
  aggregateId: selector,
  aggregateType: selector,
  version: selector,
  eventType: selector,
  errorCode: selector,
  tags: z.optional(
    z
      .record(
        z.string().check(z.regex(/^[A-Za-z0-9_.-]{1,40}$/, "tag keys hold 1 to 40 letters, digits, _ . or -")),
        text(1, 200),
      )
      .check(z.refine((tags) => Object.keys(tags).length <= TAGS_MAX, `at most ${TAGS_MAX} tags`)),
  ),
});

/** Where each fact of an event is found in a message. What is not set falls back to the customary places. */
export type Mapping = z.infer<typeof mapping>;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Set by the publisher itself; a fixed value would break the request or its meaning. */
const RESERVED_HEADER =
  /^(host|content-length|content-type|transfer-encoding|connection|idempotency-key|x-redrive-.*)$/i;

const httpConfigSchema = z.strictObject({
  /** Where a redrive posts. Without it events can be parked, not redriven. */
  redriveUrl: z.optional(urlOf(["http:", "https:"], "https://orders.example/events")),
  slowLaneUrl: z.optional(urlOf(["http:", "https:"], "https://orders.example/slow")),
  /** Added to every request, over a parked header of the same name. Values may be `env:NAME`. */
  headers: z.optional(
    z.record(
      z.string().check(
        z.regex(HEADER_NAME, "is not a header name"),
        z.refine((name) => !RESERVED_HEADER.test(name), "is set by Parkade itself"),
      ),
      z.string("must be text").check(z.regex(/^[\t\x20-\x7e]*$/, "holds characters that a header cannot carry")),
    ),
  ),
  /** Send back `authorization`, `cookie` and `proxy-authorization` as parked. Off: those credentials are old. */
  forwardCredentials: z.optional(z.boolean("must be true or false")),
  mapping: z.optional(mapping),
});
export type HttpConfig = z.infer<typeof httpConfigSchema>;

const amqpName = text(1).check(
  z.refine((name) => new TextEncoder().encode(name).length <= 255, "holds at most 255 bytes"),
);

const PREFETCH_TEXT = "must be a whole number from 1 to 10000";

const rabbitmqConfigSchema = z.strictObject({
  url: urlOf(["amqp:", "amqps:"], "amqp://user:password@rabbit.example:5672/vhost"),
  /** The dead-letter queue to read. */
  queue: amqpName,
  redriveTo: z.optional(
    z.strictObject({
      /** `origin-queue`: to the one queue it died in. `exchange`: where it was first published, to every subscriber. */
      mode: z._default(z.enum(["origin-queue", "exchange"], "must be origin-queue or exchange"), "origin-queue"),
      /** Overrides the origin queue; needed where the headers do not name one. */
      queue: z.optional(amqpName),
      /** Overrides the origin exchange. Empty text is the default exchange. */
      exchange: z.optional(text(0, 255)),
      routingKey: z.optional(text(0, 255)),
    }),
  ),
  slowLaneQueue: z.optional(amqpName),
  /** Messages held unacknowledged at a time; a batch is at most half of it. */
  prefetch: z.optional(z.int(PREFETCH_TEXT).check(z.gte(1, PREFETCH_TEXT), z.lte(10_000, PREFETCH_TEXT))),
  mapping: z.optional(mapping),
});
export type RabbitmqConfig = z.infer<typeof rabbitmqConfigSchema>;

const SOURCE_KINDS = ["http", "rabbitmq"] as const;
type SourceKind = (typeof SOURCE_KINDS)[number];

/** Kinds the API names that this version cannot run. */
const PLANNED_KINDS = ["kafka", "sqs", "nats", "redis-stream", "bullmq", "outbox"] as const;

const sourceConfigSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("http"), config: httpConfigSchema }),
  z.object({ kind: z.literal("rabbitmq"), config: rabbitmqConfigSchema }),
]);

/** A source's configuration with its kind. */
export type SourceConfig = z.infer<typeof sourceConfigSchema>;

function fieldErrors(error: z.core.$ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    const path = (tail: PropertyKey[]) => [...issue.path, ...tail].join(".");
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ field: path([key]), detail: "is not a setting of this kind" }));
    return { field: path([]), detail: issue.message };
  });
}

function isKind(kind: string): kind is SourceKind {
  return (SOURCE_KINDS as readonly string[]).includes(kind);
}

/**
 * Checks a source's configuration. Throws DomainError `invalid-config` whose fields are paths such as `config.url`;
 * no message repeats a value.
 */
export function parseSourceConfig(kind: string, config: unknown): SourceConfig {
  if (!isKind(kind)) {
    const planned = (PLANNED_KINDS as readonly string[]).includes(kind);
    const detail = `${planned ? "is not available in this version" : "is not a kind of source"}: use ${SOURCE_KINDS.join(" or ")}`;
    throw new DomainError("invalid-config", `kind ${JSON.stringify(kind.slice(0, 40))} ${detail}`, {
      fields: [{ field: "kind", detail }],
    });
  }
  const parsed = sourceConfigSchema.safeParse({ kind, config: config ?? {} });
  if (parsed.success) {
    const misplaced = referencesIn(parsed.data).filter(({ path }) => !takesReference(path));
    if (misplaced.length === 0) return parsed.data;
    throw badReferences(
      misplaced,
      "holds env:NAME, which is read only in url, redriveUrl, slowLaneUrl and headers: write the value itself",
    );
  }
  const fields = fieldErrors(parsed.error);
  throw new DomainError("invalid-config", `the configuration of this ${kind} source is not valid`, { fields });
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
    const name = ENV_REFERENCE.exec(text)?.[1];
    if (name !== undefined) found.push({ path, name });
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
export function assertReferences(source: SourceConfig, listed: readonly string[]): void {
  const refused = referencesIn(source).filter(({ name }) => !mayReference(name, listed));
  if (refused.length === 0) return;
  throw badReferences(
    refused,
    `names a variable that a source may not read: rename it to ${SECRET_PREFIX}..., or list it in PARKADE_ENV_REFERENCES, for web and worker`,
  );
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
    const name = ENV_REFERENCE.exec(text)?.[1];
    const value = name === undefined ? text : variables[name];
    if (value === undefined || value === "") {
      throw badReferences(
        [{ path, name: name! }],
        `names ${name}, which is not set: set it for web and worker, or change the field`,
      );
    }
    if (name !== undefined) secrets.push(value);
    if (URL_FIELDS.has(path.at(-1)!)) secrets.push(...urlSecrets(value));
    else if (path[0] === "headers" && (name !== undefined || isSecretName(path[1]!)))
      secrets.push(...headerSecrets(value));
    return value;
  });
  return { source: parseSourceConfig(source.kind, resolved), secrets };
}

/** User, password and secret parameters, as they stand in the URL and decoded. */
function urlSecrets(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  const parameters = [...url.searchParams].filter(([name]) => isSecretParameter(name)).map(([, value]) => value);
  const userinfo = url.password === "" ? [] : [url.password, `${url.username}:${url.password}`];
  return [...userinfo, ...userinfo.map(decoded), ...parameters];
}

/** The whole value, and what stands behind `Bearer` or `Basic`. */
function headerSecrets(value: string): string[] {
  const credential = /^(?:bearer|basic|token|apikey)\s+(\S+)$/i.exec(value)?.[1];
  return credential === undefined ? [value] : [value, credential];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Query parameters that carry a credential in some URL scheme, beside the names that every header has. */
const SECRET_PARAMETER = /pass|secret|token|key|sig|credential|auth|jwt|bearer|pwd|^(?:code|sas|sid)$/i;

function isSecretParameter(name: string): boolean {
  return SECRET_PARAMETER.test(name) || isSecretName(name);
}

/** A path segment that nobody types: a capability in the address, as webhooks have. Names and UUIDs are none. */
function isSecretSegment(segment: string): boolean {
  if (segment.length < 20 || !/^[A-Za-z0-9_-]+$/.test(segment)) return false;
  const mixed = /[a-z]/.test(segment) && /[A-Z]/.test(segment);
  return segment.replace(/\D/g, "").length >= 3 && /[A-Za-z]/.test(segment) && (mixed || !/[_-]/.test(segment));
}

/**
 * A URL without user, password, secret parameters (also those after `;`), fragment and segments of its path that look
 * like a token; other text unchanged. For every text a person sees.
 */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== "") url.username = MASK;
  if (url.password !== "") url.password = MASK;
  for (const name of [...url.searchParams.keys()]) if (isSecretParameter(name)) url.searchParams.set(name, MASK);
  if (url.hash !== "") url.hash = MASK;
  if (url.pathname.startsWith("/")) url.pathname = url.pathname.split("/").map(redactSegment).join("/");
  return url.toString();
}

function redactSegment(segment: string): string {
  const [plain = "", ...parameters] = segment.split(";");
  const shown = parameters.map((parameter) => {
    const [name = "", value] = parameter.split("=", 2);
    return value !== undefined && isSecretParameter(name) ? `${name}=${MASK}` : parameter;
  });
  return [isSecretSegment(plain) ? MASK : plain, ...shown].join(";");
}

/**
 * The configuration as it may leave the server: references stay, credentials in URLs and the values of fixed request
 * headers are masked.
 */
export function redactConfig(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const redacted = mapStrings(config as Json, [], (text, path) => {
    if (isSecretReference(text)) return text;
    if (path[0] === "headers") return MASK;
    return URL_FIELDS.has(path.at(-1)!) ? redactUrl(text) : text;
  });
  return redacted as Record<string, unknown>;
}

/**
 * An edited configuration with the values that came back masked, as `redactConfig` shows them, put back from the
 * stored one. So a form may send back what it was given. Credentials stay with the server they were typed for: throws
 * DomainError `invalid-config`, naming each field that must be typed again, when an address has another scheme, host or
 * port than every stored one, or was edited around its mask.
 */
export function restoreMasked(
  edited: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const shown = redactConfig(stored);
  const known = new Set(serversOf(stored));
  const moved = serversOf(edited).some((server) => !known.has(server));
  const lost: FieldError[] = [];
  const restored = mapStrings(edited as Json, [], (text, path) => {
    if (!text.includes(MASK)) return text;
    const before = at(stored, path);
    const isHeader = path[0] === "headers";
    if (text === at(shown, path) && typeof before === "string" && !(isHeader && moved)) return before;
    if (!isHeader && !URL_FIELDS.has(path.at(-1)!)) return text;
    const detail = isHeader
      ? "is masked, and the address has changed: type the value again, it is not sent to another server"
      : "holds ***, which stands for a value that is not shown: type the whole address again";
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

/** Scheme, host and port of each address, or the reference that stands for one. */
function serversOf(config: Readonly<Record<string, unknown>>): string[] {
  return [...URL_FIELDS].flatMap((field) => {
    const address = config[field];
    if (typeof address !== "string" || address === "") return [];
    const url = URL.canParse(address) ? new URL(address) : null;
    return [url === null ? address : `${url.protocol}//${url.host}`];
  });
}

/**
 * Where a lane of this source delivers, for display: no secrets. The slow lane uses the main destination when it has
 * none of its own. null: nowhere, redrives are refused as `no-target`.
 */
export function targetAddress(source: SourceConfig, lane: "main" | "slow"): string | null {
  if (source.kind === "http") {
    const url = (lane === "slow" ? source.config.slowLaneUrl : undefined) ?? source.config.redriveUrl;
    return url === undefined ? null : redactUrl(url);
  }
  const { redriveTo, slowLaneQueue } = source.config;
  if (lane === "slow" && slowLaneQueue !== undefined) return `queue ${slowLaneQueue}`;
  if (redriveTo?.mode === "exchange")
    return redriveTo.exchange === undefined ? "origin exchange" : `exchange ${redriveTo.exchange || "(default)"}`;
  return redriveTo?.queue === undefined ? "origin queue" : `queue ${redriveTo.queue}`;
}
