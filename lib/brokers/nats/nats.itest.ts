import { randomBytes } from "node:crypto";
import { AckPolicy, type JsMsg, jetstream, RetentionPolicy, type StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, type ExactMessage, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import {
  adapter,
  configOf,
  direct,
  jsm,
  makeHarness,
  makeStreams,
  never,
  onNats,
  publish,
  takeAll,
} from "@/lib/brokers/nats/testing/nats-broker";
import type { PublishError } from "@/lib/brokers/port";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { natsMissing } from "@/lib/testing/nats";

describeWith(natsMissing, "nats", () => {
  onNats();

  describeBroker<NatsConfig>("nats", makeHarness);
  describe("advisories", () => advisoryTests());
  describe("a dead letter's way back", () => redriveTests());
  describe("permissions", () => permissionTests());
});

/** A stream with a consumer that gives a message up after one delivery, and a stream that captures what NATS says of it. */
async function makeOrders(change: Partial<StreamConfig> = {}, name?: string) {
  const id = randomBytes(4).toString("hex");
  const [orders, subject] = [name ?? `ORDERS_${id}`, `orders.${id}`];
  await jsm.streams.add({ name: orders, subjects: [`${subject}.>`], ...change });
  await jsm.consumers.add(orders, {
    durable_name: "worker",
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(1_000),
    max_deliver: 1,
  });
  const config = configOf({
    ackWaitSeconds: 2,
    stream: "ADVISORIES", // only one stream of an account can capture them
    read: "advisories",
    createStream: true,
    filter: `$JS.EVENT.ADVISORY.CONSUMER.*.${orders}.>`,
    consumer: `reader_${id}`,
  });
  return { orders, subject, config };
}

/** The worker gets the next message and fails in the way that `how` says. */
async function failNext(stream: string, how: (message: JsMsg) => void): Promise<void> {
  const message = await (await jetstream(direct).consumers.get(stream, "worker")).next({ expires: 5_000 });
  how(message!);
  await direct.flush();
}

/** The stream of advisories must be there before the first one. */
async function capture(config: NatsConfig): Promise<void> {
  const consumer = consumerOf(adapter, config, async () => undefined);
  await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: null });
  await consumer.stop();
}

function advisoryTests(): void {
  it("parks what was delivered too often and what was terminated, with the original message", async () => {
    const { orders, subject, config } = await makeOrders();
    await capture(config);
    expect((await jsm.streams.info("ADVISORIES")).config.max_age).toBe(nanos(30 * 86_400_000));
    const headers: ExactMessage["headers"] = [
      ["Nats-Msg-Id", Buffer.from("placed-1")],
      ["x-tenant", Buffer.from("eu")],
      ["X-Bytes", Buffer.from([0xff, 0x20, 0x00, 0x20])],
      ["x-tenant", Buffer.from("us")],
    ];
    await publish(`${subject}.placed`, { body: Buffer.from('{"n":1}'), headers });
    await failNext(orders, (message) => message.term("bad amount"));
    const terminated = await parkOne(adapter, config);
    expect(terminated).toMatchObject({ eventId: "placed-1", errorCode: "REJECTED", attempts: 1 });
    expect(terminated.error.message).toContain("terminated by consumer worker");
    expect(terminated.error.message).toContain("bad amount");
    expect(terminated.origin).toMatchObject({ subject: `${subject}.placed`, stream: orders, consumer: "worker" });
    expect(await sendAll(adapter, config, [backOut(terminated)])).toEqual([{ status: "stored" }]);
    const [, back] = await takeAll(orders);
    expect(back!.body!.toString()).toBe('{"n":1}');
    expect(back!.headers.filter(([name]) => !/^(x-redrive|nats)-/i.test(name))).toEqual(headers.slice(1));

    await publish(`${subject}.placed`, { body: Buffer.from("2"), headers: [] });
    await failNext(orders, (message) => message.nak());
    // NATS gives a message up when it would hand it out again.
    await (await jetstream(direct).consumers.get(orders, "worker")).next({ expires: 1_000 });
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, config, async (batch) => void parked.push(...batch));
    await eventually(() => parked.map(({ errorCode }) => errorCode)).toContain("DELIVERY_LIMIT");
    await consumer.stop();
  });

  it("parks a message that is gone as a reference, and refuses to redrive it", async () => {
    const { orders, subject, config } = await makeOrders({ retention: RetentionPolicy.Workqueue });
    await capture(config);
    await publish(`${subject}.placed`, { body: Buffer.from("{}"), headers: [] });
    await failNext(orders, (message) => message.term()); // a work queue drops it at once
    const letter = await parkOne(adapter, config);
    expect(letter).toMatchObject({ errorCode: "PAYLOAD_GONE", origin: { payloadState: "reference-only" } });
    expect(letter.error.message).toContain(`stream ${orders} does not hold the message any more`);
    const [outcome] = await sendAll(adapter, config, [backOut(letter)]);
    expect(outcome).toMatchObject({ code: "NATS_REFERENCE_ONLY", sent: "no" });
  });

  it("makes no stream unless it is asked to", async () => {
    const { config } = await makeOrders();
    await capture(config);
    const says = async (change: Partial<NatsConfig>, words: string) => {
      const consumer = consumerOf(adapter, { ...config, stream: "ANOTHER", ...change }, async () => undefined);
      await eventually(() => consumer.state().lastError ?? "").toContain(words);
      await consumer.stop();
      await expect(jsm.streams.info("ANOTHER")).rejects.toThrow("stream not found");
    };
    await says({ createStream: false }, "nats stream add ANOTHER");
    await says({}, "another stream of this account captures these advisories: name it in stream");
  });
}

function redriveTests(): void {
  it("shows in a probe the id under which a message without one is parked", async () => {
    const { dead, deadSubject } = await makeStreams();
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [] });
    const config = configOf({ stream: dead });
    const probed = await adapter.probe(config, never);
    const { eventId } = await parkOne(adapter, config);
    expect(probed.reachable && probed.sample.map((sample) => sample.eventId)).toEqual([eventId]);
  });

  it("sends each attempt where a naive relay is swallowed by the stream", async () => {
    const { dead, sent, deadSubject, sentSubject } = await makeStreams();
    const id: ExactMessage["headers"] = [["Nats-Msg-Id", Buffer.from("placed-1")]];
    const message = { body: Buffer.from("{}"), headers: id };
    await publish(sentSubject, message);
    await publish(deadSubject, message);
    const config = configOf({ stream: dead, redriveTo: { subject: sentSubject } });
    const letter = await parkOne(adapter, config);
    expect(letter.eventId).toBe("placed-1");
    await takeAll(sent);
    await publish(sentSubject, message); // as received: NATS says that it was stored
    expect(await takeAll(sent)).toEqual([]);
    await sendAll(adapter, config, [backOut(letter, { attempt: 1 }), backOut(letter, { attempt: 2 })]);
    expect(await takeAll(sent)).toHaveLength(2);
  });

  it.each<[string, NonNullable<NatsConfig["redriveTo"]>, string]>([
    ["the subject in a header", { subjectHeader: "X-Original-Subject" }, "header"],
    ["the subject without a prefix", { stripPrefix: "dead." }, "stripped"],
  ])("finds %s", async (_, redriveTo, kind) => {
    const { dead, deadSubject } = await makeStreams();
    const stripped = deadSubject.replace("dead.", "");
    const subject = kind === "header" ? `${stripped}.named` : stripped;
    await jsm.streams.add({ name: `TO_${stripped}`, subjects: [subject] });
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [["x-original-subject", Buffer.from(subject)]] });
    const config = configOf({ stream: dead, redriveTo });
    await sendAll(adapter, config, [backOut(await parkOne(adapter, config))]);
    expect(await takeAll(`TO_${stripped}`)).toHaveLength(1);
  });

  it("refuses what it cannot send, before it sends it", async () => {
    const { dead, sent, sentSubject } = await makeStreams();
    const config = configOf({ stream: dead });
    const origin = { subject: sentSubject, stream: sent };
    const outcomes = await sendAll(adapter, config, [
      outbound({}),
      outbound({ subject: "orders.>" }),
      outbound(origin, { headers: [["x-lines", "a\r\nNats-Rollup: all"]] }),
      outbound(origin, { payload: Buffer.alloc(2 ** 20 + 1) }),
      outbound({ subject: `nobody.${sentSubject}` }),
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).code)).toEqual([
      "NATS_NO_ORIGIN_SUBJECT",
      "NATS_NO_ORIGIN_SUBJECT",
      "NATS_INVALID_HEADER",
      "NATS_MAX_PAYLOAD_EXCEEDED",
      "NATS_NO_RESPONDERS",
    ]);
    const expecting = configOf({ stream: dead, redriveTo: { expectStream: true } });
    const [elsewhereStored] = await sendAll(adapter, expecting, [outbound({ ...origin, stream: "ANOTHER" })]);
    expect(elsewhereStored).toMatchObject({ code: "NATS_10060", sent: "no" });
    expect(await takeAll(sent)).toEqual([]);
  });
}

function permissionTests(): void {
  it.each([
    ["nopull", "stream", /no permission to publish to \$JS.API.CONSUMER.MSG.NEXT/],
    ["noack", "stream", /no permission to publish to \$JS.ACK/],
    ["noget", "advisories", /no permission to publish to \$JS.API.STREAM.MSG.GET/],
  ] as const)("names the permission that is missing: %s", async (user, read, says) => {
    const { orders, subject, config } = await makeOrders();
    const { dead, deadSubject } = await makeStreams();
    await capture(config);
    await publish(`${subject}.placed`, { body: Buffer.from("{}"), headers: [] });
    await failNext(orders, (message) => message.term());
    await publish(deadSubject, { body: Buffer.from("{}"), headers: [] });
    const allowed = read === "stream" ? configOf({ stream: dead, ackWaitSeconds: 2 }) : config;
    const consumer = consumerOf(adapter, { ...allowed, user, password: "hunter2" }, async () => undefined);
    await eventually(() => consumer.state().lastError ?? "").toMatch(says);
    await consumer.stop();
    // Nothing is lost: with the permission it is read.
    expect(await parkOne(adapter, allowed)).toBeDefined();
  });

  it("goes on with the other streams when it may not read the one that an advisory names", async () => {
    const secret = await makeOrders({}, "SECRET");
    const { orders, subject, config } = await makeOrders();
    const { filter: _, ...both } = {
      ...config,
      consumer: `${config.consumer}_both`,
      user: "nosecret",
      password: "hunter2",
    };
    await capture(config);
    for (const [stream, at] of [
      ["SECRET", secret.subject],
      [orders, subject],
    ] as const) {
      await publish(`${at}.placed`, { body: Buffer.from(stream), headers: [] });
      await failNext(stream, (message) => message.term());
    }
    const parked: string[] = [];
    const consumer = consumerOf(adapter, both, async (batch) => {
      parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
    });
    await eventually(() => parked).toContain(orders);
    await eventually(() => consumer.state()).toMatchObject({
      state: "running",
      lastError: expect.stringMatching(/no permission to publish to \$JS.API.STREAM.MSG.GET.SECRET/),
    });
    await consumer.stop();
    // Nothing is lost: with the permission it is read.
    expect(parked).not.toContain("SECRET");
    expect(Buffer.from((await parkOne(adapter, secret.config)).payload).toString()).toBe("SECRET");
    await jsm.streams.delete("SECRET");
  });

  it("says that it may not publish", async () => {
    const { dead, sentSubject } = await makeStreams();
    const config = configOf({ stream: dead, user: "nosend", password: "hunter2" });
    const [outcome] = await sendAll(adapter, config, [outbound({ subject: sentSubject })]);
    expect(outcome).toMatchObject({ code: "NATS_PERMISSIONS_VIOLATION", sent: "no" });
  });
}
