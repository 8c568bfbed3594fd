import * as z from "zod/mini";
import { NO_WEBHOOK_SECRET, WEBHOOK_SECRET } from "@/lib/brokers/http/webhook-secret.pure";
import { referenceIn } from "@/lib/guard/redaction/secret-references.pure";
import { TAGS_MAX } from "@/lib/platform/plain/storable.pure";

/** Describes a setting beside its shape. Forms, masks and the tables in the docs are made of it, so every setting has one. */
export type FieldMeta = {
  label: string;
  /** One sentence: what it does, or where it is found. */
  hint?: string;
  /** A value somebody could have; shown in the empty field. */
  example?: string;
  /**
   * `address`: a server that credentials are bound to. A URL is shown without its credentials. `secret`: never shown.
   * Only these two take `env:NAME`: anywhere else a broker repeats the text, in an error, a name, a message.
   */
  role?: "address" | "secret";
  /** The head of a part of the form: settings of two objects may have the same labels. */
  section?: string;
  /** Not needed to start: folded away. */
  advanced?: true;
  /** Holds several lines, as a certificate does. */
  long?: true;
};

const META = z.registry<FieldMeta>();

/** Gives a setting its words. Call it on the outermost schema of the setting. */
export function field<T extends z.ZodMiniType>(schema: T, meta: FieldMeta): T {
  META.add(schema, meta);
  return schema;
}

export function metaOf(schema: z.ZodMiniType): FieldMeta | undefined {
  return META.get(schema) as FieldMeta | undefined;
}

export function text(min: number, max?: number) {
  const bounded = z.string("must be text").check(z.minLength(min, "must not be empty"));
  return max === undefined ? bounded : bounded.check(z.maxLength(max, `at most ${max} characters`));
}

/** A password, token or key: text, or a reference. The value is never repeated in an error. */
export function secret() {
  return text(1, 20_000);
}

export function wholeNumber(from: number, to: number) {
  const detail = `must be a whole number from ${from} to ${to}`;
  return z.int(detail).check(z.gte(from, detail), z.lte(to, detail));
}

export function flag() {
  return z.boolean("must be true or false");
}

export function choice<const T extends readonly [string, ...string[]]>(values: T) {
  const [last, ...first] = [...values].reverse();
  return z.enum(values, `must be ${[first.reverse().join(", "), last].filter(Boolean).join(" or ")}`);
}

/** 1 to `max` texts. */
export function list(max: number, item = text(1, 300)) {
  return z
    .array(item, "must be a list")
    .check(z.minLength(1, "must not be empty"), z.maxLength(max, `at most ${max} entries`));
}

/** An absolute URL of one of `protocols` (with colon), or a reference to one. */
export function urlOf(protocols: readonly string[], example: string) {
  // The value is not repeated: it may hold a password.
  return z.string("must be text").check(
    z.refine((value) => {
      if (referenceIn(value) !== null) return true;
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

/** The end of the hint of a URL that mostly has a password. */
export const WITH_A_PASSWORD = "With a password in it: env:PARKADE_SECRET_NAME, the variable that holds the whole URL.";

/** The address of a Redis server. `whose`: a sentence before the hint. */
export function redisUrl(whose = "") {
  const example = "rediss://redis.example:6379/0";
  return field(urlOf(["redis:", "rediss:"], example), {
    label: "Redis URL",
    hint: `${whose} rediss:// encrypts. The path is the database. ${WITH_A_PASSWORD}`.trim(),
    example,
    role: "address",
  });
}

/** `host:port`, as Kafka and NATS list their servers. */
export function hostAndPort(example: string) {
  return z
    .string("must be text")
    .check(
      z.refine(
        (value) => referenceIn(value) !== null || /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/.test(value),
        `must be a host and a port such as ${example}, or env:PARKADE_SECRET_NAME`,
      ),
    );
}

/** How a connection is encrypted. Every kind that has TLS takes the same settings. */
export const tlsSettings = z.strictObject({
  ca: field(z.optional(text(1, 100_000)), {
    label: "CA certificate",
    hint: "PEM. Needed when the server's certificate is not signed by a public authority.",
    long: true,
    advanced: true,
  }),
  cert: field(z.optional(text(1, 100_000)), { label: "Client certificate", hint: "PEM.", long: true, advanced: true }),
  key: field(z.optional(secret()), { label: "Client key", hint: "PEM.", role: "secret", long: true, advanced: true }),
  servername: field(z.optional(text(1, 255)), {
    label: "Server name",
    hint: "The name the certificate must hold, when it is not the one in the address.",
    advanced: true,
  }),
});
export type TlsSettings = z.infer<typeof tlsSettings>;

const OAUTH = { section: "OAuth 2.0", advanced: true } as const;
const oauthText = (max: number) => text(1, max).check(z.regex(/^[\x20-\x7e]+$/, "holds characters other than ASCII"));

/** A client of OAuth 2.0 that gets its access tokens by its own credentials (RFC 6749, section 4.4). */
export const oauthSettings = z.strictObject({
  url: field(
    urlOf(["http:", "https:"], "https://login.example/oauth2/token").check(
      z.refine((value) => {
        const url = URL.canParse(value) ? new URL(value) : null;
        return url === null || url.username + url.password === "";
      }, "must not contain a user or password: clientId and clientSecret are sent"),
    ),
    {
      label: "Token URL",
      hint: "Where access tokens are requested with the client's own credentials. Each request then has one in Authorization.",
      example: "https://login.example/oauth2/token",
      role: "address",
      ...OAUTH,
    },
  ),
  clientId: field(text(1, 1_000), { label: "Client id", example: "parkade", ...OAUTH }),
  clientSecret: field(secret(), { label: "Client secret", role: "secret", ...OAUTH }),
  method: field(z._default(choice(["client_secret_basic", "client_secret_post"]), "client_secret_basic"), {
    label: "Client authentication",
    hint: "How the secret is sent: in the Authorization header, or in the body.",
    ...OAUTH,
  }),
  scope: field(z.optional(oauthText(2_000)), {
    label: "Scope",
    hint: "Separated by spaces.",
    example: "orders.write",
    ...OAUTH,
  }),
  audience: field(z.optional(oauthText(2_000)), {
    label: "Audience",
    hint: "Needed by some token servers.",
    example: "https://orders.example",
    ...OAUTH,
  }),
});
export type OAuthSettings = z.infer<typeof oauthSettings>;

/** Where a kind's slow lane delivers. */
export function slowLane<T extends z.ZodMiniType>(schema: T, destination: string, example: string) {
  return field(z.optional(schema), {
    label: `Slow-lane ${destination}`,
    hint: "Where the slow lane delivers. Without it the slow lane uses the main destination.",
    example,
    advanced: true,
  });
}

/** A header name, `property:NAME` for a property of the broker, or a JSON pointer such as `/order/id`. */
const selector = (label: string, example: string) =>
  field(z.optional(text(1, 200)), {
    label,
    example,
    hint: "A header, property:NAME, or a JSON pointer.",
    advanced: true,
  });

/** A secret of Standard Webhooks, or a reference to one. */
export function isWebhookSecret(value: string): boolean {
  return referenceIn(value) !== null || WEBHOOK_SECRET.test(value);
}

/** An HTTP endpoint of a target's owner that says whether they would take events. */
const checkCallSchema = z.strictObject({
  url: field(urlOf(["http:", "https:"], "https://orders.example/check"), {
    label: "Check URL",
    hint: "Called in a dry run and before a send, to ask whether the target's owner accepts the events.",
    example: "https://orders.example/check",
    role: "address",
    advanced: true,
  }),
  secret: field(z.optional(secret().check(z.refine(isWebhookSecret, { error: NO_WEBHOOK_SECRET }))), {
    label: "Check secret",
    hint: "Signs each check call with Standard Webhooks: base64 with the prefix whsec_, preferably env:PARKADE_SECRET_NAME.",
    role: "secret",
    advanced: true,
  }),
  timeoutMs: field(z._default(wholeNumber(100, 10_000), 3_000), {
    label: "Check timeout",
    hint: "Maximum duration of one call, which covers up to 100 events, in milliseconds.",
    advanced: true,
  }),
  whenUnanswered: field(z._default(choice(["pass", "refuse"]), "pass"), {
    label: "Without an answer",
    hint: "pass: the dry run reports that there was no answer, and the event is sent. refuse: the event is refused.",
    advanced: true,
  }),
});
export type CheckCall = z.infer<typeof checkCallSchema>;

export const checkCall = field(z.optional(checkCallSchema), { label: "Check call" });

const mappingSchema = z.strictObject({
  eventId: selector("Event id", "/order/eventId"),
  aggregateId: selector("Aggregate id", "/order/id"),
  aggregateType: selector("Aggregate type", "x-aggregate-type"),
  version: selector("Version", "/order/version"),
  eventType: selector("Event type", "x-event-type"),
  errorCode: selector("Error code", "x-error-code"),
  tags: field(
    z.optional(
      z
        .record(
          z.string().check(z.regex(/^[A-Za-z0-9_.-]{1,40}$/, "tag keys hold 1 to 40 letters, digits, _ . or -")),
          text(1, 200),
        )
        .check(z.refine((tags) => Object.keys(tags).length <= TAGS_MAX, `at most ${TAGS_MAX} tags`)),
    ),
    { label: "Tags", hint: "Name of the tag, and where its value is found.", advanced: true },
  ),
});

/** Where each fact of an event is found in a message. What is not set falls back to the customary places. */
export type Mapping = z.infer<typeof mappingSchema>;

export const mapping = field(z.optional(mappingSchema), { label: "Mapping" });

/** The last settings of each kind that has a broker. */
export const brokerSettings = { tls: z.optional(tlsSettings), checkCall, mapping };
