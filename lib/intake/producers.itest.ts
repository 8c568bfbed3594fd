import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import type { DeadLetter, Header } from "@/lib/platform/plain/dead-letter.pure";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { storedProducer } from "./producer";

const world = worldOfEachTest();
const EU = "/shop/eu";
const US = "/shop/us";

const letterOf = (producer: string | undefined, change: Partial<DeadLetter> = {}) =>
  deadLetter({ eventId: "7", aggregateId: null, producer, ...change });
const park = (...letters: DeadLetter[]): Promise<ParkOutcome[]> =>
  parkEvents(
    world.deps,
    letters.map((letter) => ({ source: "orders", letter })),
    localViewer("tester"),
  );
type Stored = { id: string; producer: string; status: string; bounces: number; confirmed: boolean };
const stored = () =>
  world.db.query<Stored>(
    "select id, producer, status, bounces, confirmed_at is not null as confirmed from dlq_events order by id",
  );

async function redrive(ids: string[]): Promise<string> {
  await world.worker();
  const { id } = await world.request({ select: { ids } });
  await world.ended(id);
  return id;
}

/** As a release that knew of no producers had stored it. */
async function asBefore(): Promise<void> {
  for (const table of ["event_keys", "dlq_events"]) await world.db.run(`update ${table} set producer = ''`);
}

describe("events of two producers with one id", () => {
  test("are two events, in one batch and in two, and each repeat is a duplicate", async () => {
    expect(await park(letterOf(EU), letterOf(US), letterOf(EU))).toEqual(["parked", "parked", "duplicate"]);
    expect(await park(letterOf(US), letterOf(undefined), letterOf(EU))).toEqual(["duplicate", "parked", "duplicate"]);
    expect((await stored()).map(({ producer }) => producer)).toEqual([EU, US, ""]);
  });

  test("are sent in one redrive under keys of their own", async () => {
    await park(letterOf(EU), letterOf(US), letterOf(undefined));
    await redrive((await stored()).map(({ id }) => id));
    const keys = ["orders/%2Fshop%2Feu:7", "orders/%2Fshop%2Fus:7", "orders:7"];
    expect(world.sink.arrived.map(({ key }) => key).sort()).toEqual(keys);
  });

  test("a letter that lost its producer comes back to the event of the redrive that it names", async () => {
    await park(letterOf(EU), letterOf(US));
    const [eu] = await stored();
    const redriveId = await redrive([eu!.id]);
    expect(await park(letterOf(undefined, { redrive: { redriveId, attempt: 1 } }))).toEqual(["bounced"]);
    expect(await stored()).toMatchObject([
      { producer: EU, bounces: 1 },
      { producer: US, bounces: 0 },
    ]);
  });

  test("a confirmation is of the producer that it names, and of none when it names none", async () => {
    await park(letterOf(EU), letterOf(US), letterOf(EU, { eventId: "8" }));
    const confirm = (eventIds: string[], producer?: string) =>
      confirmEvents(world.deps, { source: "orders", eventIds, producer }, localViewer("consumer"));
    expect(await confirm(["7", "8"])).toMatchObject({ changed: 1, refused: { "several-producers": 1 } });
    expect(await confirm(["7"], "/shop/de")).toMatchObject({ changed: 0, refused: { "not-found": 1 } });
    expect(await confirm(["7"], US)).toMatchObject({ changed: 1, refused: {} });
    expect((await stored()).map(({ confirmed }) => confirmed)).toEqual([false, true, true]);
    // The word about an event that is not parked yet is of its producer alone.
    expect(await park(letterOf("/shop/de"))).toEqual(["parked"]);
    const words = await world.db.query("select producer, event_id from processed_events order by 1, 2");
    expect(words).toEqual([
      { producer: "/shop/de", event_id: "7" },
      { producer: EU, event_id: "8" },
      { producer: US, event_id: "7" },
    ]);
  });
});

describe("an event that was parked before producers were a part of its identity", () => {
  const HEADERS: [kind: string, letter: Partial<DeadLetter>][] = [
    [
      "HTTP",
      { headers: [["ce-source", "%2Fshop%2Feu"]], origin: { convention: "cloudevents", properties: { source: EU } } },
    ],
    [
      "Kafka",
      {
        headers: [
          ["ce_id", "7"],
          ["ce_source", EU],
        ],
      },
    ],
    ["AMQP", { headers: [["cloudEvents:source", EU]] }],
    ["RabbitMQ", { headers: [["cloudEvents_source", EU]] }],
    ["NServiceBus", { origin: { convention: "nservicebus", consumer: EU, queue: "billing" } }],
    ["NServiceBus without an endpoint", { origin: { convention: "nservicebus", queue: EU } }],
    ["NATS", { origin: { convention: "nats-advisory", stream: EU } }],
    ["EventBridge", { origin: { convention: "eventbridge-rule", target: EU } }],
    [
      "a structured CloudEvent",
      { contentType: "application/cloudevents+json", payload: Buffer.from(`{"id":"7","source":"${EU}"}`) },
    ],
  ];

  test.each(HEADERS)(
    "over %s: its repeat is a duplicate, and another producer's event is stored",
    async (_, letter) => {
      await park(letterOf(EU, letter));
      await asBefore();
      expect(await park(letterOf(EU, letter), letterOf(US, letter))).toEqual(["duplicate", "parked"]);
      expect(await park(letterOf(EU, letter), letterOf(US, letter))).toEqual(["duplicate", "duplicate"]);
      expect((await stored()).map(({ producer }) => producer)).toEqual(["", US]);
    },
  );

  test("goes under the key that its consumer knows, bounces and is confirmed", async () => {
    const headers: Header[] = [["ce_source", EU]];
    await park(letterOf(EU, { headers }), letterOf(EU, { headers, eventId: "8" }));
    await asBefore();
    const [first] = await stored();
    await redrive([first!.id]);
    expect(world.sink.arrived.map(({ key }) => key)).toEqual(["orders:7"]);
    expect(await park(letterOf(EU, { headers }))).toEqual(["bounced"]);
    const confirm = (eventIds: string[], producer?: string) =>
      confirmEvents(world.deps, { source: "orders", eventIds, producer }, localViewer("consumer"));
    expect(await confirm(["7"])).toMatchObject({ changed: 1, refused: {} });
    expect(await confirm(["8"], US)).toMatchObject({ changed: 0, refused: { "not-found": 1 } });
    expect(await confirm(["8"], EU)).toMatchObject({ changed: 1, refused: {} });
  });
});

test("a producer that an index cannot hold keeps its start, and no two are one", () => {
  expect(storedProducer(EU)).toBe(EU);
  const long = (end: string) => storedProducer(`/shop/${"\u20ac".repeat(2_000)}${end}`);
  expect(long("a")).not.toBe(long("b"));
  expect(Buffer.byteLength(long("a"))).toBeLessThanOrEqual(200);
  expect(storedProducer(long("a"))).toBe(long("a"));
});
