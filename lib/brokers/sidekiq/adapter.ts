import type { Redis } from "ioredis";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { HeldConnection } from "@/lib/brokers/held-connection";
import { poll } from "@/lib/brokers/poll";
import {
  type Adapter,
  type AdapterDeps,
  type Lag,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishPhase,
  type PublishReceipt,
  type Reader,
  type ReadSession,
  type Taken,
} from "@/lib/brokers/port";
import { SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import {
  addressOf,
  connectRedis,
  describeRedis,
  isReply,
  type RedisFailure,
  redisCode,
} from "@/lib/brokers/redis-connection";
import { messageOf, redrivenJob } from "@/lib/brokers/sidekiq/job";
import type { DeadLetter } from "@/lib/core/dead-letter";
import { type SidekiqConfig, sidekiq } from "@/lib/kinds/sidekiq";
import type { Clock } from "@/lib/platform/clock";

const BATCH_MAX = 250;
const POLL_MS = 500;

/** Sidekiq: takes jobs out of the dead set; a redrive does what Sidekiq's own retry of a dead job does. */
export function sidekiqAdapter(deps: AdapterDeps): Adapter<SidekiqConfig> {
  return {
    reader: (config) => reader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config, lane = "main") => new SidekiqPublisher(config, lane, deps),
  };
}

const keyOf = ({ namespace }: SidekiqConfig, name: string) => (namespace === undefined ? name : `${namespace}:${name}`);

function failureText(error: unknown, config: SidekiqConfig): string {
  if (redisCode(error) === "REDIS_WRONGTYPE")
    return `${keyOf(config, "dead")} is no set of Sidekiq on ${addressOf(config)}`;
  return describeRedis(error, config);
}

type Dead = { member: Buffer; score: number };

/** The dead jobs from a place on, oldest first. */
async function deadJobs(redis: Redis, config: SidekiqConfig, count: number): Promise<Dead[]> {
  const reply = (await redis.callBuffer(
    ...(["ZRANGE", keyOf(config, "dead"), "0", String(count - 1), "WITHSCORES"] as const),
  )) as Buffer[];
  return reply.flatMap((member, at) => (at % 2 === 0 ? [{ member, score: Number(reply[at + 1]) }] : []));
}

function letterOf({ member, score }: Dead, { mapping = {} }: SidekiqConfig): DeadLetter {
  return readDeadLetter(messageOf(member, score), mapping);
}

function reader(config: SidekiqConfig, { clock }: AdapterDeps): Reader<Buffer> {
  return {
    what: sidekiq.reads(config)!,
    batchMax: BATCH_MAX,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const redis = await connectRedis(config, { name: "parkade-source", clock, signal });
      try {
        // A missing permission is found now, and not with the first job. No member is empty.
        await redis.zrem(keyOf(config, "dead"), "");
        return new DeadSetSession(redis, config, clock);
      } catch (error) {
        redis.disconnect();
        throw error;
      }
    },
    describe: (error) => failureText(error, config),
  };
}

/** A handle is the member itself: only the same bytes are removed. */
class DeadSetSession implements ReadSession<Buffer> {
  readonly inHandMax = Number.POSITIVE_INFINITY;
  private readonly redis: Redis;
  private readonly config: SidekiqConfig;
  private readonly clock: Clock;
  private readonly inHand = new Set<string>();
  private lost = false;

  constructor(redis: Redis, config: SidekiqConfig, clock: Clock) {
    this.redis = redis;
    this.config = config;
    this.clock = clock;
    redis.on("close", () => {
      this.lost = true;
    });
  }

  take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<Buffer>[]> {
    return poll(() => this.look(max), { clock: this.clock, signal, everyMs: POLL_MS, withinMs });
  }

  private async look(max: number): Promise<Taken<Buffer>[]> {
    this.assertOpen();
    const jobs = await deadJobs(this.redis, this.config, max + this.inHand.size);
    return jobs
      .filter(({ member }) => !this.inHand.has(member.toString("latin1")))
      .slice(0, max)
      .map((job) => {
        this.inHand.add(job.member.toString("latin1"));
        return { letter: letterOf(job, this.config), handle: job.member, deliveries: 0 };
      });
  }

  async acknowledge(members: readonly Buffer[]): Promise<void> {
    await this.redis.zrem(keyOf(this.config, "dead"), ...members);
    for (const member of members) this.inHand.delete(member.toString("latin1"));
  }

  async lag(): Promise<Lag> {
    return { total: await this.redis.zcard(keyOf(this.config, "dead")), parts: [] };
  }

  assertOpen(): void {
    if (this.lost) throw Object.assign(new Error(`lost ${addressOf(this.config)}`), { code: "ECONNRESET" });
  }

  async close(): Promise<void> {
    this.redis.disconnect();
  }
}

async function probe(config: SidekiqConfig, { clock }: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  let redis: Redis | null = null;
  const stop = () => redis?.disconnect();
  signal.addEventListener("abort", stop, { once: true });
  try {
    redis = await connectRedis(config, { name: "parkade-probe", clock, signal });
    const depth = await redis.zcard(keyOf(config, "dead"));
    await redis.zrem(keyOf(config, "dead"), "");
    const jobs = await deadJobs(redis, config, SAMPLE_MAX);
    const detail = `connected to ${addressOf(config)}, ${sidekiq.reads(config)}`;
    return { reachable: true, detail, depth, sample: jobs.map((job) => sampleOf(letterOf(job, config))) };
  } catch (error) {
    signal.throwIfAborted();
    return { reachable: false, detail: failureText(error, config) };
  } finally {
    signal.removeEventListener("abort", stop);
    redis?.disconnect();
  }
}

type Link = { redis: Redis; suspect: boolean; close(): void };

/** Puts jobs back: out of the dead set, should one still be there, and into its queue, in one transaction. */
class SidekiqPublisher implements Publisher {
  private readonly config: SidekiqConfig;
  private readonly lane: "main" | "slow";
  private readonly clock: Clock;
  private readonly links: HeldConnection<Link>;

  constructor(config: SidekiqConfig, lane: "main" | "slow", { clock }: AdapterDeps) {
    this.config = config;
    this.lane = lane;
    this.clock = clock;
    this.links = new HeldConnection<Link>(
      async (signal) => {
        const redis = await connectRedis(config, { name: "parkade-redrive", clock, signal });
        return { redis, suspect: false, close: () => redis.disconnect() };
      },
      ({ redis, suspect }) => redis.status === "ready" && !suspect,
    );
  }

  async publish(
    message: OutboundMessage,
    signal: AbortSignal,
    onPhase?: (phase: PublishPhase) => void,
  ): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const { config } = this;
    const wanted = (this.lane === "slow" ? config.slowLaneQueue : undefined) ?? config.redriveTo?.queue;
    const job = redrivenJob(message, { queue: wanted, nowMs: this.clock.wallMs() });
    if (job === null)
      throw new PublishError("SIDEKIQ_NOT_A_JOB", "the payload is no Sidekiq job: it needs class, args and queue", {
        sent: "no",
      });
    const link = await this.open(signal);
    onPhase?.("connected");
    const { promise, reject } = Promise.withResolvers<never>();
    const aborted = () => {
      link.suspect = true; // unless it answers
      reject(signal.reason);
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
      const pushing = this.push(link.redis, message, job).finally(() => {
        link.suspect = false;
      });
      pushing.catch(() => undefined); // its caller may have gone
      await Promise.race([pushing, promise]);
      return { status: `queue ${job.queue}` };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const sent = isReply(error) ? "no" : "maybe";
      const tail = sent === "maybe" ? ": the job may have been queued" : "";
      throw new PublishError(redisCode(error), failureText(error, config) + tail, { sent, cause: error });
    } finally {
      signal.removeEventListener("abort", aborted);
    }
  }

  private async push(redis: Redis, { origin }: OutboundMessage, job: { queue: string; json: string }): Promise<void> {
    const transaction = redis.multi();
    if (typeof origin.sidekiqMember === "string") transaction.zrem(keyOf(this.config, "dead"), origin.sidekiqMember);
    transaction.sadd(keyOf(this.config, "queues"), job.queue);
    transaction.lpush(keyOf(this.config, `queue:${job.queue}`), job.json);
    for (const [error] of (await transaction.exec()) ?? []) if (error !== null) throw error;
  }

  private async open(signal: AbortSignal): Promise<Link> {
    if (this.links.closed) throw new PublishError("REDIS_CLOSED", "the publisher is closed", { sent: "no" });
    try {
      return await this.links.use(signal);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = error as RedisFailure;
      throw new PublishError(code, message, { sent: "no", cause: error });
    }
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    try {
      const redis = await connectRedis(this.config, { name: "parkade-probe", clock: this.clock, signal });
      redis.disconnect();
      return { reachable: true, detail: `connected to ${addressOf(this.config)}`, depth: null, sample: [] };
    } catch (error) {
      signal.throwIfAborted();
      return { reachable: false, detail: failureText(error, this.config) };
    }
  }

  close(): Promise<void> {
    return this.links.close();
  }
}
