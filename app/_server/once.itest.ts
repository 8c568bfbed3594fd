import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as controls from "@/app/api/v1/controls/route";
import * as ignore from "@/app/api/v1/events/ignore/route";
import * as release from "@/app/api/v1/events/release/route";
import * as events from "@/app/api/v1/events/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { redisInstalled, type TestRedis, testRedis } from "@/lib/testing/redis";

const reason = "stock is back";
const key = { "idempotency-key": '"0198-click"' };

describe.each([
  { backend: "postgres" as const, skip: false },
  { backend: "redis" as const, skip: !redisInstalled },
])("a request sent again, keys on $backend", ({ backend, skip }) => {
  describe.skipIf(skip)("with an Idempotency-Key", () => {
    let redis: TestRedis | null = null;
    let web: TestConsole;

    beforeAll(async () => {
      redis = backend === "redis" ? await testRedis() : null;
    });
    afterAll(async () => {
      await redis?.stop();
    });
    beforeEach(async () => {
      await redis?.restart();
      web = await testConsole(redis ? { REDIS_URL: redis.url } : {});
      await addSource(web.deps.db, "orders");
    });
    afterEach(() => web.close());

    const letter = (eventId: string) => ({ source: "orders", eventId, errorCode: "TIMEOUT", payload: { n: 1 } });
    const parked = async () => web.deps.db.query<{ id: string }>("select id from dlq_events order by id");

    test("imposes one control, where without a key it would be two", async () => {
      const body = { kind: "blacklist", scope: { aggregateId: "order-4" }, reason };
      const first = await web.call(controls.POST, { body, headers: key });
      const second = await web.call(controls.POST, { body, headers: key });
      expect(first.status).toBe(201);
      expect(second).toMatchObject({ status: 201, text: first.text });
      expect(await web.deps.db.query("select id from controls")).toHaveLength(1);
      const other = await web.call(controls.POST, { body: { ...body, scope: { aggregateId: "b" } }, headers: key });
      expect(other).toMatchObject({ status: 422, body: { code: "idempotency-key-reused" } });
      await web.call(controls.POST, { body });
      expect(await web.deps.db.query("select id from controls")).toHaveLength(2);
    });

    test("of many at the same time one runs; the rest is answered the same or told to wait", async () => {
      const body = { kind: "blacklist", scope: { aggregateId: "order-4" }, reason };
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => web.call<{ code?: string }>(controls.POST, { body, headers: key })),
      );
      expect(await web.deps.db.query("select id from controls")).toHaveLength(1);
      for (const answer of answers) {
        expect([201, 409]).toContain(answer.status);
        if (answer.status === 409) {
          expect(answer.body.code).toBe("idempotency-key-in-progress");
          expect(answer.headers.get("retry-after")).toBe("1");
        }
      }
      expect(answers.some((answer) => answer.status === 201)).toBe(true);
    });

    test("ignores and releases once: what was released meanwhile is not ignored again", async () => {
      await web.call(events.POST, { body: [letter("e-1"), letter("e-2")] });
      const body = { select: { ids: (await parked()).map((row) => row.id) }, reason };
      const first = await web.call(ignore.POST, { body, headers: key });
      expect(first).toMatchObject({ status: 202, body: { changed: 2 } });
      await web.call(release.POST, { body });
      expect(await web.call(ignore.POST, { body, headers: key })).toMatchObject({ status: 202, body: first.body });
      const statuses = await web.deps.db.query<{ status: string }>("select status from dlq_events");
      expect(statuses.map((row) => row.status)).toEqual(["PENDING", "PENDING"]);
    });

    test("answers an ingest with its first counts, in every form", async () => {
      const lines = `${JSON.stringify(letter("e-1"))}\n${JSON.stringify(letter("e-2"))}\n`;
      const ndjson = { ...key, "content-type": "application/x-ndjson" };
      const first = await web.call(events.POST, { body: lines, headers: ndjson });
      expect(first.body).toMatchObject({ accepted: 2, duplicates: 0 });
      expect(await web.call(events.POST, { body: lines, headers: ndjson })).toMatchObject({ text: first.text });
      const longer = lines + JSON.stringify(letter("e-3"));
      expect(await web.call(events.POST, { body: longer, headers: ndjson })).toMatchObject({
        status: 422,
        body: { code: "idempotency-key-reused" },
      });
      const cloudEvent = (id: string) => ({
        headers: {
          ...{ "idempotency-key": "ce-1", "ce-specversion": "1.0", "ce-id": id, "ce-source": "orders" },
          ...{ "ce-type": "OrderCreated", "ce-errorcode": "TIMEOUT", "x-parkade-source": "orders" },
        },
        body: "{}",
      });
      expect(await web.call(events.POST, cloudEvent("c-1"))).toMatchObject({ status: 202, body: { accepted: 1 } });
      expect(await web.call(events.POST, cloudEvent("c-1"))).toMatchObject({ status: 202, body: { accepted: 1 } });
      expect(await web.call(events.POST, cloudEvent("c-2"))).toMatchObject({ status: 422 });
      expect(await parked()).toHaveLength(3);
    });

    test("does not take a repeated ingest for a bounce of what was redriven meanwhile", async () => {
      const status = async () =>
        (await web.deps.db.query<{ status: string }>("select status from dlq_events"))[0]!.status;
      await web.call(events.POST, { body: letter("e-1"), headers: key });
      await web.deps.db.run("update dlq_events set status = 'REDRIVEN', redrive_at = now()");
      expect(await web.call(events.POST, { body: letter("e-1"), headers: key })).toMatchObject({
        body: { accepted: 1, bounced: 0 },
      });
      expect(await status()).toBe("REDRIVEN");
      expect(await web.call(events.POST, { body: letter("e-1") })).toMatchObject({ body: { bounced: 1 } });
      expect(await status()).toBe("PENDING");
    });

    test("may be repeated after it failed", async () => {
      const body = { ...letter("e-1"), source: "billing" };
      expect(await web.call(events.POST, { body, headers: key })).toMatchObject({ status: 404 });
      await addSource(web.deps.db, "billing");
      expect(await web.call(events.POST, { body, headers: key })).toMatchObject({ status: 202, body: { accepted: 1 } });
    });

    test.runIf(backend === "redis")("does nothing while the keys cannot be read, and says so", async () => {
      const body = { kind: "blacklist", scope: { aggregateId: "order-4" }, reason };
      await redis!.kill();
      const answer = await web.call(controls.POST, { body, headers: key });
      expect(answer).toMatchObject({ status: 503, body: { code: "queue-unavailable" } });
      expect(answer.headers.get("retry-after")).toBe("5");
      expect(await web.deps.db.query("select id from controls")).toHaveLength(0);
      expect(await web.call(controls.POST, { body })).toMatchObject({ status: 201 });
    });
  });
});
