import type { Redis } from "ioredis";
import { abortable } from "@/lib/brokers/abortable";
import { HeldConnection } from "@/lib/brokers/held-connection";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import {
  addressOf,
  connectRedis,
  isReply,
  probeRedis,
  type RedisAddress,
  type RedisFailure,
  redisCode,
} from "@/lib/brokers/redis-connection";

type RedisWrite = {
  /** The write of a message. Checks the message, and throws PublishError, before a connection is made. */
  of(message: OutboundMessage): (redis: Redis) => Promise<PublishReceipt>;
  describe(error: unknown): string;
  /** What may have happened when the answer is lost: `the entry may have been added`. */
  doubt: string;
};

/** `suspect`: a command was given up before it was answered, and nothing has been answered since. */
type Link = { redis: Redis; suspect: boolean; close(): void };

/** Writes over one connection, which is made by the first write and again after it was lost or fell silent. */
export class RedisPublisher implements Publisher {
  private readonly address: RedisAddress;
  private readonly write: RedisWrite;
  private readonly deps: AdapterDeps;
  private readonly links: HeldConnection<Link>;

  constructor(address: RedisAddress, write: RedisWrite, deps: AdapterDeps) {
    this.address = address;
    this.write = write;
    this.deps = deps;
    this.links = new HeldConnection<Link>(
      async (signal) => {
        const redis = await connectRedis(address, { name: "parkade-redrive", signal }, deps);
        return { redis, suspect: false, close: () => redis.disconnect() };
      },
      ({ redis, suspect }) => redis.status === "ready" && !suspect,
    );
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const write = this.write.of(message);
    const link = await this.open(signal);
    onPhase?.("connected");
    try {
      const writing = write(link.redis).finally(() => {
        link.suspect = false;
      });
      return await abortable(writing, signal, () => {
        link.suspect = true;
      });
    } catch (error) {
      if (signal.aborted || error instanceof PublishError) throw error;
      const sent = isReply(error) ? "no" : "maybe";
      const doubt = sent === "maybe" ? `: ${this.write.doubt}` : "";
      throw new PublishError(redisCode(error), this.write.describe(error) + doubt, { sent, cause: error });
    }
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

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const look = async () => ({ detail: `connected to ${addressOf(this.address)}` });
    return probeRedis(this.address, this.deps, { signal, look, failureText: this.write.describe });
  }

  close(): Promise<void> {
    return this.links.close();
  }
}
