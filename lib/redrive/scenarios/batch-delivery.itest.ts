import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** A target that takes batches: order, attempts and doubt count events, and not requests. */

type Event = { key: string; eventId: string; aggregate: string };
type Respond = (response: ServerResponse, batch: Event[]) => unknown;

let batches: Event[][] = [];
let respond: Respond;
const server = createServer(async (request, response) => {
  let raw = "";
  for await (const chunk of request.setEncoding("utf8")) raw += chunk;
  if (request.method !== "POST") return void response.writeHead(204).end();
  const batch = raw
    .trimEnd()
    .split("\n")
    .map((text) => {
      const { key, body } = JSON.parse(text) as { key: string; body: string };
      return { key, eventId: key.slice("orders:".length), aggregate: (JSON.parse(body) as { of: string }).of };
    });
  batches.push(batch);
  respond(response, batch);
});

const results = (batch: Event[], statusOf: (event: Event) => number = () => 200) =>
  batch.map((event) => `${JSON.stringify({ key: event.key, status: statusOf(event) })}\n`).join("");
const takeAll: Respond = (response, batch) => response.end(results(batch));
const arrivals = () => batches.flat();

const world = worldOfEachTest({
  afterwards: () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  },
});
beforeEach(async () => {
  batches = [];
  respond = takeAll;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  await world.db.run("update sources set config = $1::jsonb, updated_at = now()", [
    JSON.stringify({
      redriveUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
      batch: { format: "ndjson", events: 50, bytes: 1_000_000 },
    }),
  ]);
});

/** `size` events for each aggregate, in their order. */
const parkAggregates = (count: number, size: number) =>
  world.park(count, (index) => ({
    aggregateId: `order-${Math.floor(index / size)}`,
    version: BigInt(index % size) + 1n,
    payload: Buffer.from(JSON.stringify({ of: `order-${Math.floor(index / size)}` })),
  }));
const parkAlone = (count: number) =>
  world.park(count, (index) => ({ payload: Buffer.from(JSON.stringify({ of: `${index}` })) }));

test("many events are one request, and no batch holds two events of an aggregate", async () => {
  await parkAggregates(120, 4);
  await world.worker();
  expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 120 });
  expect(arrivals()).toHaveLength(120);
  expect(batches.length).toBeLessThan(60);
  for (const batch of batches) expect(new Set(batch.map(({ aggregate }) => aggregate)).size).toBe(batch.length);
  for (const events of Map.groupBy(arrivals(), ({ aggregate }) => aggregate).values()) {
    expect(events.map(({ eventId }) => eventId)).toEqual(events.map(({ eventId }) => eventId).toSorted());
  }
});

test("a refused event fails alone, and one without a result goes again with its key", async () => {
  await parkAlone(40);
  const passedOver = new Set<string>();
  respond = (response, batch) => {
    const named = batch.filter(({ eventId }) => {
      if (eventId !== "event-0007" || passedOver.has(eventId)) return true;
      passedOver.add(eventId);
      return false;
    });
    response.end(results(named, ({ eventId }) => (eventId === "event-0003" ? 422 : 200)));
  };
  await world.worker();
  expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 39, failed: 1 });
  const times = (id: string) => arrivals().filter(({ eventId }) => eventId === id).length;
  expect([times("event-0003"), times("event-0007"), arrivals().length]).toEqual([1, 2, 41]);
  const attempts = await world.db.query<{ n: number; state: string; code: string }>(
    `select a.attempt as n, a.state, a.code from sends a join dlq_events e on e.id = a.id
      where e.event_id = 'event-0007' order by a.attempt`,
  );
  expect(attempts).toEqual([
    { n: 1, state: "ambiguous", code: "HTTP_NO_RESULT" },
    { n: 2, state: "delivered", code: "OK" },
  ]);
});
