import type { Redis } from "ioredis";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { everyHeader } from "@/lib/brokers/outbound-headers";
import { poll } from "@/lib/brokers/poll";
import {
  type Adapter,
  type AdapterDeps,
  type Lag,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type Reader,
  type ReadSession,
  type Taken,
} from "@/lib/brokers/port";
import { SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";
import { addressOf, connectRedis, describeRedis, probeRedis, redisCode } from "@/lib/brokers/redis-connection";
import { RedisPublisher } from "@/lib/brokers/redis-publisher";
import { messageOf, redrivenJob } from "@/lib/brokers/sidekiq/job";
import { type SidekiqConfig, sidekiq } from "@/lib/brokers/sidekiq/kind.shapes";
import type { Clock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const BATCH_MAX = 250;
const POLL_MS = 500;

/** Sidekiq: takes jobs out of the dead set; a redrive does what Sidekiq's own retry of a dead job does. */
export function sidekiqAdapter(deps: AdapterDeps): Adapter<SidekiqConfig> {
  return {
    reader: (config) => reader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config, lane = "main") => sidekiqPublisher(config, lane, deps),
    leftOut: (_, message) => everyHeader(message),
  };
}

const keyOf = ({ namespace }: SidekiqConfig, name: string) => (namespace === undefined ? name : `${namespace}:${name}`);

function failureText(error: unknown, config: SidekiqConfig): string {
  if (redisCode(error) === "REDIS_WRONGTYPE")
    return `${keyOf(config, "dead")} is not a Sidekiq set on ${addressOf(config)}`;
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

function reader(config: SidekiqConfig, deps: AdapterDeps): Reader<Buffer> {
  return {
    what: sidekiq.reads(config)!,
    batchMax: BATCH_MAX,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const redis = await connectRedis(config, { name: "parkade-source", signal }, deps);
      try {
        // A missing permission is found now, and not with the first job. No member is empty.
        await redis.zrem(keyOf(config, "dead"), "");
        return new DeadSetSession(redis, config, deps.clock);
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

async function probe(config: SidekiqConfig, deps: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const look = async (redis: Redis) => {
    const depth = await redis.zcard(keyOf(config, "dead"));
    await redis.zrem(keyOf(config, "dead"), "");
    const jobs = await deadJobs(redis, config, SAMPLE_MAX);
    const detail = `connected to ${addressOf(config)}, ${sidekiq.reads(config)}`;
    return { detail, depth, sample: jobs.map((job) => sampleOf(letterOf(job, config))) };
  };
  return probeRedis(config, deps, { signal, look, failureText: (error) => failureText(error, config) });
}

/** Puts jobs back: out of the dead set, should one still be there, and into its queue. */
function sidekiqPublisher(config: SidekiqConfig, lane: "main" | "slow", deps: AdapterDeps): Publisher {
  const wanted = (lane === "slow" ? config.slowLaneQueue : undefined) ?? config.redriveTo?.queue;
  const push = (message: OutboundMessage) => {
    const job = redrivenJob(message, { queue: wanted, nowMs: deps.clock.wallMs() });
    if (job === null)
      throw new PublishError("SIDEKIQ_NOT_A_JOB", "the payload is no Sidekiq job: it needs class, args and queue", {
        sent: "no",
      });
    const { sidekiqMember } = message.origin;
    return async (redis: Redis) => {
      const transaction = redis.multi();
      if (typeof sidekiqMember === "string") transaction.zrem(keyOf(config, "dead"), sidekiqMember);
      transaction.sadd(keyOf(config, "queues"), job.queue);
      transaction.lpush(keyOf(config, `queue:${job.queue}`), job.json);
      const results = (await transaction.exec()) ?? [];
      // Redis undoes nothing: once the job is in its queue it was sent, whatever became of the list of queues.
      const [refused] = results.at(-1) ?? [];
      if (refused) throw refused;
      return { status: `queue ${job.queue}` };
    };
  };
  const describe = (error: unknown) => failureText(error, config);
  return new RedisPublisher(config, { of: push, describe, doubt: "the job may have been queued" }, deps);
}
