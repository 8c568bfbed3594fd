import * as z from "zod";
import { parseAnchorLocations } from "@/lib/guard/audit-chain/anchors/anchor-location.pure";
import { oidcSettingsOf } from "@/lib/guard/oidc/oidc-settings.pure";
import { listedReferences, PLAIN_SECRET_MODES, plainSecretModeOf } from "@/lib/guard/redaction/secret-references.pure";
import { parseSecondFactorRoles, SECOND_FACTOR_RULE } from "@/lib/guard/sign-in/second-factor-demand.pure";
import { TOKEN_DAYS_MAX } from "@/lib/guard/tokens/token.pure";
import { SIGN_IN_MODES, signInModeOf } from "@/lib/guard/viewer/sign-in-mode.pure";
import { addressFilter, REFUSED_BY_DEFAULT } from "@/lib/platform/address-filter";
import { ArchiveLocationError, parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { EnvError } from "@/lib/platform/env-error";
import { parseNetworks } from "@/lib/platform/networks";
import { parseHostNames } from "@/lib/platform/plain/host-names.pure";
import { takesAnyCertificate, VERIFIED_TLS_RULE } from "@/lib/platform/plain/postgres-tls.pure";
import { parseRedisUrl, REDIS_URL_RULE } from "@/lib/platform/plain/redis-address.pure";
import { isSuiteList, SUITE_LIST_RULE } from "@/lib/platform/tls-suites";
import { TRACING_VARIABLES, tracingSettingsOf } from "@/lib/platform/tracing/tracing-settings";

/**
 * What the environment says, parsed once when a process starts (never at import: a build or a test has none of it).
 * Each error names the variable, what it holds and the fix.
 */

/** A payload above this is refused, never cut. 1 MiB is what most brokers accept as one message. */
const PAYLOAD_BYTES_MAX_DEFAULT = 1024 * 1024;
/** Kafka and AMQP messages carry tens of headers; hundreds mean a loop that appends. */
const HEADERS_MAX_DEFAULT = 200;
/** A request body that is not streamed is held in memory while it is parsed. */
const REQUEST_BYTES_MAX_DEFAULT = 64 * 1024 * 1024;
/** A read that takes longer is worth an honest "timed out", not a held connection. */
const STATEMENT_TIMEOUT_MS_DEFAULT = 5_000;
const POOL_MAX_DEFAULT = 10;

/** Of 10 s. Many times what a console or a consumer sends: it stops a program that runs in a loop. */
const LIMIT_REQUESTS_DEFAULT = 60_000;
/** All but a little of what the process holds for all clients together. */
const CLIENT_BYTES_DEFAULT = 128 * 1024 * 1024;

/** Enough for a removal, which writes WAL before it makes room, and for what is on its way when intake stops. */
const DISK_FREE_MIN_DEFAULT = "1GiB";

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** An empty variable is an unset one: that is what `VAR= npm start` and compose files with a blank mean. */
function orDefault<T, D>(schema: z.ZodType<T>, fallback: D) {
  return z.preprocess((value) => (value === undefined || value === "" ? fallback : value), schema);
}

function orNull<T>(schema: z.ZodType<T>) {
  return orDefault(z.nullable(schema), null);
}

function oneOf<const T extends string>(values: readonly T[]) {
  return z.enum(values, `must be one of ${values.join(", ")}`);
}

function whole(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number(rule).int(rule).min(min, rule).max(max, rule);
}

function url(protocols: string[], example: string) {
  const rule = `must look like ${example}`;
  return z.string(rule).refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), rule);
}

/** A text that `parse` understands; null = it breaks the rule. */
function read<T>(rule: string, parse: (text: string) => T | null): z.ZodType<T> {
  return z.string().transform((text, { addIssue }) => {
    const value = parse(text);
    if (value !== null) return value;
    addIssue(rule);
    return z.NEVER;
  });
}

const BYTES = /^(\d{1,12}(?:\.\d{1,3})?)\s*(?:B|([KMGT])i?B?)?$/i;

/** Bytes of a size; 0 = no limit. */
const size = read("must be a size such as 500MiB, 20GiB or 1073741824; units are powers of 1024", (text) => {
  const [, digits, unit = ""] = BYTES.exec(text.trim()) ?? [];
  const bytes = Math.round(Number(digits) * 1024 ** " KMGT".indexOf(unit.toUpperCase() || " "));
  return Number.isSafeInteger(bytes) ? bytes : null;
});

/** Addresses and networks; `none` for an empty list. */
const networks = read("must list addresses or networks such as 10.0.0.0/8 fd00::1", (text) =>
  parseNetworks(text.trim() === "none" ? "" : text),
);

const FOLDER_RULE = "must be the absolute path of a folder such as /run/secrets";

/** Where objects are written: the parser throws the rule that the text breaks. */
function locations<T>(parse: (text: string) => T): z.ZodType<T> {
  return z.string().transform((text, { addIssue }) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof ArchiveLocationError) && !(error instanceof RangeError)) throw error;
      addIssue(error instanceof ArchiveLocationError ? error.rule : error.message);
      return z.NEVER;
    }
  });
}

const ENCRYPTION_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/]{43}=)$/i;

/** Each of 32 bytes. */
const encryptionKeys = read(
  "must be 32 random bytes in base64 or hex, such as `openssl rand -base64 32` writes; former keys follow it, after commas",
  (text): Uint8Array[] | null => {
    const keys = text === "" ? [] : text.split(",").map((key) => key.trim());
    if (!keys.every((key) => ENCRYPTION_KEY.test(key))) return null;
    return keys.map((key) => Buffer.from(key, key.length === 64 ? "hex" : "base64"));
  },
);

const wordsOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);

const schema = z.object({
  DATABASE_URL: orDefault(url(["postgres:", "postgresql:"], "postgres://user:password@host:5432/database"), undefined),
  REDIS_URL: orNull(z.string().refine((text) => parseRedisUrl(text) !== null, REDIS_URL_RULE)),
  PORT: orDefault(whole(0, 65_535), 3000),
  PARKADE_HOST: orDefault(z.string(), "127.0.0.1"),
  PARKADE_PUBLIC_URL: orNull(url(["http:", "https:"], "https://parkade.example.com")),
  PARKADE_ALLOWED_HOSTS: orDefault(z.string(), ""),
  // Read by the web server itself, before anything else of the process: here it is checked with the others.
  PARKADE_TRUSTED_PROXIES: orNull(networks),
  PARKADE_SIGN_IN: orNull(oneOf(SIGN_IN_MODES)),
  PARKADE_PLAIN_SECRETS: orNull(oneOf(PLAIN_SECRET_MODES)),
  PARKADE_OIDC_ISSUER: orNull(z.string()),
  PARKADE_OIDC_CLIENT_ID: orNull(z.string()),
  PARKADE_OIDC_CLIENT_SECRET: orNull(z.string()),
  PARKADE_OIDC_SCOPE: orDefault(z.string(), "openid profile email"),
  PARKADE_OIDC_NAME_CLAIM: orNull(z.string()),
  PARKADE_OIDC_GROUPS_CLAIM: orDefault(z.string(), "groups"),
  PARKADE_OIDC_ROLES: orNull(z.string()),
  PARKADE_OIDC_LABEL: orNull(z.string().max(60, "must have at most 60 characters")),
  PARKADE_OIDC_ACR: orDefault(z.string(), ""),
  PARKADE_OIDC_AMR: orDefault(z.string(), ""),
  PARKADE_OIDC_MAX_AGE_MINUTES: orNull(whole(1, 10_080)),
  PARKADE_OIDC_TOKENS_DAYS: orDefault(whole(1, TOKEN_DAYS_MAX), 30),
  PARKADE_PASSWORD_SIGN_IN: orDefault(z.enum(["on", "off"], "must be on or off"), "on"),
  PARKADE_SECOND_FACTOR: orDefault(read(SECOND_FACTOR_RULE, parseSecondFactorRoles), "own"),
  PARKADE_ENV_REFERENCES: orDefault(z.string(), ""),
  PARKADE_REFUSED_ADDRESSES: orDefault(networks, REFUSED_BY_DEFAULT),
  PARKADE_ALLOWED_ADDRESSES: orNull(networks),
  PARKADE_ALLOWED_TARGETS: orNull(read("must list names such as orders.example.com *.example.com", parseHostNames)),
  PARKADE_SECRET_FILES: orNull(z.string().regex(/^\/./, FOLDER_RULE)),
  PARKADE_CA_FILE: orNull(z.string()),
  PARKADE_TLS_CIPHERS: orNull(z.string().refine(isSuiteList, SUITE_LIST_RULE)),
  PARKADE_LOG_LEVEL: orDefault(oneOf(LOG_LEVELS), "info"),
  PARKADE_HEALTH_FILE: orNull(z.string()),
  PARKADE_DATABASE_POOL: orDefault(whole(1, 200), POOL_MAX_DEFAULT),
  PARKADE_STATEMENT_TIMEOUT_MS: orDefault(whole(100, 600_000), STATEMENT_TIMEOUT_MS_DEFAULT),
  PARKADE_PAYLOAD_BYTES_MAX: orDefault(whole(1, 256 * 1024 * 1024), PAYLOAD_BYTES_MAX_DEFAULT),
  PARKADE_HEADERS_MAX: orDefault(whole(0, 10_000), HEADERS_MAX_DEFAULT),
  PARKADE_BUCKET_FALLBACK: orDefault(oneOf(["closed", "local"]), "closed"),
  PARKADE_CLIENT_REQUESTS: orDefault(whole(0, 1_000_000_000), LIMIT_REQUESTS_DEFAULT),
  PARKADE_SOURCE_REQUESTS: orDefault(whole(0, 1_000_000_000), LIMIT_REQUESTS_DEFAULT),
  PARKADE_CLIENT_BYTES: orDefault(whole(0, 1024 * 1024 * 1024), CLIENT_BYTES_DEFAULT),
  PARKADE_SECRET_CONFIRMED: orDefault(z.optional(z.string()), undefined),
  PARKADE_ARCHIVE: orNull(locations(parseArchiveLocation)),
  PARKADE_SECRET_ARCHIVE_KEY_ID: orNull(z.string()),
  PARKADE_SECRET_ARCHIVE_KEY: orNull(z.string()),
  PARKADE_AUDIT_ANCHORS: orDefault(locations(parseAnchorLocations), ""),
  PARKADE_AUDIT_ANCHOR_MINUTES: orDefault(whole(1, 10_080), 60),
  PARKADE_DISK_DIR: orNull(z.string()),
  PARKADE_DISK_FREE_MIN: orDefault(size, DISK_FREE_MIN_DEFAULT),
  PARKADE_STORE_SIZE_MAX: orDefault(size, "0"),
  PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY: orDefault(encryptionKeys, ""),
  PARKADE_REQUEST_BYTES_MAX: orDefault(whole(1024, 1024 * 1024 * 1024), REQUEST_BYTES_MAX_DEFAULT),
  ...TRACING_VARIABLES,
});

/** Parses the environment. Throws EnvError. */
export function readEnv(source: Record<string, string | undefined> = process.env) {
  const parsed = schema.safeParse(source);
  if (!parsed.success) {
    throw new EnvError(parsed.error.issues.map((issue) => sentence(String(issue.path[0]), issue.message, source)));
  }
  const env = parsed.data;
  if (takesAnyCertificate(env.DATABASE_URL, source.PGSSLMODE))
    throw new EnvError([`DATABASE_URL ${VERIFIED_TLS_RULE}.`]);
  const [accessKeyId, secretAccessKey] = [env.PARKADE_SECRET_ARCHIVE_KEY_ID, env.PARKADE_SECRET_ARCHIVE_KEY];
  if ((accessKeyId === null) !== (secretAccessKey === null))
    throw new EnvError([
      "PARKADE_SECRET_ARCHIVE_KEY_ID and PARKADE_SECRET_ARCHIVE_KEY belong together: set both or none.",
    ]);
  const oidc = oidcSettingsOf(env);
  if (Array.isArray(oidc)) throw new EnvError(oidc);
  if (oidc === null && env.PARKADE_PASSWORD_SIGN_IN === "off")
    throw new EnvError([
      'PARKADE_PASSWORD_SIGN_IN is "off", and no OpenID provider is set: nobody could sign in. Set it on, or set PARKADE_OIDC_ISSUER.',
    ]);
  const signIn = signInModeOf(env.PARKADE_SIGN_IN, {
    publicUrl: env.PARKADE_PUBLIC_URL,
    allowedHosts: env.PARKADE_ALLOWED_HOSTS,
  });
  return {
    databaseUrl: env.DATABASE_URL,
    /** null = BullMQ and the token bucket run on Postgres. */
    redisUrl: env.REDIS_URL,
    port: env.PORT,
    host: env.PARKADE_HOST,
    /** The address of the console that links in messages begin with; without a slash at its end. */
    publicUrl: (env.PARKADE_PUBLIC_URL ?? `http://127.0.0.1:${env.PORT}`).replace(/\/+$/, ""),
    /** Names the console answers to beside this machine's own, `host` or `host:port`; see `guard/viewer/local-only.pure.ts`. */
    allowedHosts: new Set(wordsOf(env.PARKADE_ALLOWED_HOSTS.toLowerCase())),
    /** Who must sign in. */
    signIn,
    /** Of sources, targets, channels and settings. */
    plainSecretMode: plainSecretModeOf(env.PARKADE_PLAIN_SECRETS, signIn),
    /** null = nobody signs in by OpenID Connect. */
    oidc,
    /** A token of an account of the provider works for so many days after the last sign-in of its owner. */
    oidcTokensDays: env.PARKADE_OIDC_TOKENS_DAYS,
    /** False = people sign in at the provider alone. */
    passwordSignIn: env.PARKADE_PASSWORD_SIGN_IN === "on",
    /** People of these roles who have a password need a second factor. */
    secondFactorRoles: env.PARKADE_SECOND_FACTOR,
    /** Variables beside PARKADE_SECRET_* that a source may name as `env:NAME`. */
    envReferences: listedReferences(wordsOf(env.PARKADE_ENV_REFERENCES), env.PARKADE_SECRET_FILES),
    /** The folder whose files sources and channels may name as `file:/...`; null = none. */
    secretFiles: env.PARKADE_SECRET_FILES,
    /** Of sources and targets. */
    addresses: addressFilter({
      refused: env.PARKADE_REFUSED_ADDRESSES,
      allowed: env.PARKADE_ALLOWED_ADDRESSES,
      names: env.PARKADE_ALLOWED_TARGETS,
    }),
    /** Authorities in PEM that TLS connections trust beside the public ones; see `trustCertificates`. */
    caFile: env.PARKADE_CA_FILE,
    /** Suites of TLS in the names of OpenSSL, with colons between them; null = the recommended ones. */
    tlsCiphers: env.PARKADE_TLS_CIPHERS,
    logLevel: env.PARKADE_LOG_LEVEL,
    /** The worker writes it after each heartbeat that reached the store: a container's health check reads its age. */
    healthFile: env.PARKADE_HEALTH_FILE,
    /** While the shared token bucket does not answer: send nothing, or each worker its share of the rate. */
    bucketFallback: env.PARKADE_BUCKET_FALLBACK,
    databasePool: env.PARKADE_DATABASE_POOL,
    statementTimeoutMs: env.PARKADE_STATEMENT_TIMEOUT_MS,
    payloadBytesMax: env.PARKADE_PAYLOAD_BYTES_MAX,
    headersMax: env.PARKADE_HEADERS_MAX,
    requestBytesMax: env.PARKADE_REQUEST_BYTES_MAX,
    /** Signs what goes to `confirmedUrl`; undefined = unsigned. */
    confirmedSecret: env.PARKADE_SECRET_CONFIRMED,
    /** Where the objects of removed events lie; null = events cannot be removed. */
    archive: env.PARKADE_ARCHIVE,
    /** For S3. null = what the SDK of AWS finds. */
    archiveKeys: accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey },
    /** Where the end of the audit's chain is written. */
    auditAnchors: { locations: env.PARKADE_AUDIT_ANCHORS, everyMs: env.PARKADE_AUDIT_ANCHOR_MINUTES * 60_000 },
    /** Where intake stops. */
    room: {
      disk:
        env.PARKADE_DISK_DIR === null || env.PARKADE_DISK_FREE_MIN === 0
          ? null
          : { folder: env.PARKADE_DISK_DIR, freeBytesMin: env.PARKADE_DISK_FREE_MIN },
      storeBytesMax: env.PARKADE_STORE_SIZE_MAX || null,
    },
    /** The first seals objects of the archive, all open them; none = objects are not sealed. */
    archiveEncryptionKeys: env.PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY,
    /** See `RequestLimits`; 0 = no limit. */
    limits: {
      clientRequests: env.PARKADE_CLIENT_REQUESTS,
      sourceRequests: env.PARKADE_SOURCE_REQUESTS,
      clientBytes: env.PARKADE_CLIENT_BYTES,
    },
    /** null = nothing is traced. */
    tracing: tracingSettingsOf(env),
  };
}

export type Env = ReturnType<typeof readEnv>;

/** A URL may hold a password, so its value is never repeated; that of a secret is not, either. */
const UNREPEATED = /_URL$|_ENDPOINT$|_SECRET$|^PARKADE_SECRET_|^PARKADE_ARCHIVE$|^PARKADE_AUDIT_ANCHORS$/;

function sentence(name: string, rule: string, source: Record<string, string | undefined>): string {
  const value = source[name];
  if (value === undefined || value === "") return `${name} is not set: it ${rule}.`;
  return UNREPEATED.test(name) ? `${name} ${rule}.` : `${name} is "${value}": it ${rule}.`;
}
