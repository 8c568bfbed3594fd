import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { openWorld, type World } from "@/lib/testing/redrive-world";

/** Whole workers on a real stream and a real store: events and the position in the stream are one. */

describeWith(rabbitmqMissing, "a stream that two workers could read", () => {
  let rabbit: TestRabbitmq;
  let world: World;
  let stream: string;
  let sourceId: string;
  beforeAll(async () => {
    rabbit = await testRabbitmq();
  }, 90_000);
  afterAll(() => rabbit?.stop());
  beforeEach(async () => {
    world = await openWorld({ redisUrl: null });
    stream = `orders-${randomBytes(4).toString("hex")}`;
    const model = await rabbit.connect();
    const channel = await model.createChannel();
    await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream" } });
    await model.close();
    sourceId = await world.source("dead");
    const config = JSON.stringify({ url: rabbit.url, queue: stream, prefetch: 40 });
    await world.db.run("update sources set kind = 'rabbitmq', config = $2::jsonb where id = $1", [sourceId, config]);
  }, 60_000);
  afterEach(async () => {
    expect(await world.broken()).toEqual([]);
    await world.close();
  });

  async function publish(from: number, to: number): Promise<void> {
    const model = await rabbit.connect();
    const channel = await model.createConfirmChannel();
    for (let n = from; n < to; n += 1) channel.sendToQueue(stream, Buffer.from("{}"), { messageId: `m-${n}` });
    await channel.waitForConfirms();
    await model.close();
  }

  /** In one snapshot. */
  async function parked(): Promise<{ events: number; readTo: number; holder: string | null }> {
    const [row] = await world.db.query<{ events: number; readTo: number; holder: string | null }>(
      `select (select count(*) from dlq_events where source_id = $1) as events, coalesce(read_to, -1) as "readTo", holder
         from (select 1) as one left join source_positions p on p.source_id = $1 and p.log = $2`,
      [sourceId, stream],
    );
    return row!;
  }
  const events = async () => (await parked()).events;
  const eventually = <T>(probe: () => Promise<T>) => expect.poll(probe, { interval: 20 });

  test("stores events and position in one commit; after kill -9 the other worker reads on, each event once", async () => {
    await publish(0, 3_000);
    const first = await world.doomedWorker();
    await eventually(async () => {
      const { events: count, readTo } = await parked();
      expect(readTo + 1).toBe(count);
      return count;
    }).toBeGreaterThan(200);
    const { holder } = await parked();
    await world.worker();
    first.kill("SIGKILL"); // in mid-batch, as likely as not
    await publish(3_000, 3_100);
    await eventually(events).toBe(3_100);
    const after = await parked();
    expect(after.readTo).toBe(3_099);
    expect(after.holder).not.toBe(holder);
    const [{ offsets }] = (await world.db.query<{ offsets: number }>(
      "select count(distinct origin #>> '{deadLetter,offset}') as offsets from dlq_event_bodies",
    )) as [{ offsets: number }];
    expect(offsets).toBe(3_100);
    const [audit] = await world.db.query<{ n: number }>(
      "select sum(count)::int as n from audit_entries where action = 'event.parked'",
    );
    expect(audit!.n).toBe(3_100);
  }, 120_000);

  test("a worker that stood still stores nothing when it wakes up, and moves no position back", async () => {
    await publish(0, 50);
    const sleeper = await world.doomedWorker();
    await eventually(events).toBe(50);
    const { holder } = await parked();
    sleeper.kill("SIGSTOP");
    await world.worker();
    await publish(50, 200); // also sent to the sleeper, which has the connection open
    await eventually(events).toBe(200);
    sleeper.kill("SIGCONT");
    await publish(200, 300);
    await eventually(events).toBe(300);
    await eventually(async () => (await parked()).readTo).toBe(299);
    expect((await parked()).holder).not.toBe(holder);
    const { n } = (await world.db.query<{ n: number }>("select count(*) as n from event_keys"))[0]!;
    expect(n).toBe(300);
  }, 120_000);

  test("a drain ends when both workers have found its end, and a pause keeps the position", async () => {
    await publish(0, 500);
    await world.worker();
    await world.worker();
    await eventually(events).toBeGreaterThan(0);
    await world.db.run("update sources set mode = 'draining', mode_at = now() where id = $1", [sourceId]);
    const mode = async () =>
      (await world.db.query<{ mode: string }>("select mode from sources where id = $1", [sourceId]))[0]!.mode;
    await eventually(mode).toBe("paused");
    expect(await parked()).toMatchObject({ events: 500, readTo: 499, holder: null });
    const reason = "select mode_reason from sources where id = $1";
    expect(await world.db.query(reason, [sourceId])).toEqual([{ mode_reason: "empty after a drain" }]);
    await publish(500, 520);
    await world.db.run("update sources set mode = 'running', mode_at = now() where id = $1", [sourceId]);
    await eventually(events).toBe(520);
  }, 120_000);
});
