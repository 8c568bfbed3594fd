import { Redis } from "ioredis";
import { describe, expect, it, vi } from "vitest";
import { consumerOf, describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { RedisStreamsConfig } from "@/lib/brokers/redis-streams/kind.shapes";
import {
  adapter,
  addAndFail,
  harness,
  never,
  onRedis,
  pendingCount,
  redis,
} from "@/lib/brokers/redis-streams/testing/redis-streams-broker";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "redis streams", () => {
  onRedis();

  describeBroker<RedisStreamsConfig>("redis-stream", () => harness("pending"));
  describe("a dead-letter stream", () => {
    describeBroker<RedisStreamsConfig>("redis-stream", () => harness("stream"));
  });
  describe("what only streams have", () => ownTests());
});

function ownTests(): void {
  it("leaves an entry that another consumer takes over between the listing and the claim", async () => {
    const made = await harness("pending");
    const config = { ...made.config, minIdleMs: 100 };
    const { stream } = config;
    await made.produce!(["contested"]);
    const [[id]] = (await redis.call("XRANGE", stream, "-", "+")) as [[string]];
    await redis.call("XCLAIM", stream, "billing", "app", "0", id, "IDLE", "3600000", "JUSTID");
    const session = await adapter.reader!(config, "orders").open(never, () => undefined);
    const { callBuffer } = Redis.prototype;
    const claim = vi.spyOn(Redis.prototype, "callBuffer").mockImplementationOnce(async function (
      this: Redis,
      ...command: Parameters<typeof callBuffer>
    ) {
      await redis.call("XCLAIM", stream, "billing", "faster", "0", id, "RETRYCOUNT", "7");
      return callBuffer.apply(this, command);
    });
    try {
      expect(await session.take(10, never, 1)).toEqual([]);
    } finally {
      claim.mockRestore();
      await session.close(true);
    }
    expect(await redis.call("XPENDING", stream, "billing", "-", "+", "10")).toMatchObject([
      [id, "faster", expect.anything(), 7],
    ]);
    await made.stop();
  });

  it("leaves alone what a consumer has touched, and what was not delivered too often", async () => {
    const made = await harness("pending");
    const config = { ...made.config, deliveryLimit: 3, minIdleMs: 1 };
    const { stream } = config;
    await made.produce!(["young", "old"]);
    const ids = ((await redis.call("XRANGE", stream, "-", "+")) as [string][]).map(([id]) => id);
    await redis.call("XCLAIM", stream, "billing", "app", "0", ids[1]!, "RETRYCOUNT", "3", "JUSTID");
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => parked.map(({ payload }) => Buffer.from(payload).toString())).toEqual(["old"]);
    expect(parked[0]).toMatchObject({
      eventId: `${stream}:${ids[1]}`,
      errorCode: "DELIVERY_LIMIT",
      attempts: 3,
      origin: { stream, consumer: "billing", deadLetter: { id: ids[1] } },
    });
    await eventually(() => pendingCount(stream, "billing")).toBe(1);
    // Busy for an hour, as far as the server knows.
    await redis.call("XCLAIM", stream, "billing", "app", "0", ids[0]!, "RETRYCOUNT", "9", "JUSTID");
    const idle = consumerOf(adapter, { ...config, minIdleMs: 3_600_000 }, async (batch) => {
      parked.push(...batch);
    });
    await consumer.stop();
    await eventually(() => idle.state().state).toBe("running");
    await idle.stop();
    await made.stop();
  });

  it("two readers park each entry, and the count of deliveries stays that of the consumers", async () => {
    const made = await harness("pending");
    // Each reader holds two batches of 500 at most.
    const bodies = Array.from({ length: 1_200 }, (_, n) => `n-${n}`);
    await made.produce!(bodies);
    const hold = Promise.withResolvers<void>();
    const parked: string[] = [];
    const config = { ...made.config, minIdleMs: 60_000 };
    const ids = ((await redis.call("XRANGE", config.stream, "-", "+")) as [string][]).map(([id]) => id);
    await redis.call(
      "XCLAIM",
      config.stream,
      "billing",
      "app",
      "0",
      ...ids,
      "IDLE",
      "60000",
      "RETRYCOUNT",
      "7",
      "JUSTID",
    );
    const readers = [1, 2].map(() =>
      consumerOf(adapter, config, async (batch) => {
        parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
        await hold.promise;
      }),
    );
    const holders = async () => {
      const pending = await redis.call("XPENDING", config.stream, "billing", "-", "+", "2000");
      return new Set((pending as unknown[][]).map(([, consumer, , deliveries]) => `${consumer} ${deliveries}`));
    };
    await eventually(holders).toEqual(new Set(["parkade 7"]));
    hold.resolve();
    await eventually(() => pendingCount(config.stream, "billing")).toBe(0);
    expect([parked.length, new Set(parked).size]).toEqual([1_200, 1_200]); // nobody takes what the other has
    await Promise.all(readers.map((reader) => reader.stop()));
    await made.stop();
  });

  it("keeps an entry whose field names are no text, and says why it cannot be sent", async () => {
    const made = await harness("pending");
    await addAndFail(made.config.stream, "billing", [[Buffer.from([0xff, 0xfe]), "v", "payload", "p"]]);
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, made.config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => parked.length).toBe(1);
    await consumer.stop();
    const { origin, payload } = parked[0]!;
    expect(origin.rawFields).toEqual([
      ["//4=", "dg=="],
      ["cGF5bG9hZA==", "cA=="],
    ]);
    const target = adapter.publisher(made.config);
    await expect(target.publish(outbound(origin, { payload }), never)).rejects.toMatchObject({
      code: "REDIS_UNREADABLE",
    });
    await target.close();
    await made.stop();
  });
}
