import { afterEach, beforeEach, expect, test } from "vitest";
import * as events from "@/app/(events)/api/v1/events/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

let web: TestConsole;
beforeEach(async () => {
  web = await testConsole({
    PARKADE_CLIENT_REQUESTS: "5",
    PARKADE_SOURCE_REQUESTS: "2",
    PARKADE_CLIENT_BYTES: "3000000",
  });
  await addSource(web.deps.db, "orders");
  await addSource(web.deps.db, "billing");
  // No test runs over the edge of a window, where one request more passes.
  Object.assign(web.deps.clock, { nowMs: () => 0 });
});
afterEach(() => web.close());

const letter = (source: string, eventId: string, payload: unknown = {}) => ({
  source,
  eventId,
  errorCode: "X",
  payload,
});

test("the sixth request of a client gets a Retry-After; another client is not affected", async () => {
  for (let request = 0; request < 5; request++) {
    const { status, headers } = await web.call(events.GET);
    expect(status).toBe(200);
    expect(headers.get("ratelimit-policy")).toBe('"client";q=5;w=10');
    expect(headers.get("ratelimit")).toMatch(new RegExp(`^"client";r=${4 - request};t=\\d+$`));
  }
  const refused = await web.call(events.GET);
  expect(refused).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(refused.headers.get("ratelimit")).toBe(`"client";r=0;t=${refused.headers.get("retry-after")}`);
  expect((await web.call(events.GET, { headers: { "x-actor": "bob" } })).status, "under another name").toBe(429);
  const elsewhere = { "x-parkade-address": "127.0.0.7" };
  expect((await web.call(events.GET, { headers: elsewhere })).status).toBe(200);
});

test("the third request for a source is refused, whoever sends it, and parks nothing", async () => {
  const send = (source: string, eventId: string, actor: string) =>
    web.call(events.POST, { body: letter(source, eventId), headers: { "x-actor": actor } });
  await send("orders", "e-1", "ada");
  // One request, though its events come in two batches.
  const lines = Array.from({ length: 1_500 }, (_, index) => JSON.stringify(letter("orders", `l-${index}`))).join("\n");
  const streamed = await web.call(events.POST, { body: lines, headers: { "content-type": "application/x-ndjson" } });
  expect(streamed.body).toMatchObject({ accepted: 1_500 });
  const refused = await send("orders", "e-2", "bob");
  expect(refused).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
  expect(refused.headers.get("ratelimit-policy")).toBe('"source";q=2;w=10');
  expect((await send("billing", "e-3", "bob")).status).toBe(202);
  const [row] = await web.deps.db.query<{ n: number }>("select count(*)::int as n from dlq_events");
  expect(row!.n).toBe(1_502);
});

test("a client has so many bytes under way, and gets its place back when a request has ended", async () => {
  const large = (eventId: string) => letter("billing", eventId, "x".repeat(1_000_000));
  const two = (name: string) => [large(`${name}-1`), large(`${name}-2`)];
  // The first is held until its body has come, which the test ends.
  let finish = () => {};
  const text = JSON.stringify(two("a"));
  const slow = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text.slice(0, -1)));
      finish = () => {
        controller.enqueue(new TextEncoder().encode(text.slice(-1)));
        controller.close();
      };
    },
  });
  const first = web.call(events.POST, { body: slow });
  await expect.poll(() => web.deps.limits.heldBytes()).toBeGreaterThan(1_900_000);
  const refused = await web.call(events.POST, { body: two("b") });
  expect(refused).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
  expect(refused.headers.get("ratelimit-policy")).toContain("content-bytes");
  finish();
  expect((await first).body).toMatchObject({ accepted: 2 });
  expect(web.deps.limits.heldBytes()).toBe(0);
  expect((await web.call(events.POST, { body: two("b") })).body).toMatchObject({ accepted: 2 });
});
