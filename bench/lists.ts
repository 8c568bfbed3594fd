import { createHash } from "node:crypto";
import * as events from "@/app/(events)/api/v1/events/route";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { encodeCursor } from "@/lib/selection/cursor.shapes";
import { fromSearchParams } from "@/lib/selection/filter/event-filter.shapes";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";
import { percentiles } from "./figures";
import type { Reading } from "./scenario";
import { eventIdOf, fingerprintOf, type StoreSize, storeShape, TYPES } from "./store";

/** The event list through the route's own handler, with parsing, cursor and JSON: each filter, common pairs, and at depth. */

/** Milliseconds. */
function listAimMs(events: number): number {
  if (events > 10_000_000) return 30;
  return events > 1_000_000 ? 15 : 10;
}

type Case = { name: string; query: (i: number) => string };

export const pick = (list: readonly string[], i: number) => list[i % list.length]!;

function casesOf(events: number): Case[] {
  const { sources, codes } = storeShape(events);
  const event = (i: number) => (i * 7_919) % events;
  const fingerprint = (i: number) => fingerprintOf(i % codes.length, i % 6);
  return [
    { name: "none", query: () => "" },
    { name: "source", query: (i) => `source=${pick(sources, i)}` },
    { name: "eventId", query: (i) => `eventId=${eventIdOf(event(i))}` },
    { name: "aggregateId", query: (i) => `aggregateId=order-${i % 1_000}` },
    { name: "eventType", query: (i) => `eventType=${pick(TYPES, i)}` },
    { name: "errorCode", query: (i) => `errorCode=${pick(codes, i)}` },
    { name: "fingerprint", query: (i) => `fingerprint=${fingerprint(i)}` },
    { name: "status", query: (i) => `status=${pick(["PENDING", "QUEUED", "REDRIVEN", "IGNORED"], i)}` },
    { name: "status refined", query: (i) => `status=${pick(["BOUNCED", "CONFIRMED", "COOLING"], i)}` },
    { name: "from", query: (i) => `from=-${1 + (i % 700)}h` },
    { name: "from+to", query: (i) => `from=-${2 + (i % 700)}h&to=-${1 + (i % 700)}h` },
    { name: "traceId", query: (i) => `traceId=${hash(event(i))}` },
    { name: "q word", query: (i) => `q=${pick(["stock", "ledger", "warehouse failed"], i)}` },
    { name: "q number", query: (i) => `q=${event(i)}&from=-2h` },
    { name: "tag rare", query: (i) => `tag.orderId=${event(i)}` },
    { name: "tag common", query: (i) => `tag.tenant=${pick(["acme", "globex"], i)}` },
    { name: "errorCode+status", query: (i) => `errorCode=${pick(codes, i)}&status=${pick(["PENDING", "IGNORED"], i)}` },
    { name: "errorCode+status none", query: () => "errorCode=DESERIALIZATION_ERROR&status=IGNORED" },
    { name: "source+errorCode", query: (i) => `source=${pick(sources, i)}&errorCode=${pick(codes, i)}` },
    { name: "source+errorCode none", query: () => "source=orders&errorCode=RATE_LIMITED" },
    { name: "source+status", query: (i) => `source=${pick(sources, i)}&status=${pick(["PENDING", "QUEUED"], i)}` },
    { name: "fingerprint+status", query: (i) => `fingerprint=${fingerprint(i)}&status=PENDING` },
    { name: "eventType+status", query: (i) => `eventType=${pick(TYPES, i)}&status=IGNORED` },
    { name: "eventType+errorCode", query: (i) => `eventType=${pick(TYPES, i)}&errorCode=${pick(codes, i)}` },
    { name: "errorCode+from", query: (i) => `errorCode=${pick(codes, i)}&from=-24h` },
    { name: "q+status", query: () => "q=stock&status=IGNORED" },
    { name: "tag+status", query: () => "tag.tenant=acme&status=PENDING" },
    { name: "tag+errorCode", query: (i) => `tag.orderId=${event(i)}&errorCode=${pick(codes, i)}` },
    {
      name: "three codes, two states",
      query: () => "errorCode=TIMEOUT&errorCode=UNKNOWN&errorCode=AUTH_ERROR&status=PENDING&status=QUEUED",
    },
  ];
}

/** Cases that have enough rows to page deep into. */
const DEEP = ["none", "source", "errorCode", "status", "fingerprint", "errorCode+status", "tag common", "q word"];
const DEPTHS = [0.25, 0.5, 0.95];

function hash(n: number): string {
  return createHash("md5").update(String(n)).digest("hex");
}

const context = { params: Promise.resolve({}) };

/** One page. Its bytes are made when the handler answers; a client's work with them is not measured. */
export async function list(query: string): Promise<void> {
  const response = await events.GET(
    new Request(`http://localhost:3000/api/v1/events?${query}`, { headers: LOCAL_CALLER }),
    context,
  );
  if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
}

/** The p95 of each case; the bound grows with the store. */
export async function* listReadings({ events, days }: StoreSize, requests: number): AsyncGenerator<Reading> {
  const cases = casesOf(events);
  const deep = DEEP.flatMap((name) => {
    const { query } = cases.find((one) => one.name === name)!;
    return DEPTHS.map((depth) => {
      const cursors = cursorsAt(query, depth, days);
      return { name: `${name} at ${depth * 100} %`, query: (i: number) => pick(cursors, i) };
    });
  });
  for (const { name, query } of [...cases, ...deep]) {
    // Plans are cached per connection after a few calls: the bench measures a server that has run for a while.
    yield await percentiles(`list ${name}`, { warm: 30, times: requests, bound: { max: listAimMs(events) } }, (i) =>
      list(query(i)),
    );
  }
  // No group holds the word, so every last error is read: two microseconds an event.
  yield await percentiles("list q no match", { warm: 1, times: 10, bound: { max: events / 500 } }, (i) =>
    list(`q=nowhere-${i}`),
  );
}

/** Queries that start at a share of the store's age: the cursor is what the page before would have given. */
function cursorsAt(query: Case["query"], depth: number, days: number): string[] {
  return Array.from({ length: 200 }, (_, i) => {
    const text = query(i);
    const atMs = Date.now() - (depth + i / 10_000) * days * 86_400_000;
    const id = uuidv7LowerBound(atMs)
      .replace(/^(.{14})0/, "$17")
      .replace(/^(.{19})0/, "$18");
    const cursor = encodeCursor({ id, towards: "older" }, fromSearchParams(new URLSearchParams(text)));
    return `${text}&cursor=${cursor}`;
  });
}
