/** Where REDIS_URL points: one server, or some nodes of a Redis Cluster, of which the client learns the others. */
export type RedisAddress = {
  cluster: boolean;
  tls: boolean;
  /** "" = none is sent. */
  username: string;
  password: string;
  /** At least one. A host of IPv6 has no brackets. */
  nodes: { host: string; port: number }[];
};

/** What REDIS_URL must be, to be read after its name. */
export const REDIS_URL_RULE =
  "must look like redis://host:6379, or redis+cluster://host:6379,host:6379 for a Redis Cluster";

const PORT_DEFAULT = 6379;

/**
 * Reads `redis://user:password@host:port/db` or `redis+cluster://user:password@host:port,host:port`, each also with
 * `rediss`, which means TLS. null = it is none of them. A cluster has one database only, so its URL names none.
 */
export function parseRedisUrl(text: string): RedisAddress | null {
  const [, secure, cluster, rest] = /^redis(s?)(\+cluster)?:\/\/(.*)$/is.exec(text) ?? [];
  if (rest === undefined) return null;
  const credentials = rest.slice(0, rest.lastIndexOf("@") + 1);
  const hosts = cluster
    ? rest.slice(credentials.length).replace(/\/$/, "").split(",")
    : [rest.slice(credentials.length)];
  const urls = hosts.map((host) => `redis://${credentials}${host}`);
  if (!urls.every((url) => URL.canParse(url))) return null;
  const parsed = urls.map((url) => new URL(url));
  if (cluster && !parsed.every((url) => url.host !== "" && url.pathname === "" && url.search === "")) return null;
  const nodes = parsed.map((url) => ({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || PORT_DEFAULT),
  }));
  const [{ username, password }] = parsed as [URL, ...URL[]];
  return {
    ...{ cluster: Boolean(cluster), tls: Boolean(secure), nodes },
    ...{ username: decoded(username), password: decoded(password) },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A URL may hold a % that begins no escape.
  }
}

/** The address without its password, for messages. */
export function shownRedisAddress({ cluster, tls, username, nodes }: RedisAddress): string {
  const hosts = nodes.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join();
  return `redis${tls ? "s" : ""}${cluster ? "+cluster" : ""}://${username ? `${username}@` : ""}${hosts}`;
}
