import type { Redis } from "ioredis";
import { HeldConnection } from "@/lib/brokers/held-connection";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
import {
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishPhase,
  type PublishReceipt,
} from "@/lib/brokers/port";
import {
  addressOf,
  connectRedis,
  describeRedis,
  isReply,
  type RedisFailure,
  redisCode,
} from "@/lib/brokers/redis-connection";
import { PAYLOAD_FIELDS, type RedisStreamsConfig } from "@/lib/kinds/redis-streams";
import type { Clock } from "@/lib/platform/clock";

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

function streamOf(message: OutboundMessage, config: RedisStreamsConfig, lane: "main" | "slow"): string {
  const origin = typeof message.origin.stream === "string" ? message.origin.stream : undefined;
  const own = config.read === "pending" ? config.stream : undefined;
  const stream = (lane === "slow" ? config.slowLaneStream : undefined) ?? config.redriveTo?.stream ?? origin ?? own;
  if (stream !== undefined) return stream;
  throw refuse(
    "REDIS_NO_TARGET",
    "the entry does not tell the stream it came from: set redriveTo.stream in the source's configuration",
  );
}

/** The fields of the new entry: the payload where it was, the headers around it, then the mark. */
function fieldsOf(message: OutboundMessage): (string | Buffer)[] {
  const { origin, payload } = message;
  if (Array.isArray(origin.rawFields))
    throw refuse("REDIS_UNREADABLE", "a field's name is no text, so the entry cannot be written again");
  const fields = outboundHeaders(message).map(([name, value]): [string, Buffer] => [name, value ?? Buffer.alloc(0)]);
  if (origin.absentBody !== true || payload.byteLength > 0) {
    const name = typeof origin.payloadField === "string" ? origin.payloadField : PAYLOAD_FIELDS[0]!;
    const at = typeof origin.payloadAt === "number" ? Math.min(origin.payloadAt, fields.length) : 0;
    fields.splice(at, 0, [name, Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)]);
  }
  return fields.flat();
}

/** `suspect`: a command was given up before it was answered. */
type Link = { redis: Redis; suspect: boolean; close(): void };

/** Adds entries to the origin stream or its slow twin. A stream that does not exist is not made. */
export class RedisStreamsPublisher implements Publisher {
  private readonly config: RedisStreamsConfig;
  private readonly lane: "main" | "slow";
  private readonly clock: Clock;
  private readonly links: HeldConnection<Link>;

  constructor(config: RedisStreamsConfig, lane: "main" | "slow", { clock }: { clock: Clock }) {
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
    const stream = streamOf(message, this.config, this.lane);
    const fields = fieldsOf(message);
    const link = await this.open(signal);
    onPhase?.("connected");
    const { promise, reject } = Promise.withResolvers<never>();
    const aborted = () => {
      link.suspect = true; // unless it answers: see below
      reject(signal.reason);
    };
    signal.addEventListener("abort", aborted, { once: true });
    try {
      const adding = link.redis.call("XADD", stream, "NOMKSTREAM", "*", ...fields).finally(() => {
        link.suspect = false;
      });
      adding.catch(() => undefined); // its caller may have gone
      const id = (await Promise.race([adding, promise])) as string | null;
      if (id === null) throw refuse("REDIS_NO_STREAM", `stream ${stream} does not exist on ${addressOf(this.config)}`);
      return { status: `entry ${id}` };
    } catch (error) {
      if (signal.aborted || error instanceof PublishError) throw error;
      const sent = isReply(error) ? "no" : "maybe";
      const tail = sent === "maybe" ? ": the entry may have been added" : "";
      throw new PublishError(redisCode(error), describeRedis(error, this.config) + tail, { sent, cause: error });
    } finally {
      signal.removeEventListener("abort", aborted);
    }
  }

  private async open(signal: AbortSignal): Promise<Link> {
    if (this.links.closed) throw refuse("REDIS_CLOSED", "the publisher is closed");
    try {
      return await this.links.use(signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = error as RedisFailure;
      throw new PublishError(failure.code, failure.message, { sent: "no", cause: error });
    }
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    try {
      const redis = await connectRedis(this.config, { name: "parkade-probe", clock: this.clock, signal });
      redis.disconnect();
      return { reachable: true, detail: `connected to ${addressOf(this.config)}`, depth: null, sample: [] };
    } catch (error) {
      signal.throwIfAborted();
      return { reachable: false, detail: describeRedis(error, this.config) };
    }
  }

  close(): Promise<void> {
    return this.links.close();
  }
}
