import * as z from "zod";
import {
  listedReferences,
  PLAIN_SECRET_MODES,
  type PlainSecretMode,
  plainSecretModeOf,
} from "@/lib/brokers/kinds/secret-references.pure";
import type { Role } from "@/lib/guard/accounts/role.pure";
import { parseAnchorLocations } from "@/lib/guard/audit-chain/anchors/anchor-location.pure";
import { type OidcSettings, oidcSettingsOf } from "@/lib/guard/oidc/oidc-settings.pure";
import { parseSecondFactorRoles, SECOND_FACTOR_RULE } from "@/lib/guard/sign-in/second-factor-demand.pure";
import { TOKEN_DAYS_MAX } from "@/lib/guard/tokens/token.pure";
import { SIGN_IN_MODES, type SignInMode, signInModeOf } from "@/lib/guard/viewer/sign-in-mode.pure";
import type { RoomLimits } from "@/lib/intake/room/room.pure";
import {
  type ArchiveLocation,
  ArchiveLocationError,
  parseArchiveLocation,
} from "@/lib/keep/archive/archive-location.pure";
import { type AddressFilter, addressFilter, REFUSED_BY_DEFAULT } from "@/lib/platform/address-filter";
import { parseNetworks } from "@/lib/platform/networks";
import { parseHostNames } from "@/lib/platform/plain/host-names.pure";
import { takesAnyCertificate, VERIFIED_TLS_RULE } from "@/lib/platform/plain/postgres-tls.pure";
import { parseRedisUrl, REDIS_URL_RULE } from "@/lib/platform/plain/redis-address.pure";
import { isSuiteList, SUITE_LIST_RULE } from "@/lib/platform/tls-suites";
import {
  TRACING_VARIABLES,
  type TracingFault,
  type TracingSettings,
  tracingSettingsOf,
} from "@/lib/platform/tracing/tracing-settings";

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

const BUCKET_FALLBACKS = ["closed", "local"] as const;
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** An empty variable is an unset one: that is what `VAR= npm start` and compose files with a blank mean. */
function orDefault<T>(schema: z.ZodType<T>, fallback: T) {
  return z.preprocess((value) => (value === undefined || value === "" ? fallback : value), schema);
}

function whole(min: number, max: number) {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number(rule).int(rule).min(min, rule).max(max, rule);
}

const BYTES = /^(\d{1,12}(?:\.\d{1,3})?)\s*(?:B|([KMGT])i?B?)?$/i;
const BYTES_RULE = "must be a size such as 500MiB, 20GiB or 1073741824; units are powers of 1024";

/** Bytes of a size; 0 = no limit. */
const size = z.string().transform((text, { addIssue }): number => {
  const [, digits, unit = ""] = BYTES.exec(text.trim()) ?? [];
  const bytes = Math.round(Number(digits) * 1024 ** " KMGT".indexOf(unit.toUpperCase() || " "));
  if (Number.isSafeInteger(bytes)) return bytes;
  addIssue(BYTES_RULE);
  return z.NEVER;
});

function url(protocols: string[], example: string) {
  const rule = `must look like ${example}`;
  return z.string(rule).refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), rule);
}

const NETWORKS_RULE = "must list addresses or networks such as 10.0.0.0/8 fd00::1";

/** Addresses and networks; `none` for an empty list. */
function networks(fallback: string | null) {
  const parsed = z.string().transform((text, { addIssue }) => {
    const list = parseNetworks(text.trim() === "none" ? "" : text);
    if (list === null) addIssue(NETWORKS_RULE);
    return list;
  });
  return z.preprocess((value) => (value === undefined || value === "" ? fallback : value), z.nullable(parsed));
}

const FOLDER_RULE = "must be the absolute path of a folder such as /run/secrets";

const NAMES_RULE = "must list names such as orders.example.com *.example.com";

const hostNames = z.string().transform((text, { addIssue }) => {
  const names = parseHostNames(text);
  if (names === null) addIssue(NAMES_RULE);
  return names;
});

const secondFactorRoles = z.preprocess(
  (value) => value || "own",
  z.string().transform((text, { addIssue }): Role[] => {
    const roles = parseSecondFactorRoles(text);
    if (roles !== null) return roles;
    addIssue(SECOND_FACTOR_RULE);
    return z.NEVER;
  }),
);

const archiveLocation = z.string().transform((text, { addIssue }): ArchiveLocation => {
  try {
    return parseArchiveLocation(text);
  } catch (error) {
    if (!(error instanceof ArchiveLocationError)) throw error;
    addIssue(error.rule);
    return z.NEVER;
  }
});

const anchorLocations = z.string().transform((text, { addIssue }): ArchiveLocation[] => {
  try {
    return parseAnchorLocations(text);
  } catch (error) {
    if (!(error instanceof ArchiveLocationError) && !(error instanceof RangeError)) throw error;
    addIssue(error instanceof ArchiveLocationError ? error.rule : error.message);
    return z.NEVER;
  }
});

const ENCRYPTION_KEY = /^(?:[0-9a-f]{64}|[A-Za-z0-9+/]{43}=)$/i;
const ENCRYPTION_KEYS_RULE =
  "must be 32 random bytes in base64 or hex, such as `openssl rand -base64 32` writes; former keys follow it, after commas";

/** Each of 32 bytes. */
const encryptionKeys = z.string().transform((text, { addIssue }): Uint8Array[] => {
  const keys = text.split(",").map((key) => key.trim());
  if (!keys.every((key) => ENCRYPTION_KEY.test(key))) {
    addIssue(ENCRYPTION_KEYS_RULE);
    return z.NEVER;
  }
  return keys.map((key) => Buffer.from(key, key.length === 64 ? "hex" : "base64"));
});

const schema = z.object({
  DATABASE_URL: z.preprocess(
    (value) => (value === "" ? undefined : value),
    url(["postgres:", "postgresql:"], "postgres://user:password@host:5432/database"),
  ),
  REDIS_URL: orDefault(
    z.nullable(z.string(REDIS_URL_RULE).refine((text) => parseRedisUrl(text) !== null, REDIS_URL_RULE)),
    null,
  ),
  PORT: orDefault(whole(0, 65_535), 3000),
  PARKADE_HOST: orDefault(z.string(), "127.0.0.1"),
  PARKADE_PUBLIC_URL: orDefault(z.nullable(url(["http:", "https:"], "https://parkade.example.com")), null),
  PARKADE_ALLOWED_HOSTS: orDefault(z.string(), ""),
  // Read by the web server itself, before anything else of the process: here it is checked with the others.
  PARKADE_TRUSTED_PROXIES: networks(null),
  PARKADE_SIGN_IN: orDefault(z.nullable(z.enum(SIGN_IN_MODES, `must be one of ${SIGN_IN_MODES.join(", ")}`)), null),
  PARKADE_PLAIN_SECRETS: orDefault(
    z.nullable(z.enum(PLAIN_SECRET_MODES, `must be one of ${PLAIN_SECRET_MODES.join(", ")}`)),
    null,
  ),
  PARKADE_OIDC_ISSUER: orDefault(z.nullable(z.string()), null),
  PARKADE_OIDC_CLIENT_ID: orDefault(z.nullable(z.string()), null),
  PARKADE_OIDC_CLIENT_SECRET: orDefault(z.nullable(z.string()), null),
  PARKADE_OIDC_SCOPE: orDefault(z.string(), "openid profile email"),
  PARKADE_OIDC_NAME_CLAIM: orDefault(z.nullable(z.string()), null),
  PARKADE_OIDC_GROUPS_CLAIM: orDefault(z.string(), "groups"),
  PARKADE_OIDC_ROLES: orDefault(z.nullable(z.string()), null),
  PARKADE_OIDC_LABEL: orDefault(z.nullable(z.string().max(60, "must have at most 60 characters")), null),
  PARKADE_OIDC_ACR: orDefault(z.string(), ""),
  PARKADE_OIDC_AMR: orDefault(z.string(), ""),
  PARKADE_OIDC_MAX_AGE_MINUTES: orDefault(z.nullable(whole(1, 10_080)), null),
  PARKADE_OIDC_TOKENS_DAYS: orDefault(whole(1, TOKEN_DAYS_MAX), 30),
  PARKADE_PASSWORD_SIGN_IN: orDefault(z.enum(["on", "off"], "must be on or off"), "on"),
  PARKADE_SECOND_FACTOR: secondFactorRoles,
  PARKADE_ENV_REFERENCES: orDefault(z.string(), ""),
  PARKADE_REFUSED_ADDRESSES: networks(REFUSED_BY_DEFAULT),
  PARKADE_ALLOWED_ADDRESSES: networks(null),
  PARKADE_ALLOWED_TARGETS: z.preprocess((value) => value || null, z.nullable(hostNames)),
  PARKADE_SECRET_FILES: orDefault(z.nullable(z.string(FOLDER_RULE).regex(/^\/./, FOLDER_RULE)), null),
  PARKADE_CA_FILE: orDefault(z.nullable(z.string()), null),
  PARKADE_TLS_CIPHERS: orDefault(z.nullable(z.string().check(z.refine(isSuiteList, SUITE_LIST_RULE))), null),
  PARKADE_LOG_LEVEL: orDefault(z.enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(", ")}`), "info"),
  PARKADE_HEALTH_FILE: orDefault(z.nullable(z.string()), null),
  PARKADE_DATABASE_POOL: orDefault(whole(1, 200), POOL_MAX_DEFAULT),
  PARKADE_STATEMENT_TIMEOUT_MS: orDefault(whole(100, 600_000), STATEMENT_TIMEOUT_MS_DEFAULT),
  PARKADE_PAYLOAD_BYTES_MAX: orDefault(whole(1, 256 * 1024 * 1024), PAYLOAD_BYTES_MAX_DEFAULT),
  PARKADE_HEADERS_MAX: orDefault(whole(0, 10_000), HEADERS_MAX_DEFAULT),
  PARKADE_BUCKET_FALLBACK: orDefault(
    z.enum(BUCKET_FALLBACKS, `must be one of ${BUCKET_FALLBACKS.join(", ")}`),
    "closed",
  ),
  PARKADE_CLIENT_REQUESTS: orDefault(whole(0, 1_000_000_000), LIMIT_REQUESTS_DEFAULT),
  PARKADE_SOURCE_REQUESTS: orDefault(whole(0, 1_000_000_000), LIMIT_REQUESTS_DEFAULT),
  PARKADE_CLIENT_BYTES: orDefault(whole(0, 1024 * 1024 * 1024), CLIENT_BYTES_DEFAULT),
  PARKADE_SECRET_CONFIRMED: orDefault(z.optional(z.string()), undefined),
  PARKADE_ARCHIVE: z.preprocess((value) => value || null, z.nullable(archiveLocation)),
  PARKADE_SECRET_ARCHIVE_KEY_ID: orDefault(z.nullable(z.string()), null),
  PARKADE_SECRET_ARCHIVE_KEY: orDefault(z.nullable(z.string()), null),
  PARKADE_AUDIT_ANCHORS: z.preprocess((value) => value || "", anchorLocations),
  PARKADE_AUDIT_ANCHOR_MINUTES: orDefault(whole(1, 10_080), 60),
  PARKADE_DISK_DIR: orDefault(z.nullable(z.string()), null),
  PARKADE_DISK_FREE_MIN: z.preprocess((value) => value || DISK_FREE_MIN_DEFAULT, size),
  PARKADE_STORE_SIZE_MAX: z.preprocess((value) => value || "0", size),
  PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY: z.preprocess((value) => value || undefined, z.optional(encryptionKeys)),
  PARKADE_REQUEST_BYTES_MAX: orDefault(whole(1024, 1024 * 1024 * 1024), REQUEST_BYTES_MAX_DEFAULT),
  ...TRACING_VARIABLES,
});

export type Env = {
  databaseUrl: string;
  /** null = BullMQ and the token bucket run on Postgres. */
  redisUrl: string | null;
  port: number;
  host: string;
  /** The address of the console that links in messages begin with; without a slash at its end. */
  publicUrl: string;
  /** Names the console answers to beside this machine's own, `host` or `host:port`; see `guard/viewer/local-only.pure.ts`. */
  allowedHosts: ReadonlySet<string>;
  /** Who must sign in. */
  signIn: SignInMode;
  /** Of sources, targets, channels and settings. */
  plainSecretMode: PlainSecretMode;
  /** null = nobody signs in by OpenID Connect. */
  oidc: OidcSettings | null;
  /** A token of an account of the provider works for so many days after the last sign-in of its owner. */
  oidcTokensDays: number;
  /** False = people sign in at the provider alone. */
  passwordSignIn: boolean;
  /** People of these roles who have a password need a second factor. */
  secondFactorRoles: readonly Role[];
  /** Variables beside PARKADE_SECRET_* that a source may name as `env:NAME`. */
  envReferences: string[];
  /** The folder whose files sources and channels may name as `file:/...`; null = none. */
  secretFiles: string | null;
  /** Of sources and targets. */
  addresses: AddressFilter;
  /** Authorities in PEM that TLS connections trust beside the public ones; see `trustCertificates`. */
  caFile: string | null;
  /** Suites of TLS in the names of OpenSSL, with colons between them; null = the recommended ones. */
  tlsCiphers: string | null;
  logLevel: (typeof LOG_LEVELS)[number];
  /** The worker writes it after each heartbeat that reached the store: a container's health check reads its age. */
  healthFile: string | null;
  /** While the shared token bucket does not answer: send nothing, or each worker its share of the rate. */
  bucketFallback: (typeof BUCKET_FALLBACKS)[number];
  databasePool: number;
  statementTimeoutMs: number;
  payloadBytesMax: number;
  headersMax: number;
  requestBytesMax: number;
  /** Signs what goes to `confirmedUrl`; undefined = unsigned. */
  confirmedSecret: string | undefined;
  /** Where the objects of removed events lie; null = events cannot be removed. */
  archive: ArchiveLocation | null;
  /** For S3. null = what the SDK of AWS finds. */
  archiveKeys: { accessKeyId: string; secretAccessKey: string } | null;
  /** Where the end of the audit's chain is written. */
  auditAnchors: {
    locations: readonly ArchiveLocation[];
    everyMs: number;
  };
  /** Where intake stops. */
  room: RoomLimits;
  /** The first seals objects of the archive, all open them; none = objects are not sealed. */
  archiveEncryptionKeys: Uint8Array[];
  /** See `RequestLimits`; 0 = no limit. */
  limits: { clientRequests: number; sourceRequests: number; clientBytes: number };
  /** null = nothing is traced. */
  tracing: TracingSettings | TracingFault | null;
};

/** The environment cannot be used. `message` has one sentence for each variable: its name, the fault and the fix. */
export class EnvError extends Error {
  constructor(problems: string[]) {
    super(problems.join("\n"));
    this.name = "EnvError";
  }
}

/** Parses the environment. Throws EnvError. */
export function readEnv(source: Record<string, string | undefined> = process.env): Env {
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
    redisUrl: env.REDIS_URL,
    port: env.PORT,
    host: env.PARKADE_HOST,
    publicUrl: (env.PARKADE_PUBLIC_URL ?? `http://127.0.0.1:${env.PORT}`).replace(/\/+$/, ""),
    allowedHosts: new Set(
      env.PARKADE_ALLOWED_HOSTS.toLowerCase()
        .split(/[\s,]+/)
        .filter(Boolean),
    ),
    signIn,
    plainSecretMode: plainSecretModeOf(env.PARKADE_PLAIN_SECRETS, signIn),
    oidc,
    oidcTokensDays: env.PARKADE_OIDC_TOKENS_DAYS,
    passwordSignIn: env.PARKADE_PASSWORD_SIGN_IN === "on",
    secondFactorRoles: env.PARKADE_SECOND_FACTOR,
    envReferences: listedReferences(
      env.PARKADE_ENV_REFERENCES.split(/[\s,]+/).filter(Boolean),
      env.PARKADE_SECRET_FILES,
    ),
    secretFiles: env.PARKADE_SECRET_FILES,
    addresses: addressFilter({
      refused: env.PARKADE_REFUSED_ADDRESSES!,
      allowed: env.PARKADE_ALLOWED_ADDRESSES,
      names: env.PARKADE_ALLOWED_TARGETS,
    }),
    caFile: env.PARKADE_CA_FILE,
    tlsCiphers: env.PARKADE_TLS_CIPHERS,
    logLevel: env.PARKADE_LOG_LEVEL,
    healthFile: env.PARKADE_HEALTH_FILE,
    bucketFallback: env.PARKADE_BUCKET_FALLBACK,
    databasePool: env.PARKADE_DATABASE_POOL,
    statementTimeoutMs: env.PARKADE_STATEMENT_TIMEOUT_MS,
    payloadBytesMax: env.PARKADE_PAYLOAD_BYTES_MAX,
    headersMax: env.PARKADE_HEADERS_MAX,
    requestBytesMax: env.PARKADE_REQUEST_BYTES_MAX,
    confirmedSecret: env.PARKADE_SECRET_CONFIRMED,
    archive: env.PARKADE_ARCHIVE,
    archiveKeys: accessKeyId === null || secretAccessKey === null ? null : { accessKeyId, secretAccessKey },
    auditAnchors: {
      locations: env.PARKADE_AUDIT_ANCHORS,
      everyMs: env.PARKADE_AUDIT_ANCHOR_MINUTES * 60_000,
    },
    room: {
      disk:
        env.PARKADE_DISK_DIR === null || env.PARKADE_DISK_FREE_MIN === 0
          ? null
          : { folder: env.PARKADE_DISK_DIR, freeBytesMin: env.PARKADE_DISK_FREE_MIN },
      storeBytesMax: env.PARKADE_STORE_SIZE_MAX || null,
    },
    archiveEncryptionKeys: env.PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY ?? [],
    limits: {
      clientRequests: env.PARKADE_CLIENT_REQUESTS,
      sourceRequests: env.PARKADE_SOURCE_REQUESTS,
      clientBytes: env.PARKADE_CLIENT_BYTES,
    },
    tracing: tracingSettingsOf(env),
  };
}

/** A URL may hold a password, so its value is never repeated; that of a secret is not, either. */
const UNREPEATED = /_URL$|_ENDPOINT$|_SECRET$|^PARKADE_SECRET_|^PARKADE_ARCHIVE$|^PARKADE_AUDIT_ANCHORS$/;

function sentence(name: string, rule: string, source: Record<string, string | undefined>): string {
  const value = source[name];
  if (value === undefined || value === "") return `${name} is not set: it ${rule}.`;
  return UNREPEATED.test(name) ? `${name} ${rule}.` : `${name} is "${value}": it ${rule}.`;
}
