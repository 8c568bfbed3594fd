import {
  Admin,
  type API,
  type Base,
  type BaseOptions,
  type Broker,
  type Connection,
  kGetApi,
  kGetBootstrapConnection,
  kGetConnection,
} from "@platformatic/kafka";
import { checked } from "@/lib/brokers/kafka/checked-pool";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import type { AdapterDeps } from "@/lib/brokers/port";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

/** A broker that is silent for longer is given up. */
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** Every client of Parkade has this in its client id: so members of other applications are told apart in a group. */
export const CLIENT_PREFIX = "parkade";

/** Connection settings of a client. The callers retry: the client itself repeats only what a moment heals. */
export function clientOptions(
  config: KafkaConfig,
  purpose: string,
  { lookup }: AddressFilter = DEFAULT_ADDRESSES,
): BaseOptions {
  const { bootstrap, encrypt, tls, sasl } = config;
  const { servername, ...certificates } = tls ?? {};
  const encrypted = encrypt === true || Object.values(tls ?? {}).some((value) => value !== undefined);
  const firstHost = /^(.*):\d+$/.exec(bootstrap[0]!)![1]!;
  return {
    clientId: `${CLIENT_PREFIX}-${purpose}`,
    bootstrapBrokers: [...bootstrap],
    retries: 3,
    retryDelay: 250,
    connectTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    autocreateTopics: false,
    ...(encrypted
      ? { tls: { ...certificates, lookup } as BaseOptions["tls"], tlsServerName: servername ?? !isAddress(firstHost) }
      : {}),
    ...(sasl === undefined ? {} : { sasl: { ...sasl } }),
  };
}

/** SNI holds names, never addresses. */
function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.startsWith("[");
}

/** A client that connects to allowed addresses alone. */
export function clientOf<C extends Base>(
  config: KafkaConfig,
  purpose: string,
  { addresses = DEFAULT_ADDRESSES }: Pick<AdapterDeps, "addresses">,
  make: (options: BaseOptions) => C,
): C {
  const options = clientOptions(config, purpose, addresses);
  return checked(make(options), addresses, options.tls !== undefined);
}

export function adminOf(config: KafkaConfig, purpose: string, deps: Pick<AdapterDeps, "addresses">): Admin {
  return clientOf(config, purpose, deps, (options) => new Admin(options));
}

function answer<T>(ask: (callback: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    ask((error, value) => (error ? reject(error) : resolve(value as T)));
  });
}

/** A request of Kafka's protocol in the highest version that both sides know, to `broker` or to any. */
export async function request<Arguments extends unknown[], Answer>(
  client: Base,
  name: string,
  broker: Broker | null,
  ...args: Arguments
): Promise<Answer> {
  const connection =
    broker === null
      ? await answer<Connection>((callback) => client[kGetBootstrapConnection](callback))
      : await connectionTo(client, broker);
  const api = await answer<API<Arguments, Answer>>((callback) => client[kGetApi]<Arguments, Answer>(name, callback));
  return api.async(connection, ...args);
}

export function connectionTo(client: Base, broker: Broker): Promise<Connection> {
  return answer<Connection>((callback) => client[kGetConnection](broker, callback));
}

/** The version of a request that client and broker agree on. */
export async function versionOf(client: Base, name: string): Promise<number> {
  return (await answer<API<unknown[], unknown>>((callback) => client[kGetApi](name, callback))).version;
}

export type TopicFacts = {
  name: string;
  id: string;
  errorCode: number;
  /** Leader of each partition by its number; null: none at the moment. */
  leaders: (number | null)[];
  /** Bits of what the client may do with it, by Kafka's numbers; null = the broker does not tell. */
  operations: number | null;
};

export type ClusterFacts = { brokers: Map<number, Broker>; topics: TopicFacts[] };

type MetadataAnswer = {
  brokers: (Broker & { nodeId: number })[];
  topics: {
    errorCode: number;
    name: string | null;
    topicId?: string;
    isInternal: boolean;
    partitions: { partitionIndex: number; leaderId: number }[];
    topicAuthorizedOperations?: number;
  }[];
};

/** Brokers and topics, named or all that are visible, with each error. With `operations` the broker checks and logs each permission. */
export async function clusterFacts(client: Base, names: string[] | null, operations = false): Promise<ClusterFacts> {
  let facts: MetadataAnswer;
  try {
    facts = await request<[string[] | null, boolean, boolean], MetadataAnswer>(
      client,
      "Metadata",
      null,
      names,
      false,
      operations,
    );
  } catch (error) {
    // The client throws the whole answer away when one topic has an error.
    const partial = (error as { response?: MetadataAnswer }).response;
    if (partial === undefined) throw error;
    facts = partial;
  }
  return {
    brokers: new Map(facts.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }])),
    topics: facts.topics
      .filter(({ isInternal, name }) => !isInternal && name !== null)
      .map((topic) => {
        const leaders: (number | null)[] = [];
        for (const { partitionIndex, leaderId } of topic.partitions)
          leaders[partitionIndex] = leaderId < 0 ? null : leaderId;
        const { topicAuthorizedOperations: operations = UNKNOWN_OPERATIONS } = topic;
        return {
          name: topic.name!,
          id: topic.topicId ?? topic.name!,
          errorCode: topic.errorCode,
          leaders,
          operations: operations === UNKNOWN_OPERATIONS ? null : operations,
        };
      }),
  };
}

/** What a broker answers that was not asked for operations, or knows none. */
const UNKNOWN_OPERATIONS = -2_147_483_648;

/** Numbers of Kafka's operations; each is one bit of `operations`. */
export const OPERATION = { READ: 3, WRITE: 4, DESCRIBE: 8 } as const;

export function mayDo(operations: number | null, operation: number): boolean | null {
  return operations === null ? null : (operations & (1 << operation)) !== 0;
}

/** `*.DLT`: does a pattern name this topic? A name without `*` names itself. */
export function namesTopic(pattern: string, topic: string): boolean {
  if (!pattern.includes("*")) return pattern === topic;
  const parts = pattern.split("*");
  const [start, end] = [parts[0]!, parts.at(-1)!];
  if (topic.length < start.length + end.length || !topic.startsWith(start) || !topic.endsWith(end)) return false;
  const middle = topic.slice(start.length, topic.length - end.length);
  let at = 0;
  return parts.slice(1, -1).every((part) => {
    const found = middle.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}

/** The topics a source reads now, and the named ones that are missing. Internal topics match no pattern. */
export async function topicsOf(
  client: Base,
  patterns: readonly string[],
  { operations = false } = {},
): Promise<ClusterFacts & { missing: TopicFacts[] }> {
  const names = patterns.filter((pattern) => !pattern.includes("*"));
  const all = names.length < patterns.length;
  const named = await clusterFacts(client, all ? null : [...new Set(names)], operations);
  const found = named.topics.filter(
    ({ name, errorCode }) =>
      errorCode === 0 &&
      patterns.some((pattern) => namesTopic(pattern, name)) &&
      !(name.startsWith("__") && !names.includes(name)),
  );
  const missing = all
    ? names.filter((name) => !found.some((topic) => topic.name === name)).map((name) => absent(name))
    : named.topics.filter(({ errorCode }) => errorCode !== 0);
  return { brokers: named.brokers, topics: found, missing };
}

/** UNKNOWN_TOPIC_OR_PARTITION */
const UNKNOWN_TOPIC = 3;

function absent(name: string): TopicFacts {
  return { name, id: name, errorCode: UNKNOWN_TOPIC, leaders: [], operations: null };
}
