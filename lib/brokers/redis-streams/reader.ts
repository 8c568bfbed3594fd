import type { Redis } from "ioredis";
import { readDeadLetter, readInTurns } from "@/lib/brokers/conventions/read-dead-letter";
import { poll } from "@/lib/brokers/poll";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { addressOf, connectRedis, describeRedis, RedisFailure } from "@/lib/brokers/redis-connection";
import { type Entry, entriesOf, messageOf } from "@/lib/brokers/redis-streams/entry";
import { type RedisStreamsConfig, redisStreams } from "@/lib/brokers/redis-streams/kind.shapes";
import { atMost, type Clock } from "@/lib/platform/clock";

const BATCH_MAX = 500;
/** How often it looks when there was nothing. A blocking read would hold the connection that asks for the lag. */
const POLL_MS = 250;
/** Counting further than this costs the server more than the exact figure is worth. */
const LAG_COUNT_MAX = 100_000;
const PENDING_PAGE = 1_000;
/** The name under which entries are taken over; the group shows it beside its own consumers. */
const CONSUMER = "parkade";
/** No entry has been idle for so long: a hundred years. */
const NEVER_IDLE_MS = String(100 * 365 * 86_400_000);
/** The group under which a dead-letter stream is read. */
const OWN_GROUP = "parkade";

/** The group and whether entries must have been delivered too often. */
export function groupOf({ read, group, stream }: RedisStreamsConfig): string {
  if (group !== undefined) return group;
  if (read === "stream") return OWN_GROUP;
  throw new RedisFailure(
    "REDIS_NO_GROUP",
    `which consumer group of ${stream} is read? Set group in the source's configuration`,
  );
}

export function redisStreamsReader(config: RedisStreamsConfig, deps: AdapterDeps): Reader<string> {
  return {
    what: redisStreams.reads(config)!,
    batchMax: BATCH_MAX,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const group = groupOf(config);
      const redis = await connectRedis(config, { name: "parkade-source", signal }, deps);
      try {
        await assertReadable(redis, config, group);
        return new StreamSession(redis, config, group, deps.clock);
      } catch (error) {
        redis.disconnect();
        throw error;
      }
    },
    describe: (error) => describeRedis(error, config),
  };
}

/**
 * Throws when the stream cannot be read as it is configured: missing, of another type, or without permission for one of
 * the commands. Makes Parkade's own group on a dead-letter stream, and nothing else.
 */
export async function assertReadable(redis: Redis, config: RedisStreamsConfig, group: string): Promise<void> {
  const { stream } = config;
  const where = addressOf(config);
  if ((await redis.exists(stream)) === 0)
    throw new RedisFailure("REDIS_NO_STREAM", `stream ${stream} does not exist on ${where}`);
  const groups = ((await redis.call("XINFO", "GROUPS", stream)) as unknown[][]).map((fields) => String(fields[1]));
  if (!groups.includes(group)) {
    if (config.read !== "stream")
      throw new RedisFailure("REDIS_NO_GROUP", `stream ${stream} on ${where} has no consumer group ${group}`);
    await redis.call("XGROUP", "CREATE", stream, group, "0");
  }
  // Each command in a form that changes nothing: a missing permission is found now, and not with the first message.
  await redis.call("XACK", stream, group, "0-0");
  if (config.read === "stream") {
    await redis.call("XREADGROUP", "GROUP", group, CONSUMER, "COUNT", "1", "STREAMS", stream, "0");
    await redis.call("XAUTOCLAIM", stream, group, CONSUMER, NEVER_IDLE_MS, "0", "COUNT", "1", "JUSTID");
  } else {
    await redis.call("XPENDING", stream, group);
    await redis.call("XCLAIM", stream, group, CONSUMER, NEVER_IDLE_MS, "0-1", "JUSTID");
  }
}

type Pending = { id: string; deliveries: number };

/** Entries of a group that nobody has acknowledged, from an id on, oldest first. Binary-safe where it matters. */
export async function pendingEntries(
  redis: Redis,
  {
    stream,
    group,
    minIdleMs,
    from = "-",
    count,
  }: { stream: string; group: string; minIdleMs: number; from?: string; count: number },
): Promise<Pending[]> {
  const args = ["IDLE", String(minIdleMs), from, "+", String(count)];
  const rows = (await redis.call("XPENDING", stream, group, ...args)) as [string, string, number, number][];
  return rows.map(([id, , , deliveries]) => ({ id, deliveries }));
}

/** One connection. Its handles are entry ids. */
class StreamSession implements ReadSession<string> {
  readonly inHandMax = Number.POSITIVE_INFINITY;
  readonly keepsAcknowledged = true;
  readonly readsAhead = true;
  private readonly inHand = new Set<string>();
  private readonly redis: Redis;
  private readonly config: RedisStreamsConfig;
  private readonly group: string;
  private readonly clock: Clock;
  private lost: unknown = null;

  constructor(redis: Redis, config: RedisStreamsConfig, group: string, clock: Clock) {
    this.redis = redis;
    this.config = config;
    this.group = group;
    this.clock = clock;
    redis.on("close", () => {
      this.lost ??= new RedisFailure("ECONNRESET", `lost ${addressOf(config)}`);
    });
  }

  take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<string>[]> {
    const look = () => {
      this.assertOpen();
      return this.config.read === "stream" ? this.readNew(max) : this.claim(max);
    };
    return poll(look, { clock: this.clock, signal, everyMs: POLL_MS, withinMs });
  }

  /** Entries that were delivered too often. The server checks the idle time again: nobody else has them meanwhile. */
  private async claim(max: number): Promise<Taken<string>[]> {
    const { stream, deliveryLimit, minIdleMs } = this.config;
    const dead: Pending[] = [];
    let from = "-";
    for (;;) {
      const page = await pendingEntries(this.redis, {
        stream,
        group: this.group,
        minIdleMs,
        from,
        count: PENDING_PAGE,
      });
      dead.push(...page.filter(({ id, deliveries }) => deliveries >= deliveryLimit && !this.inHand.has(id)));
      if (page.length < PENDING_PAGE || dead.length >= max) break;
      from = `(${page.at(-1)!.id}`;
    }
    const batch = dead.slice(0, max);
    if (batch.length === 0) return [];
    const entries = await this.takeOver(batch, minIdleMs);
    const deliveries = new Map(batch.map((one) => [one.id, one.deliveries]));
    return this.taken(entries, (id) => deliveries.get(id) ?? deliveryLimit);
  }

  /** Takes entries over. The count of deliveries stays as it was: ours is none. */
  private async takeOver(batch: readonly Pending[], minIdleMs: number): Promise<Entry[]> {
    const { stream } = this.config;
    const ids = batch.map(({ id }) => id);
    const reply = await this.redis.callBuffer("XCLAIM", stream, this.group, CONSUMER, String(minIdleMs), ...ids);
    const entries = entriesOf(reply);
    // XCLAIM counts a delivery for each entry it hands out; set back, so that the count says what consumers did. An entry
    // that it did not hand out has gone to another consumer since it was listed, and stays there.
    const counts = this.redis.pipeline();
    const claimed = new Set(entries.map(({ id }) => id));
    for (const { id, deliveries } of batch.filter((one) => claimed.has(one.id)))
      counts.call("XCLAIM", stream, this.group, CONSUMER, "0", id, "RETRYCOUNT", String(deliveries), "JUSTID");
    await counts.exec();
    return entries;
  }

  /** New entries of a dead-letter stream, and those that a worker which is gone has left. */
  private async readNew(max: number): Promise<Taken<string>[]> {
    const { stream, minIdleMs } = this.config;
    const left = await this.redis.callBuffer(
      ...(["XAUTOCLAIM", stream, this.group, CONSUMER, String(minIdleMs), "0", "COUNT", String(max)] as const),
    );
    const again = entriesOf((left as unknown[])[1]).filter(({ id }) => !this.inHand.has(id));
    if (again.length > 0) return this.taken(again, () => null);
    const reply = (await this.redis.callBuffer(
      ...(["XREADGROUP", "GROUP", this.group, CONSUMER, "COUNT", String(max), "STREAMS", stream, ">"] as const),
    )) as [Buffer, unknown][] | null;
    return this.taken(entriesOf(reply?.[0]?.[1]), () => null);
  }

  private taken(entries: readonly Entry[], deliveriesOf: (id: string) => number | null): Promise<Taken<string>[]> {
    for (const { id } of entries) this.inHand.add(id);
    const { stream, payloadField, mapping = {} } = this.config;
    const read = (entry: Entry) => {
      const deliveries = deliveriesOf(entry.id);
      const message = messageOf(entry, { stream, group: this.group, payloadField, deliveries });
      return { letter: readDeadLetter(message, mapping), handle: entry.id, deliveries: 0 };
    };
    return readInTurns(entries, read, this.clock);
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    await this.redis.call("XACK", this.config.stream, this.group, ...ids);
    for (const id of ids) this.inHand.delete(id);
  }

  async lag(): Promise<Lag> {
    return { total: await countDead(this.redis, this.config, this.group), parts: [] };
  }

  assertOpen(): void {
    if (this.lost !== null) throw this.lost;
  }

  /** What was not acknowledged may be taken over at once, and not only after the idle time. */
  async close(graceful: boolean): Promise<void> {
    const { stream, minIdleMs } = this.config;
    if (graceful && this.lost === null && this.inHand.size > 0) {
      const giveBack = this.redis.call(
        ...([
          "XCLAIM",
          stream,
          this.group,
          CONSUMER,
          "0",
          ...this.inHand,
          "IDLE",
          String(minIdleMs),
          "JUSTID",
        ] as const),
      );
      // A server that does not answer gives them back by itself, after the idle time.
      await atMost(this.clock, 2_000, giveBack).catch(() => undefined);
    }
    this.redis.disconnect();
  }
}

/** How many entries wait to be parked; null beyond a bound. */
export async function countDead(redis: Redis, config: RedisStreamsConfig, group: string): Promise<number | null> {
  const { stream, deliveryLimit, read } = config;
  if (read === "stream") {
    const groups = (await redis.call("XINFO", "GROUPS", stream)) as unknown[][];
    const facts = groups.find((fields) => fields[1] === group) ?? [];
    const at = (name: string) => facts[facts.indexOf(name) + 1] as number | null;
    const [pending, lag] = [at("pending"), facts.includes("lag") ? at("lag") : null]; // lag: since Redis 7
    return lag === null ? null : (pending ?? 0) + lag;
  }
  let total = 0;
  let from = "-";
  for (;;) {
    const page = await pendingEntries(redis, { stream, group, minIdleMs: 0, from, count: PENDING_PAGE });
    total += page.filter(({ deliveries }) => deliveries >= deliveryLimit).length;
    if (page.length < PENDING_PAGE) return total;
    if (total >= LAG_COUNT_MAX) return null;
    from = `(${page.at(-1)!.id}`;
  }
}
