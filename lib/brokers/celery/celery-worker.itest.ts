import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { consumerOf, eventually, outbound } from "@/lib/brokers/broker.conformance";
import { celeryAdapter } from "@/lib/brokers/celery/adapter";
import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { Consumer, OutboundMessage } from "@/lib/brokers/port";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { celeryMissing, type TestCelery, testCelery } from "@/lib/testing/celery";
import { describeWith } from "@/lib/testing/describe-with";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";

/** The handler of the docs in an application whose task fails until it is repaired. */
const APPLICATION = `
import os
from celery import Celery
from redis import Redis

redis = Redis.from_url(os.environ["BROKER"])
app = Celery("shop", broker=os.environ["BROKER"])
app.conf.task_default_queue = "orders"
${/```python\n([^`]+)```/.exec(readFileSync("docs/connect-celery.md", "utf8"))![1]}
@app.task(bind=True, max_retries=1)
def charge(self, order_id, amount=0):
    redis.rpush("started", self.request.id)
    if redis.get("repaired") is None:
        try:
            raise ValueError(f"card of {order_id} declined")
        except ValueError as error:
            raise self.retry(exc=error, countdown=0)
    redis.rpush("charged", f"{self.request.id} {order_id} {amount} {(self.request.headers or {}).get('x-tenant')}")

@app.task
def receipt(result):
    redis.rpush("receipts", "sent")
`;

const SEND = `
from shop import charge, receipt
print(charge.apply_async(("o-1",), {"amount": 12}, headers={"x-tenant": "eu"}, priority=5, link=receipt.s()).id)
`;

const never = new AbortController().signal;
const adapter = celeryAdapter({ clock: systemClock, random: () => 0 });

describeWith(celeryMissing ?? (redisInstalled ? null : "redis-server is missing"), "a real Celery worker", () => {
  let server: TestRedis;
  let redis: Redis;
  let celery: TestCelery;
  let config: CeleryConfig;

  beforeAll(async () => {
    server = await testRedis();
    redis = new Redis(server.url, { protocol: 2 });
    config = parseSourceConfig("celery", { url: server.url, queue: "orders.dlq" }).config as CeleryConfig;
    celery = await testCelery({ broker: server.url, application: APPLICATION });
  });
  beforeEach(async () => {
    await redis.del("repaired", "started", "charged", "receipts", "orders.dlq");
  });
  afterAll(async () => {
    redis?.disconnect();
    await celery?.stop();
    await server?.stop();
  });

  const reading = (): { parked: DeadLetter[]; consumer: Consumer } => {
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => {
      parked.push(...batch);
    });
    return { parked, consumer };
  };
  const redrive = async (letter: DeadLetter, change: Partial<OutboundMessage> = {}) => {
    const { eventId, payload, contentType, headers, origin } = letter;
    const publisher = adapter.publisher(config);
    await publisher.publish(outbound(origin, { eventId, payload, contentType, headers, ...change }), never);
    await publisher.close();
  };

  it("parks a task that failed for good, knows it when it fails again, and has it run once under its id", async () => {
    const id = celery.python(SEND);
    const { parked, consumer } = reading();
    await eventually(() => parked.length).toBe(1);
    expect(parked[0]).toMatchObject({
      eventId: id,
      eventType: "shop.charge",
      errorCode: "VALIDATION_ERROR",
      error: {
        type: "builtins.ValueError",
        message: "card of o-1 declined",
        stack: expect.stringMatching(/^Traceback[\s\S]*ValueError: card of o-1 declined/),
      },
      attempts: 2,
      origin: { convention: "celery", queue: "orders", properties: { correlation_id: id, priority: "5" } },
      redrive: null,
    });
    const [args, kwargs, embed] = JSON.parse(Buffer.from(parked[0]!.payload).toString());
    expect([args, kwargs, embed.callbacks[0].task]).toEqual([["o-1"], { amount: 12 }, "shop.receipt"]);

    await redrive(parked[0]!);
    await eventually(() => parked.length).toBe(2);
    expect(parked[1]).toMatchObject({
      eventId: id,
      redrive: { redriveId: "018f9c4e-1111-7000-8000-000000000001", attempt: 1 },
      origin: { queue: "orders" },
    });
    expect(await redis.lrange("started", 0, -1)).toEqual([id, id, id]); // its retries are used up: it ran once more

    await redis.set("repaired", "1");
    await redrive(parked[1]!, { attempt: 2 });
    await eventually(() => redis.lrange("receipts", 0, -1)).toEqual(["sent"]);
    expect(await redis.lrange("charged", 0, -1)).toEqual([`${id} o-1 12 eu`]);
    await eventually(() => redis.hlen("unacked")).toBe(0);
    expect(await redis.llen("orders")).toBe(0);
    await consumer.stop();
    expect(parked).toHaveLength(2);
  });

  it("goes back into its queue when a worker gives it back, where a naive relay falls into the dead letters", async () => {
    const [item] = await deadItems(1);
    const [parked] = await parkedTasks(1);
    await celery.kill("SIGTERM");
    try {
      const giveBack = () =>
        celery.python(
          'import os; from kombu import Connection; Connection(os.environ["BROKER"]).SimpleQueue("orders").get().requeue()',
        );
      const lists = ["orders\u0006\u00163", "orders.dlq\u0006\u00163"];
      const lengths = () => Promise.all(lists.map((list) => redis.llen(list)));
      await redis.lpush("orders", item!);
      giveBack();
      expect(await lengths()).toEqual([0, 1]);
      await redis.del(lists);
      await redrive(parked!);
      giveBack();
      expect(await lengths()).toEqual([1, 0]);
      await redis.del(lists);
    } finally {
      await celery.start();
    }
  });

  /** Tasks that failed, as the handler put them into the dead-letter queue. */
  async function deadItems(count: number): Promise<string[]> {
    const repaired = await redis.getdel("repaired");
    for (let n = 0; n < count; n += 1) celery.python(SEND);
    const list = "orders.dlq\u0006\u00163";
    await eventually(() => redis.llen(list)).toBe(count);
    const items = await redis.lrange(list, 0, -1);
    await redis.del(list);
    if (repaired !== null) await redis.set("repaired", repaired);
    return items;
  }

  async function parkedTasks(count: number): Promise<DeadLetter[]> {
    for (const item of await deadItems(count)) await redis.lpush("orders.dlq", item);
    const { parked, consumer } = reading();
    await eventually(() => parked.length).toBe(count);
    await eventually(() => redis.keys("orders.dlq.parkade.*")).toHaveLength(1); // its lease alone: it holds nothing
    await consumer.stop();
    return parked;
  }
});
