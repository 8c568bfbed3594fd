import type { MessageResult, Transport } from "@/lib/kit/outbox/message";
import { throwOutage } from "@/lib/kit/outbox/transports/send-each";
import { classifier } from "@/lib/retry/classify/classifier";
import { NODE_ERRORS } from "@/lib/retry/classify/node";
import { REDIS_ERRORS } from "@/lib/retry/classify/redis";

type RedisPipeline = {
  xadd(...args: (string | number | Buffer)[]): unknown;
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
};

export type RedisStreamsOptions = {
  /** About how many entries the stream keeps; all by default. */
  maxLength?: number;
};

const classify = classifier(REDIS_ERRORS, NODE_ERRORS);

/** A reply of Redis that names a permanent fault of this stream counts; no connection, LOADING, OOM and the like do not. */
function judge(error: Error): MessageResult {
  const { kind, code } = classify(error);
  return { ok: false, error, outage: kind !== "permanent" || code === "UNKNOWN" };
}

/** For ioredis. A destination is a stream. Entry fields: `id`, `key`, `type`, `payload`, and each header with a value as `h:<name>`. */
export function redisStreamsTransport(
  redis: { pipeline(): RedisPipeline },
  { maxLength }: RedisStreamsOptions = {},
): Transport {
  return {
    publishMany: async (messages) => {
      const pipeline = redis.pipeline();
      for (const { destination, id, key, eventType, body, headers } of messages) {
        const trim = maxLength === undefined ? [] : ["MAXLEN", "~", maxLength];
        const fields = headers.flatMap(([name, value]) => (value === null ? [] : [`h:${name}`, Buffer.from(value)]));
        pipeline.xadd(
          destination,
          ...trim,
          "*",
          "id",
          id,
          "key",
          key,
          "type",
          eventType,
          "payload",
          Buffer.from(body),
          ...fields,
        );
      }
      const answers = await pipeline.exec();
      if (answers === null) throw new Error("Redis discarded the pipeline");
      const results = answers.map(([error]): MessageResult => (error === null ? { ok: true } : judge(error)));
      throwOutage(results);
      return results;
    },
  };
}
