import { z } from "zod";
import { DomainError, type FieldError } from "@/lib/core/problem";
import { TAGS_MAX } from "@/lib/core/storable";

const ENV_REFERENCE = /^env:([A-Za-z_][A-Za-z0-9_]*)$/;

/** What is shown instead of a secret. */
const MASK = "***";

/** `env:NAME`: the value is read from the environment when it is used, and never stored or shown. */
function isSecretReference(value: string): boolean {
  return ENV_REFERENCE.test(value);
}

/** An absolute URL of one of `protocols` (with colon), or a reference to one. */
function urlOf(protocols: readonly string[], example: string) {
  return z.string().superRefine((value, context) => {
    if (isSecretReference(value)) return;
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url !== null && protocols.includes(url.protocol) && url.hostname !== "") return;
    // The value is not repeated: it may hold a password.
    context.addIssue({ code: "custom", message: `must be a URL such as ${example}, or env:NAME` });
  });
}

const selector = z
  .string()
  .min(1)
  .max(200)
  .describe("a header name, `property:correlationId` for an AMQP property, or a JSON pointer such as `/order/id`");

const mapping = z.strictObject({
  eventId: selector.optional(),
  aggregateId: selector.optional(),
  aggregateType: selector.optional(),
  version: selector.optional(),
  eventType: selector.optional(),
  errorCode: selector.optional(),
  tags: z
    .record(z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/, "tag keys hold 1 to 40 letters, digits, _ . or -"), selector)
    .refine((tags) => Object.keys(tags).length <= TAGS_MAX, `at most ${TAGS_MAX} tags`)
    .optional(),
});

/** Where each fact of an event is found in a message. What is not set falls back to the customary places. */
export type Mapping = z.infer<typeof mapping>;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Set by the publisher itself; a fixed value would break the request or its meaning. */
const RESERVED_HEADER =
  /^(host|content-length|content-type|transfer-encoding|connection|idempotency-key|x-redrive-.*)$/i;

const httpConfigSchema = z.strictObject({
  /** Where a redrive posts. Without it events can be parked, not redriven. */
  redriveUrl: urlOf(["http:", "https:"], "https://orders.example/events").optional(),
  slowLaneUrl: urlOf(["http:", "https:"], "https://orders.example/slow").optional(),
  /** Added to every request, over a parked header of the same name. Values may be `env:NAME`. */
  headers: z
    .record(
      z
        .string()
        .regex(HEADER_NAME, "is not a header name")
        .refine((name) => !RESERVED_HEADER.test(name), "is set by Parkade itself"),
      z.string().regex(/^[\t\x20-\x7e]*$/, "holds characters that a header cannot carry"),
    )
    .optional(),
  /** Send back `authorization`, `cookie` and `proxy-authorization` as parked. Off: those credentials are old. */
  forwardCredentials: z.boolean().optional(),
  mapping: mapping.optional(),
});
export type HttpConfig = z.infer<typeof httpConfigSchema>;

const amqpName = z
  .string()
  .min(1)
  .refine((name) => new TextEncoder().encode(name).length <= 255, "holds at most 255 bytes");

const rabbitmqConfigSchema = z.strictObject({
  url: urlOf(["amqp:", "amqps:"], "amqp://user:password@rabbit.example:5672/vhost"),
  /** The dead-letter queue to read. */
  queue: amqpName,
  redriveTo: z
    .strictObject({
      /** `origin-queue`: to the one queue it died in. `exchange`: where it was first published, to every subscriber. */
      mode: z.enum(["origin-queue", "exchange"]).default("origin-queue"),
      /** Overrides the origin queue; needed where the headers do not name one. */
      queue: amqpName.optional(),
      /** Overrides the origin exchange. Empty text is the default exchange. */
      exchange: z.string().max(255).optional(),
      routingKey: z.string().max(255).optional(),
    })
    .optional(),
  slowLaneQueue: amqpName.optional(),
  /** Messages held unacknowledged at a time; a batch is at most half of it. */
  prefetch: z.int().min(1).max(10_000).optional(),
  mapping: mapping.optional(),
});
export type RabbitmqConfig = z.infer<typeof rabbitmqConfigSchema>;

const SOURCE_KINDS = ["http", "rabbitmq"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Kinds the API names that this version cannot run. */
const PLANNED_KINDS = ["kafka", "sqs", "nats", "redis-stream", "bullmq", "outbox"] as const;

const sourceConfigSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("http"), config: httpConfigSchema }),
  z.object({ kind: z.literal("rabbitmq"), config: rabbitmqConfigSchema }),
]);

/** A source's configuration with its kind. */
export type SourceConfig = z.infer<typeof sourceConfigSchema>;

function fieldErrors(error: z.ZodError): FieldError[] {
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
  if (parsed.success) return parsed.data;
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

/**
 * The configuration with every `env:NAME` replaced, to be used at once and not kept. Throws DomainError
 * `invalid-config` naming the variable that is missing, or the field whose value turned out wrong.
 */
export function resolveSecrets(source: SourceConfig, env: Readonly<Record<string, string | undefined>>): SourceConfig {
  const resolved = mapStrings(source.config as Json, ["config"], (text, path) => {
    const name = ENV_REFERENCE.exec(text)?.[1];
    if (name === undefined) return text;
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    const field = path.join(".");
    throw new DomainError("invalid-config", `the environment variable ${name} is not set`, {
      fields: [{ field, detail: `set ${name} for the web and worker processes, or change ${field}` }],
    });
  });
  return parseSourceConfig(source.kind, resolved);
}

/** Query parameters that carry a credential in some URL scheme. */
const SECRET_PARAMETER = /pass|secret|token|key|sig|credential|auth/i;

/** A URL without user, password and secret query parameters; other text unchanged. For every text a person sees. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.username !== "") url.username = MASK;
  if (url.password !== "") url.password = MASK;
  for (const name of [...url.searchParams.keys()]) if (SECRET_PARAMETER.test(name)) url.searchParams.set(name, MASK);
  return url.toString();
}

const URL_FIELDS = new Set(["url", "redriveUrl", "slowLaneUrl"]);

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
 * stored one. So a form may send back what it was given.
 */
export function restoreMasked(
  edited: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const shown = redactConfig(stored);
  const at = (root: unknown, path: string[]): unknown =>
    path.reduce<unknown>(
      (value, key) =>
        typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined,
      root,
    );
  const restored = mapStrings(edited as Json, [], (text, path) => {
    const before = at(stored, path);
    return text.includes(MASK) && text === at(shown, path) && typeof before === "string" ? before : text;
  });
  return restored as Record<string, unknown>;
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
