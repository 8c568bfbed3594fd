import rhea, { type EventContext } from "rhea";
import { describe, expect, it } from "vitest";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import {
  adapter,
  artemis,
  countOf,
  direct,
  drain,
  harness,
  never,
  onArtemis,
  send,
  takeAll,
  unique,
} from "@/lib/brokers/amqp10/testing/artemis-broker";
import { consumerOf, describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { OutboundMessage, PublishError } from "@/lib/brokers/port";
import { backOut, parkOne, sendOne } from "@/lib/brokers/testing/round-trip";
import { ARTEMIS_DEAD_LETTERS, ARTEMIS_DENIED, ARTEMIS_FIXED, artemisMissing } from "@/lib/testing/artemis";
import { describeWith } from "@/lib/testing/describe-with";

describeWith(artemisMissing, "Artemis", () => {
  onArtemis();

  const configOf = (change: Partial<Amqp10Config> = {}): Amqp10Config => ({
    ...{ url: `amqp://127.0.0.1:${artemis.port}`, username: artemis.username, password: artemis.password },
    ...{ address: ARTEMIS_DEAD_LETTERS, ...change },
  });

  describeBroker<Amqp10Config>("amqp10", harness);

  describe("a dead letter of Artemis", () => {
    const { types } = rhea;
    const uuid = Buffer.from("00112233445566778899aabbccddeeff", "hex");

    it("goes back to the queue it was rejected in, with every type that it had", async () => {
      const queue = unique("orders");
      const typed = {
        long: types.wrap_long(5),
        ulong: types.wrap_ulong(Buffer.from("ffffffffffffffff", "hex")),
        int: types.wrap_int(-5),
        uint: types.wrap_uint(300),
        short: types.wrap_short(5),
        byte: types.wrap_byte(-1),
        float: types.wrap_float(1.5),
        double: types.wrap_double(1),
        time: types.wrap_timestamp(1_795_163_502_123),
        symbol: types.wrap_symbol("sym"),
        char: types.wrap_char(0x1f600),
        uid: types.wrap_uuid(uuid),
        flag: false,
        text: "é",
      };
      await send(queue, [
        {
          body: rhea.message.data_sections([Buffer.from("one"), Buffer.from("two")]),
          message_id: types.wrap_ulong(7) as never,
          correlation_id: types.wrap_binary(Buffer.from([0, 255])) as never,
          subject: "OrderPlaced",
          group_id: "o-1",
          group_sequence: 3,
          to: "somewhere",
          reply_to: "answers",
          content_encoding: "identity",
          creation_time: new Date(1_795_163_502_123) as never,
          priority: 7,
          ttl: 86_400_000,
          application_properties: typed as never,
          message_annotations: { "x-opt-jms-msg-type": types.wrap_byte(4), "x-opt-partition-key": "p" },
        },
      ]);
      await drain(queue, (delivery) => delivery.reject({ condition: "app:poison", description: "not JSON" }));
      const letter = await parkOne(adapter, configOf());
      expect(letter).toMatchObject({
        ...{ eventId: "7", eventType: "OrderPlaced", aggregateId: "o-1", errorCode: "REJECTED" },
        origin: { queue, convention: "artemis", messageGroup: "o-1" },
      });
      expect(Buffer.from(letter.payload).toString()).toBe("onetwo");
      await sendOne(adapter, configOf(), backOut(letter));
      const receiver = direct.open_receiver({ source: { address: queue }, credit_window: 1 });
      const { message } = await new Promise<EventContext>((resolve) => receiver.once("message", resolve));
      receiver.close();
      const { message_id, correlation_id, subject, group_id, group_sequence, reply_to, priority, ttl } = message!;
      expect({ subject, group_id, group_sequence, reply_to, priority, ttl }).toEqual({
        ...{
          subject: "OrderPlaced",
          group_id: "o-1",
          group_sequence: 3,
          reply_to: "answers",
          priority: 7,
          ttl: undefined,
        },
      });
      expect([message_id, correlation_id]).toEqual([7, Buffer.from([0, 255])]);
      expect(message!.message_annotations).toMatchObject({ "x-opt-jms-msg-type": 4, "x-opt-partition-key": "p" });
      expect(Object.keys(message!.message_annotations!).some((name) => /ORIG/.test(name))).toBe(false);
      expect((message!.body as { content: Buffer[] }).content.map(String)).toEqual(["one", "two"]);
      const own = Object.entries(message!.application_properties!).filter(([name]) => !name.startsWith("x-redrive-"));
      expect(Object.fromEntries(own)).toEqual({
        ...{ long: 5, ulong: Buffer.from("ffffffffffffffff", "hex"), int: -5, uint: 300, short: 5, byte: -1 },
        ...{ float: 1.5, double: 1, time: new Date(1_795_163_502_123), symbol: "sym", char: 0x1f600, uid: uuid },
        ...{ flag: false, text: "é" },
      });
    });

    it.each<[string, unknown]>([
      ["text", "héllo"],
      ["binary", types.wrap_binary(Buffer.from([1, 0, 255]))],
      ["a map", { a: 1, b: [true, "x"] }],
      ["a sequence", rhea.message.sequence_section([1, "two", null])],
      ["nothing", null],
    ])("brings a body back that is %s", async (_, body) => {
      const queue = unique("bodies");
      await send(queue, [{ body, message_id: "m-1" }]);
      const [before] = await drain(queue, (delivery) => delivery.release());
      await drain(queue, (delivery) => delivery.reject({ condition: "app:poison" }));
      await sendOne(adapter, configOf(), backOut(await parkOne(adapter, configOf())));
      const [after] = await takeAll(queue);
      expect(after!.body).toEqual(before!.body);
    });

    it("reaches the one queue of a multicast address that it died in", async () => {
      const address = unique("news");
      const options = (name: string) => ({
        source: { address: `${address}::${name}`, capabilities: ["topic"] as never },
        ...{ autoaccept: false, credit_window: 0 },
      });
      const open = async (name: string) => {
        const receiver = direct.open_receiver(options(name));
        await new Promise((resolve, reject) => {
          receiver.once("receiver_open", resolve);
          receiver.once("receiver_error", () => reject(receiver.error));
        });
        return receiver;
      };
      const [billing, stock] = [await open("billing"), await open("stock")];
      const next = (receiver: typeof billing) =>
        new Promise<EventContext>((resolve) => {
          receiver.once("message", resolve);
          receiver.add_credit(1);
        });
      const sender = direct.open_sender({ target: { address, capabilities: ["topic"] as never } });
      sender.once("sendable", () => sender.send({ body: "x", message_id: "n-1", durable: true }));
      (await next(billing)).delivery!.reject({ condition: "app:poison" });
      (await next(stock)).delivery!.accept();
      const letter = await parkOne(adapter, configOf());
      expect(letter.origin.queue).toBe(`${address}::billing`);
      await sendOne(adapter, configOf(), backOut(letter));
      expect((await next(billing)).message!.message_id).toBe("n-1");
      expect(await countOf("stock")).toBe(0);
      for (const link of [billing, stock, sender]) link.close();
    });

    it("arrives where a relay that keeps the id of duplicate detection is swallowed", async () => {
      const queue = unique("dedup");
      const message = { body: "x", message_id: "d-1", application_properties: { _AMQ_DUPL_ID: "d-1" } };
      await send(queue, [message]);
      await drain(queue, (delivery) => delivery.reject({ condition: "app:poison" }));
      const letter = await parkOne(adapter, configOf());
      await send(queue, [message]).catch(() => undefined); // the naive relay: accepted or refused, it never arrives
      expect(await takeAll(queue)).toEqual([]);
      await sendOne(adapter, configOf(), backOut(letter));
      const [arrived] = await takeAll(queue);
      expect(arrived).toMatchObject({ body: "x", message_id: "d-1" });
      await sendOne(adapter, configOf(), backOut(letter, { attempt: 2 }));
      expect(await takeAll(queue)).toHaveLength(1);
    });

    it("keeps a message however often the store is out", async () => {
      const queue = unique("kept");
      await send(queue, [{ body: "precious", message_id: "k-1" }]);
      let commits = 0;
      const parked: string[] = [];
      // More failures than deliveries after which this broker gives a message up.
      for (let round = 0; round < 4; round += 1) {
        const seen = commits;
        const consumer = consumerOf(adapter, configOf({ address: queue }), async () => {
          commits += 1;
          throw new Error("store is down");
        });
        await eventually(() => commits).toBeGreaterThan(seen);
        await consumer.stop();
      }
      const consumer = consumerOf(adapter, configOf({ address: queue }), async (batch) => {
        parked.push(...batch.map(({ eventId }) => eventId));
      });
      await eventually(() => parked).toEqual(["k-1"]);
      await consumer.stop();
    });

    it("acknowledges none of what goes back when it stops, beside one that it has just acknowledged", async () => {
      const queue = unique("neighbours");
      await send(queue, [{ body: "a" }, { body: "b" }]);
      const commit = Promise.withResolvers<void>();
      const offered: string[] = [];
      const config = configOf({ address: queue, credit: 2 }); // batches of one, two in hand
      const consumer = consumerOf(adapter, config, async (batch) => {
        offered.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
        await commit.promise;
      });
      await eventually(() => offered).toEqual(["a"]);
      const stopping = consumer.stop();
      commit.resolve();
      await stopping;
      expect((await takeAll(queue)).map(({ body }) => body)).toEqual(["b"]);
    });

    it("says what is wrong with a message that no link takes, and keeps the connection", async () => {
      const publisher = adapter.publisher(configOf());
      const failure = (origin: OutboundMessage["origin"], change: Partial<OutboundMessage> = {}) =>
        publisher.publish(outbound(origin, change), never).catch(({ code, sent }: PublishError) => `${code} ${sent}`);
      expect(await failure({})).toBe("AMQP_NO_ORIGIN_QUEUE no");
      expect(await failure({ subscription: "t/Subscriptions/s" })).toBe("AMQP_NO_ORIGIN_QUEUE no");
      expect(await failure({ queue: `${ARTEMIS_DENIED}x` })).toBe("AMQP_ACCESS_REFUSED no");
      expect(await failure({ queue: `${ARTEMIS_FIXED}x` })).toBe("AMQP_NOT_FOUND no");
      expect(await failure({ queue: "q", body: "encoded" })).toBe("AMQP_INVALID_MESSAGE no");
      const queue = unique("after");
      expect(await failure({ queue })).toEqual({ status: "accepted" });
      expect(await takeAll(queue)).toHaveLength(1);
      await publisher.close();
    });
  });
});
