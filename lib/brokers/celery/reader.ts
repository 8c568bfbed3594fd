import { randomUUID } from "node:crypto";
import type { ChainableCommander, Redis } from "ioredis";
import { letterOf } from "@/lib/brokers/celery/envelope";
import { listsOf, ownKeys } from "@/lib/brokers/celery/keys";
import { type CeleryConfig, celery } from "@/lib/brokers/celery/kind.shapes";
import { poll } from "@/lib/brokers/poll";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { addressOf, connectRedis, describeRedis, RedisFailure, redisCode } from "@/lib/brokers/redis-connection";
import { atMost, type Clock } from "@/lib/platform/clock";

const BATCH_MAX = 250;
const POLL_MS = 500;
/** What a reader holds goes back to the queue when the reader has not shown itself for so long. */
const LEASE_MS = 15_000;
const CLOSE_MS = 2_000;

export function failureText(error: unknown, config: CeleryConfig): string {
  if (redisCode(error) === "REDIS_WRONGTYPE")
    return `the key of the queue on ${addressOf(config)} is not a list, so Kombu did not create it`;
  return describeRedis(error, config);
}

/** Messages that lie in the queue, and those that readers hold. */
export async function countWaiting(redis: Redis, config: CeleryConfig): Promise<number> {
  const own = ownKeys(config);
  const owners = await redis.smembers(own.owners);
  const lengths = redis.pipeline();
  for (const list of [...listsOf(config), ...owners.map(own.held)]) lengths.llen(list);
  return (await done<number>(lengths)).reduce((total, length) => total + length, 0);
}

/** Each command that reading needs, in a form that changes nothing: one that is refused is found now, by its name. */
export async function assertReadable(redis: Redis, config: CeleryConfig): Promise<void> {
  const [queue, own] = [listsOf(config)[0]!, ownKeys(config)];
  const none = own.held("none");
  await redis.lrange(queue, 0, 0);
  await redis.lmove(none, queue, "LEFT", "RIGHT");
  await redis.lrem(none, -1, "");
  await redis.set(own.lease("none"), "1", "PX", LEASE_MS, "XX");
  await redis.srem(own.owners, "none");
  await redis.exists(none);
  await redis.del(none);
  await redis.watch(none);
  await redis.unwatch();
}

export function celeryReader(config: CeleryConfig, deps: AdapterDeps): Reader<Buffer> {
  // The same for all sessions: one that has lost its connection finds again what it held.
  const owner = randomUUID();
  return {
    what: celery.reads(config)!,
    batchMax: BATCH_MAX,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const redis = await connectRedis(config, { name: "parkade-source", signal }, deps);
      try {
        await assertReadable(redis, config);
        const session = new QueueSession(redis, config, owner, deps.clock);
        await session.register();
        return session;
      } catch (error) {
        redis.disconnect();
        throw error;
      }
    },
    describe: (error) => failureText(error, config),
  };
}

/** The replies of a pipeline or transaction; none when the transaction was cut off by a watched key. */
async function done<T>(commands: ChainableCommander): Promise<T[]> {
  return ((await commands.exec()) ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply as T;
  });
}

/** Moves messages into a list of its own until they are acknowledged. A handle is the message: only the same bytes are removed. */
class QueueSession implements ReadSession<Buffer> {
  readonly inHandMax = Number.POSITIVE_INFINITY;
  private readonly redis: Redis;
  private readonly config: CeleryConfig;
  private readonly owner: string;
  private readonly clock: Clock;
  private readonly keys: ReturnType<typeof ownKeys>;
  /** How often each message was handed out: equal ones may lie in a queue. */
  private readonly inHand = new Map<string, number>();
  private readonly ended = new AbortController();
  /** When it looks next for messages that were taken and that nobody has in hand. */
  private othersAtMs = 0;
  private lost: unknown = null;

  constructor(redis: Redis, config: CeleryConfig, owner: string, clock: Clock) {
    this.redis = redis;
    this.config = config;
    this.owner = owner;
    this.clock = clock;
    this.keys = ownKeys(config);
    redis.on("close", () => {
      this.ended.abort();
      this.lost ??= new RedisFailure("ECONNRESET", `lost ${addressOf(config)}`);
    });
    void this.keepLease();
  }

  /** No transaction: one would end the watch of `takeBack`, which may be under way. */
  async register(): Promise<void> {
    await this.redis.sadd(this.keys.owners, this.owner);
    await this.redis.set(this.keys.lease(this.owner), "1", "PX", LEASE_MS);
  }

  private async keepLease(): Promise<void> {
    const { signal } = this.ended;
    while (!signal.aborted) {
      await this.clock.sleep(LEASE_MS / 3, signal).catch(() => undefined); // the session ended
      if (!signal.aborted) await this.register().catch(() => undefined); // its next command fails as well
    }
  }

  take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<Buffer>[]> {
    return poll(() => this.look(max), { clock: this.clock, signal, everyMs: POLL_MS, withinMs });
  }

  private async look(max: number): Promise<Taken<Buffer>[]> {
    this.assertOpen();
    if (this.clock.nowMs() >= this.othersAtMs) {
      const held = await this.heldFromBefore();
      if (held.length > 0) return this.handOut(held.slice(0, max));
      await this.takeBack();
      this.othersAtMs = this.clock.nowMs() + LEASE_MS / 3;
    }
    return this.handOut(await this.claim(max));
  }

  private handOut(messages: Buffer[]): Taken<Buffer>[] {
    return messages.map((message) => {
      const key = message.toString("latin1");
      this.inHand.set(key, (this.inHand.get(key) ?? 0) + 1);
      return { letter: letterOf(message, this.config), handle: message, deliveries: 0 };
    });
  }

  /** What this reader took over an earlier connection, oldest first. */
  private async heldFromBefore(): Promise<Buffer[]> {
    const handedOut = new Map(this.inHand);
    const held = await this.redis.lrangeBuffer(this.keys.held(this.owner), 0, -1);
    return held.reverse().filter((message) => {
      const key = message.toString("latin1");
      const count = handedOut.get(key) ?? 0;
      handedOut.set(key, count - 1);
      return count <= 0;
    });
  }

  private async claim(max: number): Promise<Buffer[]> {
    const lists = listsOf(this.config);
    const lengths = this.redis.pipeline();
    for (const list of lists) lengths.llen(list);
    const moves = (await done<number>(lengths)).flatMap((length, at) =>
      Array.from({ length: Math.min(length, max) }, () => lists[at]!),
    );
    if (moves.length === 0) return [];
    // In one transaction, so that nobody finds messages of a reader that is not registered.
    const claiming = this.redis.multi().sadd(this.keys.owners, this.owner);
    claiming.set(this.keys.lease(this.owner), "1", "PX", LEASE_MS);
    for (const list of moves.slice(0, max)) claiming.lmoveBuffer(list, this.keys.held(this.owner), "RIGHT", "LEFT");
    const [, , ...claimed] = await done<Buffer | null>(claiming);
    return claimed.filter((message) => message !== null);
  }

  /** Puts what dead readers held back into the queue. Stops where a reader turns out to be alive. */
  private async takeBack(): Promise<void> {
    const { redis, keys } = this;
    for (const owner of await redis.smembers(keys.owners)) {
      if (owner === this.owner) continue;
      await redis.watch(keys.lease(owner), keys.held(owner));
      if ((await redis.exists(keys.lease(owner))) === 1) await redis.unwatch();
      else await this.giveBack(owner);
    }
  }

  /** The newest first: the oldest is then the next to be read again. */
  private async giveBack(owner: string): Promise<void> {
    const { redis, keys } = this;
    const count = await redis.llen(keys.held(owner));
    const giving = redis.multi().del(keys.lease(owner)).srem(keys.owners, owner);
    for (let n = 0; n < count; n += 1) giving.lmove(keys.held(owner), listsOf(this.config)[0]!, "LEFT", "RIGHT");
    await done(giving);
  }

  async acknowledge(messages: readonly Buffer[]): Promise<void> {
    const removing = this.redis.pipeline();
    for (const message of messages) removing.lrem(this.keys.held(this.owner), -1, message);
    await done(removing);
    for (const message of messages) {
      const key = message.toString("latin1");
      const count = this.inHand.get(key) ?? 0;
      if (count > 1) this.inHand.set(key, count - 1);
      else this.inHand.delete(key);
    }
  }

  async lag(): Promise<Lag> {
    return { total: await countWaiting(this.redis, this.config), parts: [] };
  }

  assertOpen(): void {
    if (this.lost !== null) throw this.lost;
  }

  async close(graceful: boolean): Promise<void> {
    this.ended.abort();
    // A server that does not answer keeps the messages until another reader finds the lease gone.
    if (graceful && this.lost === null)
      await atMost(this.clock, CLOSE_MS, this.giveBack(this.owner)).catch(() => undefined);
    this.redis.disconnect();
  }
}
