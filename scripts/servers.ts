import { Redis } from "ioredis";
import pg from "pg";
import { takesAnyCertificate, VERIFIED_TLS_RULE } from "../lib/platform/plain/postgres-tls.pure.ts";
import { parseRedisUrl, REDIS_URL_RULE, shownRedisAddress } from "../lib/platform/plain/redis-address.pure.ts";
import { offerTlsSuites } from "../lib/platform/tls-suites.ts";
import { errorCode, errorText, StartError } from "./start-error.ts";

/** Whoever starts, migrates or backs up connects as web and worker do. */
offerTlsSuites(process.env.PARKADE_TLS_CIPHERS);

const POSTGRES_MAJOR_MIN = 15;
const REDIS_MIN = [6, 2] as const;
const CONNECT_MS = 10_000;
/** Of one statement: most take milliseconds, one that changes the owner of a table waits for its lock. */
const STATEMENT_MS_MAX = 60_000;
/** The server ends a late statement and says so. This much later the connection counts as silent. */
const SILENCE_MS = 1_000;

/** A client that waits for a silent server no longer than its statements may take, milliseconds. Not connected yet. */
export function boundedClient(databaseUrl: string, statementMsMax = STATEMENT_MS_MAX): pg.Client {
  return new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMsMax,
    query_timeout: statementMsMax + SILENCE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: CONNECT_MS,
    application_name: "parkade-start",
  });
}

/** A connected client, or a StartError that names DATABASE_URL and the fix. The caller ends it. */
export async function connectPostgres(databaseUrl: string, statementMsMax?: number): Promise<pg.Client> {
  const where = shownUrl(databaseUrl, "DATABASE_URL", ["postgres:", "postgresql:"]);
  if (takesAnyCertificate(databaseUrl, process.env.PGSSLMODE))
    throw new StartError(`DATABASE_URL ${where} ${VERIFIED_TLS_RULE}.`);
  const client = boundedClient(databaseUrl, statementMsMax);
  try {
    await client.connect();
  } catch (error) {
    throw new StartError(`DATABASE_URL ${where} cannot be used (${errorText(error)}): ${postgresFix(error)}.`, {
      cause: error,
    });
  }
  try {
    await checkVersion(client, where);
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function checkVersion(client: pg.Client, where: string): Promise<void> {
  const { rows } = await client.query<{ num: string; shown: string }>(
    "select current_setting('server_version_num') as num, current_setting('server_version') as shown",
  );
  assertPostgresVersion(rows[0]!, where);
}

/** `num` as server_version_num says it (150004), `shown` as server_version does. */
export function assertPostgresVersion({ num, shown }: { num: string; shown: string }, where: string): void {
  if (Math.floor(Number(num) / 10_000) >= POSTGRES_MAJOR_MIN) return;
  throw new StartError(
    `DATABASE_URL ${where} is PostgreSQL ${shown}, Parkade needs ${POSTGRES_MAJOR_MIN} or newer: upgrade that server, or unset DATABASE_URL to use the embedded one.`,
  );
}

function postgresFix(error: unknown): string {
  switch (errorCode(error)) {
    case "28P01":
    case "28000":
      return "correct its user and password, or unset it to use the embedded PostgreSQL";
    case "3D000":
      return "create that database, or correct its name";
    case "53300":
      return "that server has no connection left, raise its max_connections";
    default:
      return "start that server or correct the address, or unset it to use the embedded PostgreSQL";
  }
}

/**
 * Throws a StartError that names REDIS_URL unless the server answers, is 6.2 or newer and never evicts keys. Of a cluster one of the
 * nodes that the URL lists must answer; web and worker look at each master when they connect.
 */
export async function checkRedis(redisUrl: string): Promise<void> {
  const address = parseRedisUrl(redisUrl);
  if (!address) throw new StartError(`REDIS_URL ${REDIS_URL_RULE}.`);
  const where = `(${shownRedisAddress(address)})`;
  const { cluster, nodes, tls, username, password } = address;
  const clients = cluster
    ? nodes.map((node) => new Redis({ ...ASK_ONCE, ...node, username, password, ...(tls ? { tls: {} } : {}) }))
    : [new Redis(redisUrl, ASK_ONCE)];
  const answers = await Promise.allSettled(clients.map(redisInfo));
  const infos = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (infos.length === 0) {
    const { reason } = answers[0] as PromiseRejectedResult;
    throw new StartError(
      `REDIS_URL ${where} cannot be used (${errorText(reason)}): start that server or correct the address, or unset it to run the queue on PostgreSQL.`,
      { cause: reason },
    );
  }
  for (const info of infos) {
    assertRedisInfo(info, where);
    if (cluster && infoField(info, "cluster_enabled") !== "1") {
      throw new StartError(`REDIS_URL ${where} is no Redis Cluster: write redis:// instead of redis+cluster://.`);
    }
  }
}

const ASK_ONCE = {
  lazyConnect: true,
  connectTimeout: CONNECT_MS,
  commandTimeout: CONNECT_MS,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
};

async function redisInfo(redis: Redis): Promise<string> {
  let reason: unknown;
  redis.on("error", (error) => {
    reason = error;
  });
  try {
    await redis.connect();
    return await redis.info();
  } catch (error) {
    // "Connection is closed" says less than the error event before it.
    throw reason ?? error;
  } finally {
    redis.disconnect();
  }
}

function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*)$`, "m").exec(info)?.[1]?.trim();
}

export function assertRedisInfo(info: string, where: string): void {
  const version = infoField(info, "redis_version") ?? "unknown";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < REDIS_MIN[0] || (major === REDIS_MIN[0] && minor < REDIS_MIN[1])) {
    throw new StartError(
      `REDIS_URL ${where} is Redis ${version}, Parkade needs ${REDIS_MIN.join(".")} or newer: upgrade that server, or unset REDIS_URL to run the queue on PostgreSQL.`,
    );
  }
  const policy = infoField(info, "maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    throw new StartError(
      `REDIS_URL ${where} evicts keys (maxmemory-policy ${policy}), which would lose queued work: run \`CONFIG SET maxmemory-policy noeviction\` there, or use another Redis.`,
    );
  }
}

/** The address without its password, for messages. Refuses what is no such URL. */
function shownUrl(url: string, variable: string, protocols: string[]): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !protocols.includes(parsed.protocol)) {
    throw new StartError(
      `${variable} is not a ${protocols[0]}// URL: give it as ${protocols[0]}//user:password@host:port${variable === "DATABASE_URL" ? "/database" : ""}.`,
    );
  }
  return `(${parsed.protocol}//${parsed.username ? `${parsed.username}@` : ""}${parsed.host}${parsed.pathname})`;
}
