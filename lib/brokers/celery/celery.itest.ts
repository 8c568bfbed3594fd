import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, eventually } from "@/lib/brokers/broker.conformance";
import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";
import {
  adapter,
  configOf,
  emptied,
  envelope,
  harness,
  never,
  onRedis,
  plain,
  redis,
  server,
  texts,
  unique,
  waiting,
} from "@/lib/brokers/celery/testing/celery-broker";
import { backOut, parkAll, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled } from "@/lib/testing/redis";

describeWith(redisInstalled ? null : "redis-server is missing", "celery", () => {
  onRedis();

  describeBroker<CeleryConfig>("celery", harness);
  describe("what only Kombu's queues have", () => ownTests());
});

async function parkedAndGone(config: CeleryConfig, count: number): Promise<DeadLetter[]> {
  const parked = await parkAll(adapter, config, count);
  expect(await waiting(config.queue)).toBe(0);
  return parked;
}

const redrive = (letter: DeadLetter, config: CeleryConfig, slow = false) =>
  sendOne(adapter, config, backOut(letter), slow ? "slow" : "main");

/** The rules of the ACL command in the docs. */
function permissionsInDocs(): string[] {
  const page = readFileSync("docs/connect-celery.md", "utf8");
  const rules = /ACL SETUSER parkade on >PASSWORD ([^`]+)```/.exec(page)![1]!;
  return rules.trim().split(/\s+/);
}

function ownTests(): void {
  it("reads every priority list in Kombu's order, and writes to the step that workers read", async () => {
    const [queue, target] = [unique("dlq"), unique("orders")];
    const config = configOf({ queue, redriveTo: { queue: target } });
    for (const [step, body] of [
      [0, "first"],
      [3, "third"],
      [3, "fourth"],
      [0, "second"],
      [9, "fifth"],
    ] as const)
      await redis.lpush(
        step === 0 ? queue : `${queue}\u0006\u0016${step}`,
        envelope(plain(body), queue, { priority: step === 3 ? 5 : step }),
      );
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({ reachable: true, depth: 5 });
    const parked = await parkedAndGone(config, 5);
    expect(texts(parked)).toEqual(["first", "second", "third", "fourth", "fifth"]);
    await redrive(parked[2]!, config);
    await redrive(parked[4]!, configOf({ queue, redriveTo: { queue: target }, prioritySteps: "0,5", separator: ":" }));
    expect(await emptied(`${target}\u0006\u00163`)).toHaveLength(1);
    expect(await emptied(`${target}:5`)).toHaveLength(1);
  });

  it("finds the queue behind a direct exchange, and refuses where one does not stand out", async () => {
    const [queue, target] = [unique("dlq"), unique("orders")];
    const config = configOf({ queue, slowLaneQueue: `${target}.slow`, keyPrefix: "shop:" });
    const sent = (exchange: string, routing_key: string) =>
      redis.lpush(`shop:${queue}`, envelope(plain("{}"), queue, { delivery_info: { exchange, routing_key } }));
    const [direct, shared, back, gone] = ["direct", "shared", "back", "gone"].map(unique) as [
      string,
      string,
      string,
      string,
    ];
    const bind = (exchange: string, to: string) =>
      redis.sadd(`shop:_kombu.binding.${exchange}`, `created\u0006\u0016\u0006\u0016${to}`);
    await bind(direct, target);
    await redis.sadd(`shop:_kombu.binding.${direct}`, `other\u0006\u0016\u0006\u0016${target}.other`);
    await bind(shared, target);
    await bind(shared, `${target}.audit`);
    await bind(back, queue);
    for (const exchange of [direct, shared, back, gone]) await sent(exchange, "created");
    await sent("", queue);
    const parked = await parkAll(adapter, config, 5);
    expect(await redrive(parked[0]!, config)).toEqual({ status: `queue ${target}` });
    expect(await redrive(parked[1]!, config, true)).toEqual({ status: `queue ${target}.slow` });
    const [item] = await emptied(`shop:${target}`);
    expect(JSON.parse(item!).properties.delivery_info).toEqual({ exchange: "", routing_key: target });
    for (const [n, says] of [
      [1, /leads to 2 queues/],
      [2, /leads back into the dead-letter queue/],
      [3, /no queue is bound/],
      [4, /does not name the queue it came from: set redriveTo\.queue/],
    ] as const)
      await expect(redrive(parked[n]!, config)).rejects.toMatchObject({
        code: "REDIS_NO_TARGET",
        sent: "no",
        message: expect.stringMatching(says),
      });
  });

  it("parks what is no envelope as it is, beside its neighbours, and refuses to queue it", async () => {
    const config = configOf({ queue: unique("dlq"), redriveTo: { queue: unique("orders") } });
    const items = ["{no json", '{"task":"a"}', Buffer.from([0xff, 0xfe]), envelope(plain("good"), config.queue)];
    for (const item of items) await redis.lpush(config.queue, item);
    const parked = await parkedAndGone(config, 4);
    expect(parked.slice(0, 3).map(({ payload }) => Buffer.from(payload))).toEqual(
      items.slice(0, 3).map((item) => Buffer.from(item)),
    );
    expect(parked[1]!.error.message).toBe("the message could not be read: it is not a Kombu envelope");
    expect(new Set(parked.map(({ eventId }) => eventId)).size).toBe(4);
    for (const letter of parked.slice(0, 3))
      await expect(redrive(letter, config)).rejects.toMatchObject({ code: "REDIS_UNREADABLE", sent: "no" });
    await redrive(parked[3]!, config);
  });

  it("takes over what a dead reader held, in its order, and nothing of one that lives", async () => {
    const config = configOf({ queue: unique("dlq") });
    const own = `${config.queue}.parkade`;
    const item = (body: string) => envelope(plain(body), config.queue);
    await redis.lpush(config.queue, item("later"));
    await redis.sadd(own, "dead", "alive");
    await redis.lpush(`${own}.dead`, item("a"), item("b"));
    await redis.lpush(`${own}.alive`, item("not ours"));
    await redis.set(`${own}.alive.alive`, "1", "EX", 600);
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => {
      parked.push(...batch);
    });
    await eventually(() => texts(parked)).toEqual(["a", "b", "later"]);
    await eventually(() => redis.llen(config.queue)).toBe(0);
    await consumer.stop();
    expect(await redis.smembers(own)).toEqual(["alive"]);
    expect(await redis.llen(`${own}.alive`)).toBe(1);
    await redis.del(own, `${own}.alive`, `${own}.alive.alive`);
  });

  it("gives back in order what it could not commit", async () => {
    const config = configOf({ queue: unique("dlq") });
    const items = ["a", "b", "c"].map((body) => envelope(plain(body), config.queue));
    for (const item of items) await redis.lpush(config.queue, item);
    const consumer = consumerOf(adapter, config, async () => {
      throw new Error("the store is out");
    });
    await eventually(() => consumer.state().state).toBe("failing");
    await consumer.stop();
    expect(await emptied(config.queue)).toEqual(items);
  });

  it("works with the permissions that its page lists", async () => {
    await redis.call("ACL", "SETUSER", "parkade", "reset", "on", ">secret", ...permissionsInDocs());
    const config = configOf({ queue: "orders.dlq", redriveTo: { queue: "orders" } });
    const own = { ...config, url: server.url.replace("//", "//parkade:secret@") };
    await redis.lpush("orders.dlq", envelope(plain("{}"), "orders.dlq"));
    expect(await adapter.probe(own, never)).toMatchObject({ reachable: true, depth: 1 });
    const parked = await parkedAndGone(own, 1);
    await redrive(parked[0]!, own);
    expect(await emptied("orders")).toHaveLength(1);
    await expect(
      redrive({ ...parked[0]!, origin: { exchange: "nobody", routingKeys: ["x"] } }, { ...own, redriveTo: undefined }),
    ).rejects.toMatchObject({ code: "REDIS_NO_TARGET" });
  });
}
