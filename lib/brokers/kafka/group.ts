import { type Admin, type BaseOptions, type Broker, Consumer } from "@platformatic/kafka";
import { AssignedPartition } from "@/lib/brokers/kafka/assigned-partition";
import {
  CLIENT_PREFIX,
  type ClusterFacts,
  clientOf,
  namesTopic,
  request,
  type TopicFacts,
} from "@/lib/brokers/kafka/client";
import { KafkaFault, kafkaCode } from "@/lib/brokers/kafka/fault";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import type { AdapterDeps } from "@/lib/brokers/port";

/** A member that is silent for so long loses its partitions to the others. */
const SESSION_TIMEOUT_MS = 10_000;
const HEARTBEAT_MS = 2_000;
/** How long a member may take to rejoin. Only its heartbeat must answer meanwhile, never a commit to the store. */
const REBALANCE_TIMEOUT_MS = 20_000;
/** Written with each offset, so that a person who looks at the group sees whose it is. */
const OFFSET_METADATA = "parkade";

const EARLIEST = -2n;
const LATEST = -1n;

/** A commit that comes while the group is rebalanced is refused, and repeated after it when the partition is kept. */
const REBALANCING = new Set(["KAFKA_ILLEGAL_GENERATION", "KAFKA_UNKNOWN_MEMBER_ID", "KAFKA_REBALANCE_IN_PROGRESS"]);

type Joined = {
  memberId: string;
  generationId: number;
  assignments?: { topic: string; partitions: number[] }[] | null;
};

type GroupOptions = {
  config: KafkaConfig;
  groupId: string;
  /** Part of the client id, so that another source with the same group can be named in the error. */
  source: string;
  admin: Admin;
  deps: Pick<AdapterDeps, "addresses">;
  /** The partitions of this member have changed. */
  onAssigned: () => void;
  onLost: (error: unknown) => void;
};

/**
 * The membership of one worker in the consumer group, and the offsets it commits. The client joins, sends heartbeats and
 * rejoins; the commits are made here, each with the generation under which its partitions were held, so that the broker
 * refuses a commit that comes after a rebalance. The client's own commit rejoins and then writes the old offsets.
 */
export class Group {
  /** By `topic [partition]`. */
  readonly partitions = new Map<string, AssignedPartition>();
  private readonly options: GroupOptions;
  private readonly consumer: Consumer;
  private facts: ClusterFacts = { brokers: new Map(), topics: [] };
  private memberId: string | null = null;
  private generation = 0;
  private latest: Joined | null = null;
  private assigning: Promise<void> = Promise.resolve();
  private committing: Promise<void> = Promise.resolve();

  constructor(options: GroupOptions) {
    const { config, groupId, source } = options;
    this.options = options;
    const make = (client: BaseOptions) =>
      new Consumer({
        ...client,
        groupId,
        autocommit: false,
        sessionTimeout: SESSION_TIMEOUT_MS,
        heartbeatInterval: HEARTBEAT_MS,
        rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      });
    this.consumer = clientOf(config, `source:${source}`, options.deps, make);
    this.consumer.on("consumer:group:join", (joined) => this.joined(joined as Joined));
    this.consumer.on("consumer:heartbeat:stalled", () =>
      options.onLost(new KafkaFault("KAFKA_GROUP_LOST", `the coordinator of group ${groupId} does not answer`)),
    );
    // The client could not rejoin. Not in its types.
    (this.consumer as unknown as NodeJS.EventEmitter).on("error", (error: unknown) => options.onLost(error));
  }

  /** Subscribes to these topics, and joins or rejoins the group when they are others than before. */
  async subscribe(facts: ClusterFacts): Promise<void> {
    const before = shapeOf(this.facts.topics);
    this.facts = facts;
    const { topics } = this.consumer;
    const wanted = new Set(facts.topics.map(({ name }) => name));
    for (const name of [...topics.current]) if (!wanted.has(name)) topics.untrack(name);
    for (const name of wanted) if (!topics.current.includes(name)) topics.track(name);
    this.followLeaders();
    if (before === shapeOf(facts.topics) || wanted.size === 0) return;
    // The assignment is made of the client's own list of partitions.
    this.consumer.clearMetadata();
    await this.consumer.joinGroup({});
    await this.assigning;
  }

  get brokers(): ReadonlyMap<number, Broker> {
    return this.facts.brokers;
  }

  private followLeaders(): void {
    for (const [key, partition] of this.partitions) {
      const { place } = partition;
      const topic = this.facts.topics.find(({ name }) => name === place.topic);
      if (topic?.id === place.topicId) partition.leader = topic.leaders[place.partition] ?? null;
      else {
        // Deleted, or made again: its offsets count from 0, and the group has none.
        partition.lost = true;
        this.partitions.delete(key);
      }
    }
    if (this.latest !== null) this.joined(this.latest);
  }

  private joined(joined: Joined): void {
    this.latest = joined;
    this.assigning = this.assigning
      .then(() => (this.latest === joined ? this.assign(joined) : undefined))
      .catch((error) => this.options.onLost(error));
  }

  private async assign({ memberId, generationId, assignments }: Joined): Promise<void> {
    // Without a gap no other member has held a kept partition meanwhile.
    const kept = memberId === this.memberId && generationId - this.generation <= 1;
    [this.memberId, this.generation] = [memberId, generationId];
    const assigned = new Map(
      (assignments ?? []).flatMap(({ topic, partitions }) => partitions.map((p) => [keyOf(topic, p), { topic, p }])),
    );
    for (const [key, partition] of this.partitions) {
      if (kept && assigned.has(key)) continue;
      partition.lost = true;
      this.partitions.delete(key);
    }
    const added = [...assigned.values()].filter(({ topic, p }) => !this.partitions.has(keyOf(topic, p)));
    const started = await this.start(added);
    // A later assignment is under way: it starts from the group's offsets again.
    if (this.memberId !== memberId || this.generation !== generationId) return;
    for (const partition of started)
      this.partitions.set(keyOf(partition.place.topic, partition.place.partition), partition);
    await this.commit();
    this.options.onAssigned();
  }

  private async start(added: { topic: string; p: number }[]): Promise<AssignedPartition[]> {
    const { admin, groupId, config } = this.options;
    const known = added.flatMap(({ topic, p }) => {
      const facts = this.facts.topics.find(({ name }) => name === topic);
      return facts === undefined || facts.leaders[p] === undefined ? [] : [{ facts, p }];
    });
    if (known.length === 0) return [];
    const byTopic = Map.groupBy(known, ({ facts }) => facts.name);
    const topics = [...byTopic].map(([name, list]) => ({ name, partitionIndexes: list.map(({ p }) => p) }));
    const [group] = await admin.listConsumerGroupOffsets({ groups: [{ groupId, topics }] });
    const committed = new Map(
      (group?.topics ?? []).flatMap(({ name, partitions }) =>
        partitions.map(({ partitionIndex, committedOffset }) => [keyOf(name, partitionIndex), committedOffset]),
      ),
    );
    const fresh = known.filter(({ facts, p }) => (committed.get(keyOf(facts.name, p)) ?? -1n) < 0n);
    const from = config.startFrom === "latest" ? LATEST : EARLIEST;
    const starts = await offsetsAt(admin, fresh, from);
    return known.map(({ facts, p }) => {
      const offset = committed.get(keyOf(facts.name, p)) ?? -1n;
      const has = offset >= 0n;
      return new AssignedPartition(
        { topic: facts.name, topicId: facts.id, partition: p },
        {
          leader: facts.leaders[p] ?? null,
          position: has ? offset : (starts.get(keyOf(facts.name, p)) ?? 0n),
          committed: has ? offset : null,
        },
      );
    });
  }

  /** Commits what is acknowledged. One commit at a time: a later one never overtakes an earlier one. */
  commit(): Promise<void> {
    const mine = this.committing.then(() => this.commitOnce());
    this.committing = mine.catch(() => undefined); // rejected to its caller
    return mine;
  }

  private async commitOnce(): Promise<void> {
    const { groupId } = this.options;
    const moved = [...this.partitions.values()].flatMap((partition) => {
      const offset = partition.toCommit;
      return offset === null ? [] : [{ partition, offset }];
    });
    if (moved.length === 0 || this.memberId === null) return;
    const byTopic = Map.groupBy(moved, ({ partition }) => partition.place.topic);
    const topics = [...byTopic].map(([name, list]) => ({
      name,
      partitions: list.map(({ partition, offset }) => ({
        partitionIndex: partition.place.partition,
        committedOffset: offset,
        committedLeaderEpoch: -1,
        committedMetadata: OFFSET_METADATA,
      })),
    }));
    try {
      const coordinator = await this.consumer.findGroupCoordinator();
      const broker = this.facts.brokers.get(coordinator) ?? null;
      await request(this.consumer, "OffsetCommit", broker, groupId, this.generation, this.memberId, null, topics);
    } catch (error) {
      if (REBALANCING.has(kafkaCode(error))) return;
      throw error;
    }
    for (const { partition, offset } of moved) partition.committed = offset;
  }

  /** Leaves the group. Rejects, or takes long, when the broker is gone. */
  async leave(): Promise<void> {
    await this.consumer.close(true);
  }

  /** Closes the connections without leaving the group. */
  async drop(): Promise<void> {
    await this.consumer.connections.close();
  }
}

export function keyOf(topic: string, partition: number): string {
  return `${topic} [${partition}]`;
}

/** Names, ids and numbers of partitions: what an assignment is made of. */
function shapeOf(topics: readonly TopicFacts[]): string {
  return topics
    .map(({ name, id, leaders }) => `${name} ${id} ${leaders.length}`)
    .sort()
    .join("\n");
}

/** The first or the last offset of each partition, by `topic [partition]`. */
export async function offsetsAt(
  admin: Admin,
  wanted: readonly { facts: TopicFacts; p: number }[],
  timestamp: bigint,
): Promise<Map<string, bigint>> {
  if (wanted.length === 0) return new Map();
  const byTopic = Map.groupBy(wanted, ({ facts }) => facts.name);
  const topics = [...byTopic].map(([name, list]) => ({
    name,
    partitions: list.map(({ p }) => ({ partitionIndex: p, timestamp })),
  }));
  const listed = await admin.listOffsets({ topics, isolationLevel: 1 });
  return new Map(
    listed.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex, offset }) => [keyOf(name, partitionIndex), offset]),
    ),
  );
}

export const FIRST_OFFSET = EARLIEST;
export const END_OFFSET = LATEST;

/**
 * Throws when the group belongs to an application: one of its members reads now, or it has offsets of topics that this
 * source does not read. Joining would take partitions away from the application. Throws too when another source of
 * Parkade reads with it: each of the two would get a part of the dead letters. `source` null = not known.
 */
export async function assertOwnGroup(
  admin: Admin,
  { groupId, source, topics }: { groupId: string; source: string | null; topics: readonly string[] },
): Promise<void> {
  const shared = (why: string) =>
    new KafkaFault(
      "KAFKA_GROUP_SHARED",
      `group ${groupId} is used by an application (${why}): give this source a group of its own`,
    );
  try {
    const group = (await admin.describeGroups({ groups: [groupId] })).get(groupId);
    for (const { clientId, clientHost } of group?.members.values() ?? []) {
      if (!clientId.startsWith(`${CLIENT_PREFIX}-`))
        throw shared(`client ${clientId} at ${clientHost.replace(/^\//, "")}`);
      const other = sourceOfClient(clientId);
      if (source !== null && other !== null && other !== source)
        throw new KafkaFault(
          "KAFKA_GROUP_SHARED",
          `group ${groupId} is read by source ${other} of Parkade: give this source a group of its own`,
        );
    }
  } catch (error) {
    // Of a group that is not there yet the broker says so; the permission to look is not needed to read.
    if (error instanceof KafkaFault || !NO_GROUP.has(kafkaCode(error))) throw error;
    return;
  }
  const [offsets] = await admin.listConsumerGroupOffsets({ groups: [{ groupId, topics: null }] });
  const other = (offsets?.topics ?? []).find(
    ({ name, partitions }) =>
      !topics.some((pattern) => namesTopic(pattern, name)) &&
      partitions.some(({ metadata }) => metadata !== OFFSET_METADATA),
  );
  if (other !== undefined) throw shared(`it has offsets of topic ${other.name}, which this source does not read`);
}

const SOURCE_CLIENT = `${CLIENT_PREFIX}-source:`;

/** The source that a member of a group reads for; null for another client. */
export function sourceOfClient(clientId: string): string | null {
  return clientId.startsWith(SOURCE_CLIENT) ? clientId.slice(SOURCE_CLIENT.length) : null;
}

const NO_GROUP = new Set(["KAFKA_GROUP_ID_NOT_FOUND", "KAFKA_GROUP_AUTHORIZATION_FAILED"]);
