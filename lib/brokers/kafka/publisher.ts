import { type Admin, type BaseOptions, ProduceAcks, Producer } from "@platformatic/kafka";
import { abortable } from "@/lib/brokers/abortable";
import { BatchedPublisher, type BatchOutcome } from "@/lib/brokers/batched-publisher";
import { adminOf, clientOf, clusterFacts, type TopicFacts } from "@/lib/brokers/kafka/client";
import { connectFailed, describeKafka, kafkaCode, partitionErrors, protocolFault } from "@/lib/brokers/kafka/fault";
import { fetchFrom } from "@/lib/brokers/kafka/fetch";
import type { KafkaConfig } from "@/lib/brokers/kafka/kind.shapes";
import { type KafkaOutbound, outboundOf, partitionOf, produced } from "@/lib/brokers/kafka/outbound";
import { type KafkaRecord, recordsOf } from "@/lib/brokers/kafka/record-batch";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { probed } from "@/lib/brokers/probe-sample";
import { atMost } from "@/lib/platform/clock";
import { recordPlace } from "@/lib/platform/plain/dead-letter.pure";

/** Records of one send at most, and bytes of one partition in it: a broker refuses a batch beyond 1 MiB by default. */
const BATCH_MAX = 1_000;
const PARTITION_BYTES_MAX = 900_000;
/** One send at a time: a failed first of two would be retried behind the second, and the order of a key would be lost. */
const IN_FLIGHT_MAX = 1;
const SEND_MS_DEFAULT = 8_000;
const SEND_REPEAT_MS = 250;
/** How long `close` waits for sends that are on their way. */
const CLOSE_GRACE_MS = 5_000;
/** How long topics count as known: a redrive writes many records to few topics. */
const TOPICS_KNOWN_MS = 30_000;
const SOURCE_FETCH = { maxBytes: 1_048_576, maxWaitMs: 500 };

/** MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE: said of a whole batch, of which one record may be at fault. */
const TOO_LARGE = new Set([10, 18]);
/** The broker may have written the record: UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND. */
const MAYBE_WRITTEN = new Set([-1, 7, 20]);

type Placed = { outbound: KafkaOutbound; partition: number };
type Known = { untilMs: number; partitions: Promise<TopicFacts> };

export type KafkaDeps = AdapterDeps & {
  /** Time limit of a send with its repeats, which carry the same sequence numbers. Afterwards the outcome is unknown. */
  sendMs?: number;
};

/** Publishes with acks=all through an idempotent producer, many at a time in one request. */
export class KafkaPublisher implements Publisher {
  private readonly config: KafkaConfig;
  private readonly lane: "main" | "slow";
  private readonly deps: KafkaDeps;
  private readonly sendMs: number;
  private readonly batched: BatchedPublisher;
  private readonly ready = new WeakMap<OutboundMessage, KafkaOutbound>();
  private readonly topics = new Map<string, Known>();
  private producer: Producer | null = null;
  private admin: Admin | null = null;
  private connecting: Promise<void> | null = null;
  private closed = false;
  /** Records without a key and without an origin partition go round. */
  private round = 0;
  private sending: Promise<unknown> = Promise.resolve();

  constructor(config: KafkaConfig, lane: "main" | "slow", deps: KafkaDeps) {
    this.config = config;
    this.lane = lane;
    this.deps = deps;
    this.sendMs = deps.sendMs ?? SEND_MS_DEFAULT;
    this.batched = new BatchedPublisher((batch, signal) => this.publishMany(batch, signal), {
      batchMax: BATCH_MAX,
      inFlightMax: IN_FLIGHT_MAX,
    });
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    if (this.closed) throw new PublishError("KAFKA_CLOSED", "the publisher is closed", { sent: "no" });
    const lostHeaders = message.origin.headersAtSource === true;
    const source = lostHeaders ? await abortable(this.sourceOf(message), signal) : null;
    const outbound = outboundOf(message, this.config, this.lane, source);
    await abortable(this.connect(), signal);
    onPhase?.("connected");
    this.ready.set(message, outbound);
    const receipt = await this.batched.publish(message, signal);
    const { status } = receipt;
    return lostHeaders && source === null
      ? { ...receipt, status: `${status}; its original headers are lost` }
      : receipt;
  }

  /** One look for all that wait: who came first goes on first. */
  private connect(): Promise<void> {
    if (this.connecting === null && this.open().isConnected()) return Promise.resolve();
    this.connecting ??= this.dial().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async dial(): Promise<void> {
    try {
      await clusterFacts(this.open(), []); // one try, unlike the client's own
    } catch (error) {
      throw new PublishError(kafkaCode(error), describeKafka(error, this.config), { sent: "no", cause: error });
    }
  }

  private open(): Producer {
    const make = (options: BaseOptions) =>
      new Producer({
        ...options,
        retries: this.sendMs / SEND_REPEAT_MS,
        retryDelay: SEND_REPEAT_MS,
        idempotent: true,
        acks: ProduceAcks.ALL,
        compression: this.config.compression ?? "none",
      });
    this.producer ??= clientOf(this.config, `redrive-${this.lane}`, this.deps, make);
    return this.producer;
  }

  private async publishMany(batch: readonly OutboundMessage[], signal: AbortSignal): Promise<BatchOutcome[]> {
    const producer = this.open();
    let ended = false;
    // Nobody waits for this batch any more, and the next one waits behind it: the connections are made anew.
    signal.addEventListener("abort", () => {
      if (!ended) this.retire(producer);
    });
    const outcomes: (BatchOutcome | undefined)[] = batch.map(() => undefined);
    const work = this.sendAll(
      producer,
      batch.map((message) => this.ready.get(message)!),
      outcomes,
    );
    this.sending = work;
    try {
      await work;
    } finally {
      ended = true;
    }
    return outcomes.map((outcome) => outcome!);
  }

  private retire(producer: Producer): void {
    if (this.producer === producer) this.producer = null;
    producer.close().catch(() => undefined); // its sends fail
  }

  /** Sends in parts that a broker takes. What failed of a partition holds what comes behind it in this batch. */
  private async sendAll(
    producer: Producer,
    records: readonly KafkaOutbound[],
    outcomes: (BatchOutcome | undefined)[],
  ): Promise<void> {
    const placed = await Promise.all(
      records.map((outbound, index) =>
        this.place(outbound).catch((error: PublishError) => {
          outcomes[index] = error;
          return null;
        }),
      ),
    );
    const failed = new Map<string, PublishError>();
    let part: number[] = [];
    const bytes = new Map<string, number>();
    const flush = async () => {
      const indexes = part.filter((index) => {
        const held = failed.get(placeText(placed[index]!));
        if (held !== undefined)
          outcomes[index] = new PublishError(held.code, held.message, { sent: "no", cause: held });
        return held === undefined;
      });
      part = [];
      bytes.clear();
      if (indexes.length === 0) return;
      for (const [at, outcome] of (
        await this.sendPart(
          producer,
          indexes.map((index) => placed[index]!),
        )
      ).entries()) {
        outcomes[indexes[at]!] = outcome;
        if (outcome instanceof PublishError && !/_TOO_LARGE$/.test(outcome.code))
          failed.set(placeText(placed[indexes[at]!]!), outcome);
      }
    };
    for (const [index, one] of placed.entries()) {
      if (one === null) continue;
      const key = placeText(one);
      const size = sizeOf(one.outbound);
      if ((bytes.get(key) ?? 0) > 0 && bytes.get(key)! + size > PARTITION_BYTES_MAX) await flush();
      bytes.set(key, (bytes.get(key) ?? 0) + size);
      part.push(index);
    }
    await flush();
  }

  private async place(outbound: KafkaOutbound): Promise<Placed> {
    const { topic, key } = outbound;
    const { leaders } = await this.topic(topic);
    if (outbound.partition !== null) {
      if (outbound.partition < leaders.length) return { outbound, partition: outbound.partition };
      throw new PublishError(
        "KAFKA_UNKNOWN_PARTITION",
        `topic ${topic} has no partition ${outbound.partition}: set redriveTo.partition to key`,
        { sent: "no" },
      );
    }
    if (key !== null) return { outbound, partition: partitionOf(key, leaders.length) };
    this.round += 1;
    return { outbound, partition: this.round % leaders.length };
  }

  /** Rejects with PublishError when the topic is missing. */
  private topic(name: string): Promise<TopicFacts> {
    const known = this.topics.get(name);
    if (known !== undefined && known.untilMs > this.deps.clock.nowMs()) return known.partitions;
    const partitions = this.lookUp(name);
    this.topics.set(name, { untilMs: this.deps.clock.nowMs() + TOPICS_KNOWN_MS, partitions });
    partitions.catch(() => this.topics.delete(name));
    return partitions;
  }

  private async lookUp(name: string): Promise<TopicFacts> {
    let facts: TopicFacts | undefined;
    try {
      [facts] = (await clusterFacts(this.open(), [name])).topics;
    } catch (error) {
      throw new PublishError(kafkaCode(error), describeKafka(error, this.config), { sent: "no", cause: error });
    }
    if (facts !== undefined && facts.errorCode === 0) return facts;
    const fault = protocolFault(facts?.errorCode ?? 3, `cannot write to topic ${name}`);
    throw new PublishError(fault.code, fault.message, { sent: "no" });
  }

  private async sendPart(producer: Producer, part: readonly Placed[]): Promise<BatchOutcome[]> {
    if (this.producer !== producer) return part.map(() => this.neverSent());
    // Its connections are closed, so that the send fails.
    const stopTimer = this.deps.clock.timer(this.sendMs, () => this.retire(producer));
    try {
      const { offsets } = await producer.send({
        messages: part.map(({ outbound, partition }) => produced(outbound, partition)),
      });
      return receipts(part, offsets ?? []);
    } catch (error) {
      return await this.afterFailure(producer, part, error);
    } finally {
      stopTimer();
    }
  }

  /** The outcome of each record after a send that failed as a whole: the broker answers for each partition. */
  private async afterFailure(producer: Producer, part: readonly Placed[], error: unknown): Promise<BatchOutcome[]> {
    const errors = partitionErrors(error);
    const written = (error as { produced?: { offsets?: Offset[] } }).produced?.offsets ?? [];
    const outcomes: BatchOutcome[] = [];
    const ok = receipts(part, [...written, ...errors.filter(({ errorCode }) => errorCode === 0)]);
    for (const [index, one] of part.entries()) {
      const place = placeText(one);
      const refused = errors.find((other) => other.errorCode !== 0 && placeText(other) === place);
      if (refused === undefined) {
        const arrived = [...written, ...errors].some((other) => placeText(other) === place);
        outcomes.push(arrived ? ok[index]! : this.unanswered(error));
      } else if (TOO_LARGE.has(refused.errorCode) && part.filter((other) => placeText(other) === place).length > 1) {
        // One after the other, in their order: only the record that is too large fails.
        outcomes.push(...(await this.sendPart(producer, [one])));
      } else outcomes.push(this.refused(one, refused.errorCode, error));
    }
    return outcomes;
  }

  private refused({ outbound }: Placed, errorCode: number, cause: unknown): PublishError {
    const fault = protocolFault(errorCode, `topic ${outbound.topic} refuses the record`);
    const sent = MAYBE_WRITTEN.has(errorCode) ? "maybe" : "no";
    const size = TOO_LARGE.has(errorCode)
      ? ` (${sizeOf(outbound)} bytes, more than max.message.bytes of the topic)`
      : errorCode === TOPIC_AUTHORIZATION_FAILED
        ? `: allow WRITE on it`
        : "";
    return new PublishError(fault.code, fault.message + size, { sent, cause });
  }

  /** The connections were closed while an earlier part was under way: this part has not left. */
  private neverSent(): PublishError {
    const where = this.config.bootstrap.join(", ");
    return new PublishError("KAFKA_NETWORK_EXCEPTION", `lost ${where} before this record was sent`, { sent: "no" });
  }

  private unanswered(error: unknown): PublishError {
    const sent = connectFailed(error) ? "no" : "maybe";
    return new PublishError(kafkaCode(error), describeKafka(error, this.config), { sent, cause: error });
  }

  /** The record that a dead letter refers to; null when its topic does not hold it any more. */
  private async sourceOf({ origin }: OutboundMessage): Promise<KafkaRecord | null> {
    const { topic, partition, offset } = origin;
    if (topic === undefined || partition === undefined || offset === undefined || !/^\d{1,19}$/.test(offset))
      return null;
    try {
      this.admin ??= adminOf(this.config, "redrive-source", this.deps);
      const { topics, brokers } = await clusterFacts(this.admin, [topic]);
      const leader = topics[0]?.leaders[partition];
      const broker = leader === null || leader === undefined ? undefined : brokers.get(leader);
      if (topics[0]?.errorCode !== 0 || broker === undefined) return null;
      const from = { topic, topicId: topics[0].id, partition, offset: BigInt(offset) };
      const [fetched] = await fetchFrom(this.admin, broker, [from], SOURCE_FETCH);
      for (const batch of fetched?.batches ?? []) {
        const record = readable(batch, from).find((one) => one.offset === from.offset);
        if (record !== undefined) return record;
      }
      return null;
    } catch (error) {
      if (error instanceof PublishError) throw error;
      const code = kafkaCode(error);
      throw new PublishError(code, `cannot read the original record: ${describeKafka(error, this.config)}`, {
        sent: "no",
        cause: error,
      });
    }
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const where = this.config.bootstrap.join(", ");
    const { redriveTo, slowLaneTopic } = this.config;
    const fixed = (this.lane === "slow" ? slowLaneTopic : undefined) ?? redriveTo?.topic;
    return probed(signal, async () => {
      await abortable(this.connect(), signal);
      if (fixed === undefined) return { detail: `connected to ${where}` };
      const { leaders } = await abortable(this.topic(fixed), signal);
      const partitions = `${leaders.length} partition${leaders.length === 1 ? "" : "s"}`;
      return { detail: `connected to ${where}, topic ${fixed} with ${partitions}` };
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    await atMost(this.deps.clock, CLOSE_GRACE_MS, this.sending).catch(() => undefined);
    // A client that never connected has nothing to close.
    await Promise.all([this.producer?.close(), this.admin?.close()].map((closing) => closing?.catch(() => undefined)));
  }
}

type Offset = { topic: string; partition: number; offset: bigint };

const TOPIC_AUTHORIZATION_FAILED = 29;

function placeText(place: Placed | Omit<Offset, "offset">): string {
  return "outbound" in place ? `${place.outbound.topic} [${place.partition}]` : `${place.topic} [${place.partition}]`;
}

/** The broker names the offset of the first record of each partition. */
function receipts(part: readonly Placed[], offsets: readonly Offset[]): PublishReceipt[] {
  const next = new Map(offsets.map((one) => [placeText(one), one.offset]));
  return part.map((one) => {
    const place = placeText(one);
    const offset = next.get(place);
    if (offset !== undefined && offset >= 0n) next.set(place, offset + 1n);
    if (offset === undefined || offset < 0n) return { status: place };
    const record = recordPlace({ topic: one.outbound.topic, partition: one.partition, offset: String(offset) })!;
    return { status: record, record };
  });
}

/** Bytes of a record, nearly: lengths and deltas are some more. */
function sizeOf({ key, value, headers }: KafkaOutbound): number {
  let size = (key?.length ?? 0) + (value?.length ?? 0) + 32;
  for (const [name, content] of headers) size += name.length + (content?.length ?? 0) + 8;
  return size;
}

/** The records of the batch that holds an original record. Damaged or too large it stays so: that is no outage. */
function readable(
  batch: Parameters<typeof recordsOf>[0],
  { topic, partition, offset }: { topic: string; partition: number; offset: bigint },
): KafkaRecord[] {
  try {
    return recordsOf(batch);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const place = `${topic} [${partition}] at ${offset}`;
    throw new PublishError("KAFKA_UNREADABLE", `the original record in ${place} cannot be read: ${why}`, {
      sent: "no",
      cause: error,
    });
  }
}
