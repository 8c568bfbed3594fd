import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import { bullmqAdapter } from "@/lib/brokers/bullmq/adapter";
import type { BullmqConfig } from "@/lib/brokers/bullmq/kind.shapes";
import { MARKS } from "@/lib/brokers/bullmq/marks";
import {
  type App,
  adapter,
  addAndFail,
  configOf,
  harness,
  never,
  onApp,
  postgresApp,
  REDRIVE,
  redisApp,
  unique,
} from "@/lib/brokers/bullmq/testing/bullmq-app";
import { backOut, parkAll, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { manualClock } from "@/lib/testing/manual-clock";
import { redisInstalled } from "@/lib/testing/redis";

function suite(make: () => Promise<App>): void {
  const app = onApp(make);

  describeBroker<BullmqConfig>("bullmq", () => harness(app()));

  describe("what only jobs have", () => {
    const newQueue = (change: object = {}) => {
      const queue = app().queue(unique("orders"));
      return { queue, config: configOf({ url: app().url().href, queue: queue.name, ...change }) };
    };
    const readAll = (config: BullmqConfig, count: number) => parkAll(adapter, config, count);
    const send = (config: BullmqConfig, letter: DeadLetter, change = {}) =>
      sendOne(adapter, config, backOut(letter, change));

    it("retries the job in its place with all its attempts, and knows it when it fails again", async () => {
      const { queue, config } = newQueue();
      await addAndFail(app(), queue, [
        { data: { amount: -1, orderId: "o-7" }, opts: { attempts: 1, jobId: "order-7" } },
      ]);
      const [letter] = await readAll(config, 1);
      expect(letter).toMatchObject({
        eventId: "order-7",
        eventType: "order-placed",
        attempts: 1,
        error: { type: "TypeError", message: "amount must be positive" },
        contentType: "application/json",
        redrive: null,
        origin: { convention: "bullmq", queue: queue.name, job: { id: "order-7" } },
      });
      expect(Buffer.from(letter!.payload).toString()).toBe(
        config.url.startsWith("redis") ? '{"amount":-1,"orderId":"o-7"}' : '{"amount": -1, "orderId": "o-7"}',
      );
      expect((await send(config, letter!)).status).toBe("job order-7 is waiting again");
      expect(await (await queue.getJob("order-7"))!.getState()).toBe("waiting");
      const { logs } = await queue.getJobLogs("order-7");
      expect(logs.at(-1)).toBe(`parkade: redrive ${REDRIVE} attempt 1 from ${queue.name}/order-7`);
      // The answer was lost, and the send is repeated: the effect stands, once.
      expect((await send(config, letter!, { attempt: 2 })).status).toContain("by this redrive");
      // Another redrive finds it gone from the failed set.
      const other = { redriveId: "018f9c4e-2222-7000-8000-000000000002" };
      await expect(send(config, letter!, other)).rejects.toMatchObject({ code: "BULLMQ_NOT_FAILED", sent: "no" });
      await addAndFail(app(), queue, [{ data: {}, opts: { jobId: "another" } }]);
      await eventually(async () => (await queue.getJobs(["failed"])).length).toBe(2);
      const again = await readAll(config, 2);
      expect(again.find(({ eventId }) => eventId === "order-7")).toMatchObject({
        redrive: { redriveId: REDRIVE, attempt: 1 },
        attempts: 1, // counted anew
      });
      expect(await readAll(config, 0)).toEqual([]);
    });

    it("sends changed data with every digit, and says that data is JSON", async () => {
      const { queue, config } = newQueue();
      await addAndFail(app(), queue, [{ data: { id: 1 }, opts: { jobId: "j" } }]);
      const [letter] = await readAll(config, 1);
      const payload = Buffer.from('{"id":12345678901234567890,"n":1.10}');
      await expect(send(config, letter!, { payload: Buffer.from("<x/>") })).rejects.toMatchObject({
        code: "BULLMQ_NOT_JSON",
      });
      await send(config, letter!, { payload });
      await addAndFail(app(), queue, [{ data: {}, opts: { jobId: "next" } }]);
      const after = (await readAll(config, 2)).find(({ eventId }) => eventId === "j");
      // PostgreSQL stores members in an order of its own.
      const stored = config.url.startsWith("redis") ? payload.toString() : '{"n": 1.10, "id": 12345678901234567890}';
      expect(Buffer.from(after!.payload).toString()).toBe(stored);
    });

    it("adds a new job under a new id for each attempt, removes the failed one, and keeps a child in its flow", async () => {
      const { queue, config } = newQueue({ redriveTo: { mode: "new-job" } });
      await addAndFail(app(), queue, [{ data: { n: 1 }, opts: { jobId: "order-8", priority: 3, delay: 1 } }]);
      const [letter] = await readAll(config, 1);
      const { status } = await send(config, letter!);
      const id = `order-8-r${REDRIVE.replaceAll("-", "")}-1`;
      expect(status).toBe(`job ${id} of ${queue.name}`);
      const job = (await queue.getJob(id))!;
      expect(job).toMatchObject({ name: "order-placed", data: { n: 1 }, opts: { priority: 3 } });
      expect(job.opts).toMatchObject({
        [MARKS]: { "x-redrive-id": REDRIVE, "x-redrive-origin": `${queue.name}/order-8` },
      });
      expect(await queue.getJob("order-8")).toBeUndefined();
      expect((await send(config, letter!)).status).toBe(status); // the same attempt again adds nothing
      expect(await queue.getJobCountByTypes("waiting", "prioritized", "delayed")).toBe(1);
      const child = {
        ...letter!,
        origin: { ...letter!.origin, job: { id: "c", name: "c", parent: "bull:parents:1" } },
      };
      await expect(send(config, child)).rejects.toMatchObject({ code: "BULLMQ_FLOW" });
      await expect(send(configOf({ ...config, redriveTo: undefined }), letter!)).rejects.toMatchObject({
        code: "BULLMQ_JOB_GONE",
      });
    });

    it("knows a bounce of a job whose application keeps one line of its log, or clears it", async () => {
      const { queue, config } = newQueue();
      const failWithLog = async () => {
        const failed = Promise.withResolvers<void>();
        const worker = app().worker(queue.name, async (job) => {
          await job.log("validating");
          await job.log("amount is negative");
          throw new TypeError("amount must be positive");
        });
        worker.on("failed", () => failed.resolve());
        await failed.promise;
        await worker.close();
      };
      await queue.add("order-placed", { n: 1 }, { jobId: "trimmed", keepLogs: 1 });
      await failWithLog();
      const [letter] = await readAll(config, 1);
      expect((await queue.getJobLogs("trimmed")).logs.at(-1)).toMatch(/^parkade: parked the failure of \d+$/);
      await (await queue.getJob("trimmed"))!.clearLogs();
      expect(await readAll(config, 0)).toEqual([]);
      await send(config, letter!);
      await failWithLog();
      expect((await queue.getJobLogs("trimmed")).logs).toEqual(["amount is negative"]);
      const [again] = await readAll(config, 1);
      expect(again).toMatchObject({ eventId: "trimmed", redrive: { redriveId: REDRIVE, attempt: 1 } });
      expect(await readAll(config, 0)).toEqual([]);
    });

    it("takes no job for an old one whose number it was given when the queue was emptied", async () => {
      const { queue, config } = newQueue();
      await addAndFail(app(), queue, [{ data: { order: "old" } }]);
      const [old] = await readAll(config, 1);
      await queue.obliterate({ force: true });
      await addAndFail(app(), queue, [{ data: { order: "new" } }]);
      const [letter] = await readAll(config, 1);
      const { job } = letter!.origin as { job: { id: string } };
      expect([job.id, (old!.origin as typeof letter & { job: { id: string } }).job.id]).toEqual(["1", "1"]);
      expect(letter!.eventId).not.toBe(old!.eventId);
      await expect(send(config, old!)).rejects.toMatchObject({ code: "BULLMQ_JOB_GONE", sent: "no" });
      // As a new job the old one goes, and leaves the other where it is.
      const renewed = configOf({ ...config, redriveTo: { mode: "new-job" } });
      await send(renewed, old!);
      expect(await (await queue.getJob("1"))!.getState()).toBe("failed");
      expect((await queue.getJob("1"))!.data).toEqual({ order: "new" });
      await addAndFail(app(), queue, []);
      const failed = Promise.withResolvers<void>();
      const worker = app().worker(queue.name, async () => {
        throw new Error("again");
      });
      worker.on("failed", () => failed.resolve());
      await failed.promise;
      await worker.close();
      const [bounce] = await readAll(renewed, 1);
      expect(bounce).toMatchObject({ eventId: old!.eventId, redrive: { redriveId: REDRIVE, attempt: 1 } });
    });

    it("makes no job again that was removed while it was being parked", async () => {
      const { queue, config } = newQueue();
      await addAndFail(app(), queue, [
        { data: {}, opts: { jobId: "gone" } },
        { data: {}, opts: { jobId: "kept" } },
      ]);
      const consumer = consumerOf(adapter, config, async () => {
        await (await queue.getJob("gone"))!.remove();
      });
      await eventually(() => consumer.state().parked).toBe(2);
      await consumer.stop();
      await queue.add("order-placed", { n: 2 }, { jobId: "gone" });
      expect(await (await queue.getJob("gone"))?.getState()).toBe("waiting");
    });

    it("reads all jobs that failed at one time, though what is written to them changes their order", async () => {
      const queue = app().queue(unique("orders"));
      await addAndFail(
        app(),
        queue,
        Array.from({ length: 350 }, (_, n) => ({ data: { n } })),
      );
      await app().failedAt(queue.name, Date.now());
      const letters = await readAll(configOf({ url: app().url().href, queue: queue.name }), 350);
      expect(new Set(letters.map(({ eventId }) => eventId)).size).toBe(350);
    });

    it("reads on behind jobs whose keys were removed by other means", async ({ skip }) => {
      const { queue, config } = newQueue();
      skip(!config.url.startsWith("redis"), "a row of PostgreSQL is in the set or not");
      const ids = Array.from({ length: 260 }, (_, index) => `job-${index}`);
      await addAndFail(
        app(),
        queue,
        ids.map((jobId) => ({ data: {}, opts: { jobId } })),
      );
      const redis = new Redis(config.url);
      await redis.del(`bull:${queue.name}:job-3`);
      redis.disconnect();
      expect(new Set((await readAll(config, 259)).map(({ eventId }) => eventId)).size).toBe(259);
    });

    it("lets the other sends of a store end when one of them is given up", async ({ skip }) => {
      const { queue, config } = newQueue();
      skip(config.url.startsWith("redis"), "Redis answers one command after another");
      await addAndFail(app(), queue, [
        { data: {}, opts: { jobId: "slow" } },
        { data: {}, opts: { jobId: "beside" } },
      ]);
      const letters = new Map((await readAll(config, 2)).map((letter) => [letter.eventId, letter]));
      const locks = ["slow", "beside"].map((id) => ({ id, client: new pg.Client({ connectionString: config.url }) }));
      for (const { id, client } of locks) {
        await client.connect();
        await client.query("begin");
        await client.query("select 1 from bullmq.job where queue = $1 and id = $2 for update", [queue.name, id]);
      }
      const publisher = adapter.publisher(config);
      const giveUp = new AbortController();
      const sendOf = (id: string, signal: AbortSignal) => {
        const { eventId, payload, contentType, headers, origin } = letters.get(id)!;
        const sending = publisher.publish(outbound(origin, { eventId, payload, contentType, headers }), signal);
        return sending.then(
          ({ status }) => status,
          (error: Error) => error.message,
        );
      };
      const slow = sendOf("slow", giveUp.signal);
      const beside = sendOf("beside", never);
      const watcher = new pg.Client({ connectionString: config.url });
      await watcher.connect();
      const waiting =
        "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await eventually(async () => (await watcher.query<{ n: number }>(waiting)).rows[0]!.n).toBe(2);
      giveUp.abort(new Error("given up"));
      expect(await slow).toBe("given up");
      await locks[1]!.client.query("commit");
      expect(await beside).toBe("job beside is waiting again");
      await Promise.all([watcher, ...locks.map(({ client }) => client)].map((client) => client.end()));
      await publisher.close();
    });

    it("reads a job once, and not with each walk through the failed set", async ({ skip }) => {
      const { queue, config } = newQueue();
      skip(!config.url.startsWith("redis"), "only Redis counts its commands by name");
      await addAndFail(
        app(),
        queue,
        Array.from({ length: 130 }, (_, n) => ({ data: { n } })),
      );
      const clock = manualClock();
      const session = await bullmqAdapter({ clock, random: () => 0 }).reader!(config, "orders").open(
        never,
        () => undefined,
      );
      const take = () => session.take(100, never, 1);
      const parked = [...(await take()), ...(await take())].map(({ handle }) => handle);
      expect(parked).toHaveLength(130);
      await session.acknowledge(parked);
      const redis = new Redis(config.url);
      const callsOf = async (command: string) =>
        Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info("commandstats"))?.[1] ?? 0);
      const [walks, jobs] = [await callsOf("zrange"), await callsOf("hgetall")];
      await clock.advance(61_000);
      const looking = take();
      await eventually(() => clock.pending()).toBe(1);
      await clock.advance(1_000);
      expect(await looking).toEqual([]);
      expect(await callsOf("zrange")).toBeGreaterThan(walks + 1);
      expect(await callsOf("hgetall")).toBe(jobs);
      redis.disconnect();
      await session.close(true);
    });

    it("counts a new job as sent when the failed one cannot be removed", async ({ skip }) => {
      const { queue, config } = newQueue({ redriveTo: { mode: "new-job" } });
      skip(!config.url.startsWith("redis"), "a row of PostgreSQL cannot be spoilt like a key");
      await addAndFail(app(), queue, [{ data: { n: 1 }, opts: { jobId: "order-9" } }]);
      const [letter] = await readAll(config, 1);
      const redis = new Redis(config.url);
      await redis.set(`bull:${queue.name}:order-9`, "not a job");
      expect((await send(config, letter!)).status).toMatch(/^job order-9-r/);
      await redis.del(`bull:${queue.name}:order-9`);
      redis.disconnect();
    });
  });
}

describeWith(redisInstalled ? null : "redis-server is missing", "bullmq on Redis", () => suite(redisApp));
describe("bullmq on PostgreSQL", () => suite(postgresApp));
