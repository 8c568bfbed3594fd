import type { Admin, Broker } from "@platformatic/kafka";
import { abortable } from "@/lib/brokers/abortable";
import { readDeadLetter, readInTurns } from "@/lib/brokers/conventions/read-dead-letter";
import { DeliveryBuffer } from "@/lib/brokers/delivery-buffer";
import type { AssignedPartition } from "@/lib/brokers/kafka/assigned-partition";
import { adminOf, type ClusterFacts, type TopicFacts, topicsOf } from "@/lib/brokers/kafka/client";
import { describeKafka, KafkaFault, kafkaCode, protocolFault } from "@/lib/brokers/kafka/fault";
import { type Fetched, fetchFrom } from "@/lib/brokers/kafka/fetch";
import { assertOwnGroup, FIRST_OFFSET, Group, keyOf, offsetsAt } from "@/lib/brokers/kafka/group";
import { type KafkaConfig, kafka } from "@/lib/brokers/kafka/kind.shapes";
import { kafkaMessage, unreadableBatch } from "@/lib/brokers/kafka/message";
import { type KafkaRecord, type RecordBatch, recordsOf } from "@/lib/brokers/kafka/record-batch";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const BATCH_DEFAULT = 1_000;
/** Of one fetch. Together with the bound below it is the memory of a source, before unpacking. */
const FETCH_BYTES = 1_048_576;
/** No fetch begins while so much lies here that was not taken. */
const BUFFERED_BYTES_MAX = 4 * FETCH_BYTES;
/** How long a broker holds a fetch that finds nothing. */
const FETCH_WAIT_MS = 500;
/** How often topics and leaders are looked up: a new topic, partition or leader is noticed within this time. */
const TOPICS_EVERY_MS = 10_000;
/** Fetches of one broker that may fail in a row before the session is given up. */
const FETCH_FAILURES_MAX = 5;
const FETCH_RETRY_MS = 300;
/** Messages set aside at a time. Each holds the offset of its partition. */
const SET_ASIDE_MAX = 1_000;
/** How long, on stop, the broker may take to answer the leave. */
const LEAVE_MS = 3_000;

/** Errors of a partition that a look at the topics mends: it moved, or was deleted. */
const MOVED = new Set([3, 5, 6, 9, 56, 74, 75, 76, 78, 100, 103]);
const OFFSET_OUT_OF_RANGE = 1;
const TOPIC_AUTHORIZATION_FAILED = 29;

/** Reads dead-letter topics. `source` names the group, unless the configuration does. */
export function kafkaReader(config: KafkaConfig, source: string, deps: AdapterDeps): Reader<Handle> {
  return {
    what: kafka.reads(config)!,
    batchMax: config.batchSize ?? BATCH_DEFAULT,
    // A batch that cannot be committed is held: leaving the group would start a rebalance at each try.
    holdFromDeliveries: 0,
    open: (signal, tell) => KafkaSession.open({ config, source, tell }, deps, signal),
    describe: (error) => {
      // A commit needs READ as well, and its answer says only that a topic lacks it.
      const denied = !(error instanceof KafkaFault) && kafkaCode(error) === "KAFKA_TOPIC_AUTHORIZATION_FAILED";
      return describeKafka(denied ? mayNot("READ", config.topics.join(", "), config) : error, config);
    },
  };
}

function groupOf({ groupId }: KafkaConfig, source: string): string {
  return groupId ?? `parkade.${source}`;
}

type Handle = { partition: AssignedPartition; offset: bigint };

/** A batch that was fetched and not unpacked. */
type Slab = { partition: AssignedPartition; batch: RecordBatch; from: bigint };
type Unpacked = { partition: AssignedPartition; record: KafkaRecord };
/** A message that is handed out, before a convention reads it. */
type Unread = { letter: () => DeadLetter; handle: Handle };

type SessionOptions = { config: KafkaConfig; source: string; tell: (notice: string) => void };

class KafkaSession implements ReadSession<Handle> {
  readonly inHandMax = SET_ASIDE_MAX;
  readonly keepsAcknowledged = true;
  readonly readsAhead = true;
  private readonly inbox = new DeliveryBuffer<Slab>();
  private bufferedBytes = 0;
  private unpacked: Unpacked[] = [];
  private readonly config: KafkaConfig;
  private readonly source: string;
  private readonly tell: SessionOptions["tell"];
  private readonly clock: Clock;
  private readonly admin: Admin;
  private readonly group: Group;
  private missing: TopicFacts[] = [];
  private readonly closing = new AbortController();
  private readonly fetching = new Set<number>();
  private room = Promise.withResolvers<void>();
  private rotation = 0;
  private refreshing: Promise<void> | null = null;

  private constructor({ config, source, tell }: SessionOptions, admin: Admin, deps: AdapterDeps) {
    this.config = config;
    this.source = source;
    this.tell = tell;
    this.clock = deps.clock;
    this.admin = admin;
    this.group = new Group({
      config,
      groupId: groupOf(config, source),
      source,
      admin,
      deps,
      onAssigned: () => {
        this.fetchAll();
        // An application may have joined.
        this.checkGroup().catch((error) => this.inbox.fail(error));
      },
      onLost: (error) => this.inbox.fail(error),
    });
  }

  static async open(options: SessionOptions, deps: AdapterDeps, signal: AbortSignal): Promise<KafkaSession> {
    const admin = adminOf(options.config, "source-admin", deps);
    const session = new KafkaSession(options, admin, deps);
    try {
      signal.throwIfAborted();
      await abortable(session.start(), signal);
      return session;
    } catch (error) {
      await session.close(false);
      throw error;
    }
  }

  private async start(): Promise<void> {
    await this.checkGroup();
    await this.group.subscribe(await this.topics());
    this.inbox.throwIfFailed();
    void this.watchTopics();
  }

  private checkGroup(): Promise<void> {
    const { config, source } = this;
    return assertOwnGroup(this.admin, { groupId: groupOf(config, source), source, topics: config.topics });
  }

  /** The topics that exist. Throws when a named topic does not; a pattern waits for its first topic, with a notice. */
  private async topics(): Promise<ClusterFacts> {
    const { topics, missing, brokers } = await topicsOf(this.admin, this.config.topics);
    this.missing = missing;
    const [first] = missing;
    if (topics.length === 0 && first !== undefined) throw missingTopic(first, this.config);
    if (topics.length === 0) this.tell(`no readable topic matches ${this.config.topics.join(", ")}`);
    return { topics, brokers };
  }

  private async watchTopics(): Promise<void> {
    const { signal } = this.closing;
    try {
      for (;;) {
        await this.clock.sleep(TOPICS_EVERY_MS, signal);
        await this.refreshTopics();
      }
    } catch (error) {
      if (!signal.aborted) this.inbox.fail(error);
    }
  }

  private refreshTopics(): Promise<void> {
    this.refreshing ??= this.refresh().finally(() => {
      this.refreshing = null;
    });
    return this.refreshing;
  }

  private async refresh(): Promise<void> {
    await this.group.subscribe(await this.topics());
    this.fetchAll();
  }

  /** One fetch at a time from each broker that leads a partition of this member. */
  private fetchAll(): void {
    for (const { leader } of this.group.partitions.values()) {
      const broker = leader === null ? undefined : this.group.brokers.get(leader);
      if (broker === undefined || this.fetching.has(leader!)) continue;
      this.fetching.add(leader!);
      this.fetchLoop(leader!, broker)
        .catch((error) => this.inbox.fail(error))
        .finally(() => this.fetching.delete(leader!));
    }
  }

  private async fetchLoop(leader: number, broker: Broker): Promise<void> {
    const { signal } = this.closing;
    let failures = 0;
    while (!signal.aborted) {
      if (this.bufferedBytes >= BUFFERED_BYTES_MAX) {
        await this.room.promise;
        continue;
      }
      const led = [...this.group.partitions.values()].filter((partition) => partition.leader === leader);
      if (led.length === 0) return;
      // The answer is filled from the first partition on: each comes first in its turn.
      this.rotation += 1;
      const turn = this.rotation % led.length;
      const parts = [...led.slice(turn), ...led.slice(0, turn)];
      const positions = new Map(parts.map((partition) => [partition, partition.position]));
      try {
        const fetched = await fetchFrom(
          this.admin,
          broker,
          parts.map(({ place, position }) => ({ ...place, offset: position })),
          { maxBytes: FETCH_BYTES, maxWaitMs: FETCH_WAIT_MS },
        );
        if (signal.aborted) return;
        failures = 0;
        if (await this.receive(fetched, positions)) await this.clock.sleep(FETCH_RETRY_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (error instanceof KafkaFault || failures > FETCH_FAILURES_MAX) throw error;
        await this.clock.sleep(FETCH_RETRY_MS * failures, signal);
        // The leader may be another one by now; without an answer the next fetch decides.
        await this.refreshTopics().catch((cause) => {
          if (cause instanceof KafkaFault) throw cause;
        });
      }
    }
  }

  /** True when a partition had an error, so that the next fetch had better wait. */
  private async receive(
    fetched: readonly Fetched[],
    positions: ReadonlyMap<AssignedPartition, bigint>,
  ): Promise<boolean> {
    let moved = false;
    for (const answer of fetched) {
      const partition = [...positions.keys()].find(
        ({ place }) => place.topicId === answer.topicId && place.partition === answer.partition,
      );
      if (partition === undefined || partition.lost) continue;
      const { topic } = partition.place;
      if (answer.errorCode === OFFSET_OUT_OF_RANGE) await this.fromTheStart(partition);
      else if (MOVED.has(answer.errorCode)) moved = true;
      else if (answer.errorCode === TOPIC_AUTHORIZATION_FAILED) throw mayNot("READ", topic, this.config);
      else if (answer.errorCode !== 0) throw protocolFault(answer.errorCode, keyOf(topic, answer.partition));
      else this.buffer(partition, positions.get(partition)!, answer);
    }
    if (moved) await this.refreshTopics();
    return moved;
  }

  private buffer(partition: AssignedPartition, from: bigint, { batches, nextOffset, endOffset }: Fetched): void {
    partition.endOffset = endOffset;
    for (const batch of batches) {
      if (batch.lastOffset < from) continue;
      partition.buffered += 1;
      this.bufferedBytes += batch.raw.length;
      this.inbox.push({ partition, batch, from });
    }
    if (nextOffset !== null && nextOffset > partition.position) partition.position = nextOffset;
  }

  /** Retention has removed what was to be read next, or the log was cut: reading goes on with the oldest record. */
  private async fromTheStart(partition: AssignedPartition): Promise<void> {
    const { topic, topicId, partition: p } = partition.place;
    const facts = { name: topic, id: topicId, errorCode: 0, leaders: [], operations: null };
    const offset = (await offsetsAt(this.admin, [{ facts, p }], FIRST_OFFSET)).get(keyOf(topic, p));
    if (offset !== undefined) partition.position = offset;
  }

  async take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<Handle>[]> {
    const wake = () => this.inbox.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      this.inbox.throwIfFailed();
      const unread: Unread[] = [];
      while (unread.length === 0) {
        if (this.unpacked.length === 0 && this.inbox.size === 0) {
          if (signal.aborted) return [];
          await this.inbox.wait(1, withinMs === undefined ? undefined : { ms: withinMs, clock: this.clock });
          if (signal.aborted || this.inbox.size === 0) return [];
        }
        this.handOut(max, unread);
      }
      return await readInTurns(
        unread,
        ({ letter, handle }) => ({ letter: letter(), handle, deliveries: 0 }),
        this.clock,
      );
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  private handOut(max: number, unread: Unread[]): void {
    const { mapping = {} } = this.config;
    const add = (partition: AssignedPartition, offset: bigint, letter: () => DeadLetter) => {
      // A record of a partition that went to another member: that one parks it.
      if (partition.lost) return;
      partition.handOut(offset);
      unread.push({ letter, handle: { partition, offset } });
    };
    while (unread.length < max) {
      if (this.unpacked.length === 0) {
        const [slab] = this.inbox.take(1);
        if (slab === undefined) return;
        const { partition, batch } = slab;
        this.release(batch.raw.length);
        try {
          this.unpacked = recordsOf(batch)
            .filter(({ offset }) => offset >= slab.from)
            .map((record) => ({ partition, record }));
        } catch (error) {
          const problem = error instanceof Error ? error.message : String(error);
          add(partition, batch.lastOffset, () => unreadableBatch(batch, partition.place, problem));
        }
        if (this.unpacked.length === 0) partition.buffered -= 1;
      }
      const records = this.unpacked.splice(0, max - unread.length);
      for (const { partition, record } of records)
        add(partition, record.offset, () => readDeadLetter(kafkaMessage(record, partition.place), mapping));
      const last = records.at(-1);
      if (last !== undefined && this.unpacked.length === 0) last.partition.buffered -= 1;
    }
  }

  private release(bytes: number): void {
    this.bufferedBytes -= bytes;
    if (this.bufferedBytes >= BUFFERED_BYTES_MAX) return;
    this.room.resolve();
    this.room = Promise.withResolvers<void>();
  }

  async acknowledge(handles: readonly Handle[]): Promise<void> {
    for (const { partition, offset } of handles) partition.acknowledge(offset);
    await this.group.commit();
  }

  async lag(): Promise<Lag> {
    const parts = [...this.group.partitions].map(([name, { lag, parked }]) => ({ name, lag, parked }));
    const missing = this.missing.map(({ name }) => ({ name: `${name} (missing)`, lag: null, parked: null }));
    const known = parts.every(({ lag }) => lag !== null);
    // What is behind the last dead letter needs no acknowledgement: aborted and control records.
    await this.group.commit();
    return {
      total: known ? parts.reduce((sum, { lag }) => sum + lag!, 0) : null,
      parts: [...parts, ...missing].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    };
  }

  partOf({ partition: { place } }: Handle): string {
    return keyOf(place.topic, place.partition);
  }

  /** A partition that went to another member is read there. */
  holds({ partition }: Handle): boolean {
    return !partition.lost;
  }

  assertOpen(): void {
    this.inbox.throwIfFailed();
  }

  async close(graceful: boolean): Promise<void> {
    this.closing.abort();
    this.room.resolve();
    // Without a leave the other members wait until this member's session times out. A lost broker gets no commit.
    const leaving = (graceful ? this.group.commit() : Promise.resolve()).then(() => this.group.leave());
    await atMost(this.clock, LEAVE_MS, leaving).catch(() => undefined);
    await Promise.all([this.group.drop(), this.admin.close()].map((closing) => closing.catch(() => undefined)));
  }
}

function mayNot(verb: string, topic: string, { sasl }: KafkaConfig): KafkaFault {
  const user = sasl === undefined ? "the user" : `the user ${sasl.username}`;
  return new KafkaFault(
    "KAFKA_TOPIC_AUTHORIZATION_FAILED",
    `${user} may not ${verb} topic ${topic}: allow ${verb} on it`,
  );
}

function missingTopic({ name, errorCode }: TopicFacts, config: KafkaConfig): KafkaFault {
  if (errorCode === TOPIC_AUTHORIZATION_FAILED) return mayNot("DESCRIBE", name, config);
  const where = config.bootstrap.join(", ");
  return new KafkaFault("KAFKA_UNKNOWN_TOPIC_OR_PARTITION", `topic ${name} does not exist on ${where}`);
}
