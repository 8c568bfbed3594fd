import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { BasicProperties } from "@/lib/brokers/rabbitmq/basic-properties";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { countEvents } from "@/lib/events/list/event-count.read";
import { listEvents } from "@/lib/events/list/event-list.read";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readRedriveSuccess, readSize } from "@/lib/observe/stats/stats.read";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";
import { createLowRateStore } from "@/lib/platform/database/prisma";
import { listRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { statsQueryFrom } from "@/lib/selection/stats-query.shapes";
import { createSource } from "@/lib/sources/create-source";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "@/lib/testing/rabbitmq";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { type Consumed, DELIVERY_LIMIT, openWorkQueue, type WorkQueue } from "@/lib/testing/work-queue";

/**
 * The whole job on a real broker: a consumer that rejects, dead letters that RabbitMQ itself wrote, a worker that parks
 * and redrives them, and the same consumer, healthy again, that gets them back.
 */

const SOURCE = "payments";
const AGGREGATES = 4;
const VERSIONS = 3;
/** Its payload lacks what the source's schema asks for. */
const BROKEN = "payment-broken";
/** The consumer rejects this one again after the redrive. It is the last of its aggregate: it holds back nobody. */
const STUBBORN = "payment-2-v3";

const SCHEMA = { type: "object", required: ["amount"], properties: { amount: { type: "number" } } };

type Message = { properties: BasicProperties; body: Buffer };

function payment(eventId: string, facts: { aggregate: string; version: number; body: string }): Message {
  return {
    properties: {
      contentType: "application/vnd.acme.payment+json",
      contentEncoding: "identity",
      // By name, as RabbitMQ orders them when it dead-letters.
      headers: [
        ["aggregate-id", { type: "longstr", value: facts.aggregate }],
        ["aggregate-version", { type: "int64", value: BigInt(facts.version) }],
        ["retries-allowed", { type: "uint8", value: 7 }],
        ["tenant", { type: "longstr", value: "süd" }],
        ["tenant", { type: "bytes", value: Buffer.from([0, 255]) }],
        ["weight", { type: "decimal", places: 2, digits: 1234 }],
      ],
      deliveryMode: 2,
      priority: 3,
      correlationId: `request-of-${eventId}`,
      messageId: eventId,
      timestamp: 1_795_163_502n,
      type: "PaymentRequested",
      appId: "checkout",
    },
    body: Buffer.from(facts.body),
  };
}

/** Each aggregate's newest version comes first: only the version can tell the right order. */
function payments(): Message[] {
  const messages: Message[] = [];
  for (let version = VERSIONS; version >= 1; version--) {
    for (let aggregate = 0; aggregate < AGGREGATES; aggregate++) {
      const body = `{ "amount": 1.50, "big": 9007199254740993,\n  "note": "ü ${aggregate}" }`;
      messages.push(payment(`payment-${aggregate}-v${version}`, { aggregate: `account-${aggregate}`, version, body }));
    }
  }
  messages.push(payment(BROKEN, { aggregate: "account-broken", version: 1, body: '{"amont": 3}' }));
  return messages;
}

const ALL = AGGREGATES * VERSIONS + 1;
const GOOD = ALL - 1;

describeWith(rabbitmqMissing, "dead letters of a real RabbitMQ", () => {
  let rabbit: TestRabbitmq;
  beforeAll(async () => {
    rabbit = await testRabbitmq();
  });
  afterAll(async () => {
    await rabbit?.stop();
  });

  const world = worldOfEachTest();
  let work: WorkQueue;

  beforeEach(async () => {
    work = await openWorkQueue(rabbit, `payments-${randomBytes(4).toString("hex")}`);
  });
  afterEach(() => work.close());

  const filter = { source: [SOURCE] };
  const count = async (status?: "PENDING" | "REDRIVEN" | "CONFIRMED" | "BOUNCED") => {
    const counts = await countEvents(
      world.db,
      localViewer(),
      { ...filter, ...(status && { status: [status] }) },
      Date.now(),
    );
    return counts.total;
  };
  const exactly = (value: number) => expect.objectContaining({ value, kind: "exact" });
  const find = async (aggregateId: string) => {
    const page = { filter: { ...filter, aggregateId: [aggregateId] }, limit: 50, cursor: null };
    return (await listEvents(world.db, localViewer(), page, Date.now())).items;
  };

  async function makeSource(): Promise<void> {
    const lowRate = createLowRateStore(world.url);
    const schemas = createSchemaCheck(systemClock);
    try {
      const config = { url: rabbit.url, queue: work.dlq };
      const source = { name: SOURCE, kind: "rabbitmq", config, payloadSchema: SCHEMA, enabled: true, retryable: true };
      await createSource(
        {
          lowRate,
          schemas,
          clock: systemClock,
          env: { envReferences: [], plainSecretMode: "take", addresses: DEFAULT_ADDRESSES },
        },
        source,
        localViewer("ada"),
      );
    } finally {
      await schemas.close();
      await lowRate.end();
    }
  }

  const stats = () => statsQueryFrom(new URLSearchParams({ source: SOURCE }), Date.now(), ["source"]);
  const size = async () => (await readSize(world.db, localViewer(), stats(), Date.now())).now;
  const success = () => readRedriveSuccess(world.db, localViewer(), stats(), Date.now());

  const atRest = async () => {
    const queues = await Promise.all([work.queue, work.dlq].map((name) => rabbit.messages(name)));
    return queues.reduce((sum, { ready, unacknowledged }) => sum + ready + unacknowledged, 0) === 0;
  };

  test("parked, found, tried, redriven once and in order, bounced, confirmed and accounted for", async () => {
    const sent = payments();
    work.handles = () => false;
    await work.publish(sent);
    await makeSource();
    await world.worker();

    // Parked: the broker gave each up after its delivery limit, and its dead-letter queue is empty again.
    await expect.poll(() => count()).toEqual(exactly(ALL));
    await expect.poll(atRest).toBe(true);
    expect(work.consumed).toHaveLength(ALL * (DELIVERY_LIMIT + 1));

    // Found by aggregate.
    const found = await find("account-2");
    expect(found.map(({ eventId, version }) => [eventId, version]).sort()).toEqual([
      ["payment-2-v1", 1],
      ["payment-2-v2", 2],
      ["payment-2-v3", 3],
    ]);
    expect(found[0]).toMatchObject({
      source: SOURCE,
      status: "PENDING",
      eventType: "PaymentRequested",
      errorCode: "DELIVERY_LIMIT",
      // By the broker's count: a delivery that it repeated by itself is not told in the dead letter.
      attempts: 1,
      bounces: 0,
    });
    const parked = await readEventDetail(world.db, localViewer(), found[0]!.id, Date.now());
    expect(parked.origin).toMatchObject({ queue: work.queue, convention: "rabbitmq-x-death" });
    expect(Buffer.from(parked.body.base64, "base64")).toEqual(bodyOf(sent, found[0]!.eventId));

    // The dry run refuses the broken one, says why, and sends nothing.
    const verified = await world.ended((await world.request({ select: { filter }, mode: "verify" })).id);
    expect(verified).toMatchObject({ total: ALL, passed: GOOD, refused: 1, refusedByReason: { "schema-mismatch": 1 } });
    const refusals = { redriveId: verified.id, state: "refused", outcome: null, result: null, limit: 50, cursor: null };
    const [refused, ...others] = (await listRedriveItems(world.db, localViewer(), refusals)).items;
    expect(others).toEqual([]);
    expect(refused).toMatchObject({ eventId: BROKEN, result: "schema-mismatch" });
    expect(refused!.findings.find((finding) => !finding.ok)).toMatchObject({
      check: "payload-schema",
      detail: expect.stringContaining("amount"),
    });
    expect(work.consumed).toHaveLength(ALL * (DELIVERY_LIMIT + 1));
    expect(await count("PENDING")).toEqual(exactly(ALL));

    // The consumer is well again, but for one event. All that match are redriven.
    const rejectedBefore = work.consumed.length;
    work.handles = ({ messageId }) => messageId !== STUBBORN;
    const short = { quietWindowMs: 2_000, cooldownMs: 0 };
    await changeSettings(world.deps, { settings: short, reason: "a short story" }, localViewer("ada"));
    const { id } = await world.request({ select: { filter } });
    const redriven = await world.ended(id);
    expect(redriven).toMatchObject({ total: ALL, delivered: GOOD, refused: 1, failed: 0, open: 0 });

    // What is rejected again comes back as a bounce of the same event.
    await expect.poll(() => count("BOUNCED")).toEqual(exactly(1));
    await expect.poll(atRest).toBe(true);
    const again = work.consumed.slice(rejectedBefore);
    expect(again.filter(({ messageId }) => messageId === BROKEN)).toEqual([]);
    expect(again.filter(({ messageId }) => messageId === STUBBORN)).toHaveLength(DELIVERY_LIMIT + 1);
    const handled = again.filter(({ messageId }) => messageId !== STUBBORN);
    expect(handled.map(({ messageId }) => messageId).sort()).toEqual(
      sent
        .map(({ properties }) => String(properties.messageId))
        .filter((eventId) => eventId !== BROKEN && eventId !== STUBBORN)
        .sort(),
    );
    for (let aggregate = 0; aggregate < AGGREGATES; aggregate++) {
      const order = again.map(({ messageId }) => messageId).filter((one) => one.startsWith(`payment-${aggregate}-`));
      expect([...new Set(order)]).toEqual([1, 2, 3].map((version) => `payment-${aggregate}-v${version}`));
    }
    for (const delivery of handled) expect(asSent(delivery, id)).toEqual(sentAs(sent, delivery.messageId));
    expect(await count()).toEqual(exactly(ALL));
    expect(await world.event(STUBBORN)).toMatchObject({ status: "PENDING", bounces: 1, redrives: 1 });

    // The rest stays quiet and is confirmed: sizes, success rate and audit agree.
    await expect.poll(() => count("CONFIRMED")).toEqual(exactly(GOOD - 1));
    expect(await count("PENDING")).toEqual(exactly(2));
    expect(await count("REDRIVEN")).toEqual(exactly(GOOD - 1));
    expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: GOOD, confirmed: GOOD - 1, bounced: 1 });
    expect(await size()).toBe(2);
    expect(await success()).toMatchObject({
      kind: "exact",
      delivered: GOOD,
      confirmed: GOOD - 1,
      bounced: 1,
      failed: 0,
      rate: (GOOD - 1) / GOOD,
    });
    const [stubborn] = (await find("account-2")).filter(({ eventId }) => eventId === STUBBORN);
    const { history } = await readEventDetail(world.db, localViewer(), stubborn!.id, Date.now());
    const facts = history.map(({ kind, detail }) => detail.action ?? kind);
    // The broker can be back with the bounce before the worker has committed the end of its delivery.
    expect(facts.filter((fact) => fact !== "event.bounced")).toEqual([
      "event.parked",
      ...["event.queued", "verdict", "event.verified"],
      ...["event.queued", "verdict", "attempt", "event.redriven"],
    ]);
    expect(facts.filter((fact) => fact === "event.bounced")).toHaveLength(1);

    // Now it goes too.
    work.handles = () => true;
    const last = await world.ended((await world.request({ select: { ids: [stubborn!.id] } })).id);
    expect(last).toMatchObject({ total: 1, delivered: 1 });
    await expect.poll(atRest).toBe(true);
    expect(work.consumed.at(-1)!.messageId).toBe(STUBBORN);
    await expect.poll(() => count("CONFIRMED")).toEqual(exactly(GOOD));
    expect(await count("PENDING")).toEqual(exactly(1));
    expect(await size()).toBe(1);
    expect(await success()).toMatchObject({ delivered: GOOD + 1, confirmed: GOOD, bounced: 1 });
  });
});

function bodyOf(sent: readonly Message[], eventId: string): Buffer {
  return sent.find(({ properties }) => properties.messageId === eventId)!.body;
}

function sentAs(sent: readonly Message[], eventId: string): Message {
  const { properties, body } = sent.find((message) => message.properties.messageId === eventId)!;
  return { properties, body };
}

/** What the consumer got, without the marks of the redrive, which it checks. */
function asSent({ properties, body }: Consumed, redriveId: string): Message {
  const headers = properties.headers ?? [];
  const mark = (name: string) => headers.find(([header]) => header === name)?.[1];
  expect(mark("x-redrive-id")).toEqual({ type: "longstr", value: redriveId });
  expect(mark("x-redrive-attempt")).toEqual({ type: "longstr", value: "1" });
  expect(mark("x-redrive-from")).toEqual({ type: "longstr", value: SOURCE });
  return {
    properties: { ...properties, headers: headers.filter(([name]) => !name.startsWith("x-redrive-")) },
    body,
  };
}
