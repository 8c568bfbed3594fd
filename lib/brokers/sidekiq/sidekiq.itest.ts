import { expect, it } from "vitest";
import { consumerOf, describeBroker, eventually } from "@/lib/brokers/broker.conformance";
import type { SidekiqConfig } from "@/lib/brokers/sidekiq/kind.shapes";
import {
  adapter,
  BACKTRACE,
  configOf,
  harness,
  kill,
  onRedis,
  redis,
  redrive,
  VERSION_7,
  VERSION_8,
} from "@/lib/brokers/sidekiq/testing/sidekiq-broker";
import { parkAll } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "sidekiq", () => {
  onRedis();

  describeBroker<SidekiqConfig>("sidekiq", harness);

  it("parks a dead job with its failure, and takes it out of the set after the commit", async () => {
    await kill(VERSION_8);
    await kill(VERSION_7, 1_695_330_002);
    const commit = Promise.withResolvers<void>();
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, configOf(), async (batch) => {
      parked.push(...batch);
      await commit.promise;
    });
    await eventually(() => parked.length).toBe(2);
    expect(await redis.zcard("dead")).toBe(2);
    commit.resolve();
    await eventually(() => redis.zcard("dead")).toBe(0);
    await consumer.stop();
    expect(parked).toMatchObject([
      {
        eventId: "0123456789abcdef01234567",
        eventType: "Mailer",
        errorCode: "TIMEOUT",
        attempts: 3,
        failedAtMs: 1_695_330_001_250,
      },
      {
        eventId: "b4a577edbccf1d805744efa9",
        eventType: "ChargeJob",
        error: { type: "Stripe::CardError", message: "card é declined", stack: BACKTRACE.join("\n") },
        attempts: 26,
        failedAtMs: 1_795_330_001_000,
        origin: { convention: "sidekiq", queue: "billing" },
      },
    ]);
    expect(Buffer.from(parked[1]!.payload).toString()).toBe(VERSION_8);
  });

  it("puts a job back as Sidekiq does, with every digit, and knows it when it dies again", async () => {
    await kill(VERSION_8);
    const [letter] = await parkAll(adapter, configOf(), 1);
    await kill(VERSION_8); // as after a crash between the commit and the removal
    const beforeMs = Date.now();
    await redrive(letter!, configOf(), { attempt: 2, retryCount: 3 });
    expect(await redis.zcard("dead")).toBe(0);
    expect(await redis.smembers("queues")).toEqual(["billing"]);
    const [queued] = await redis.lrange("queue:billing", 0, -1);
    expect(queued).toContain('"args":[12345678901234567890,{"b":1.10}]');
    const job = JSON.parse(queued!);
    expect(job).toMatchObject({
      ...JSON.parse(VERSION_8),
      retry_count: 24,
      enqueued_at: expect.any(Number),
      "x-redrive-id": "018f9c4e-1111-7000-8000-000000000001",
      "x-retry-count": "3",
    });
    expect(Number.isInteger(job.enqueued_at) && job.enqueued_at >= beforeMs).toBe(true);
    await kill(queued!.replace('"jid":"b4a577edbccf1d805744efa9"', '"jid":"another"'));
    const [again] = await parkAll(adapter, configOf(), 1);
    expect(again).toMatchObject({
      eventId: "b4a577edbccf1d805744efa9",
      redrive: { redriveId: "018f9c4e-1111-7000-8000-000000000001", attempt: 2 },
    });
    await redrive(again!, configOf(), { attempt: 3 });
    const [third] = await redis.lrange("queue:billing", 0, 0);
    expect(third!.match(/x-redrive-attempt/g)).toHaveLength(1);
    expect(JSON.parse(third!)).toMatchObject({ retry_count: 23, "x-redrive-attempt": "3" });
    expect(JSON.parse(third!)).not.toHaveProperty("x-retry-count");
  });

  it("writes the time as the job's version does, and to the queue that is configured, behind its namespace", async () => {
    await redis.zadd("shop:dead", 1, VERSION_7);
    const config = configOf({ namespace: "shop", redriveTo: { queue: "again" }, slowLaneQueue: "slow" });
    const [letter] = await parkAll(adapter, config, 1);
    await redrive(letter!, config);
    await redrive(letter!, config, {}, true);
    const job = JSON.parse((await redis.lrange("shop:queue:again", 0, -1))[0]!);
    expect(job.enqueued_at).toBeLessThan(1e11);
    expect(job.queue).toBe("again");
    expect(await redis.llen("shop:queue:slow")).toBe(1);
    expect((await redis.smembers("shop:queues")).sort()).toEqual(["again", "slow"]);
  });

  it("parks what is no job as it is, and refuses to queue it", async () => {
    await kill("{no json");
    await redis.zadd("dead", 2, Buffer.from([0xff, 0xfe]));
    const parked = await parkAll(adapter, configOf(), 2);
    expect(parked.map(({ payload }) => Buffer.from(payload).toString("hex")).sort()).toEqual([
      "7b6e6f206a736f6e",
      "fffe",
    ]);
    expect(await redis.zcard("dead")).toBe(0);
    for (const letter of parked)
      await expect(redrive(letter)).rejects.toMatchObject({ code: "SIDEKIQ_NOT_A_JOB", sent: "no" });
  });
});
