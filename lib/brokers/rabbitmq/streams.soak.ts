import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  type BrokerHarness,
  consumerOf,
  describeBroker,
  describeBrokerOutages,
  type ExactMessage,
  eventually,
  outbound,
} from "@/lib/brokers/broker.conformance";
import type { Position } from "@/lib/brokers/port";
import type { RabbitmqConfig } from "@/lib/brokers/rabbitmq/kind.shapes";
import { offsetOf, peekStream } from "@/lib/brokers/rabbitmq/streams";
import {
  adapter,
  asField,
  channel,
  direct,
  exactOf,
  makeHarness,
  never,
  onRabbitmq,
  produceExact,
  rabbit,
  rejectNext,
  take,
  unique,
} from "@/lib/brokers/rabbitmq/testing/rabbitmq-broker";
import { filePositions, memoryPositions } from "@/lib/brokers/testing/positions";
import { backOut, sendOne } from "@/lib/brokers/testing/round-trip";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { rabbitmq4Missing, rabbitmqMissing } from "@/lib/testing/rabbitmq";

function describeStreams(): void {
  describe("a stream", () => {
    describeBroker<RabbitmqConfig>("rabbitmq", makeStreamHarness);
    describeBrokerOutages<RabbitmqConfig>("rabbitmq", makeStreamHarness);
  });
  describe("reading a stream", () => streamTests());
}

describeWith(rabbitmqMissing, "RabbitMQ of the machine", () => {
  onRabbitmq("installed");
  describeStreams();
});

describeWith(await rabbitmq4Missing(), "RabbitMQ 4", () => {
  onRabbitmq("4");
  describeStreams();
});

/** A stream of dead letters in place of the queue; what is redriven goes to a queue. */
async function makeStreamHarness(): Promise<BrokerHarness<RabbitmqConfig>> {
  const harness = await makeHarness();
  const exact = harness.exact!;
  const stream = await makeStream();
  const folder = mkdtempSync(join(tmpdir(), "parkade-stream-"));
  const positionFile = join(folder, "position");
  let produced = 0;
  const produceExactly = async ({ body, headers }: ExactMessage) => {
    await produceExact("", stream, { headers: headers.map(asField) }, body!);
    produced += 1;
  };
  return {
    ...harness,
    config: { ...harness.config, queue: stream },
    impatient: { ...harness.impatient!, queue: stream },
    refusing: { ...harness.refusing, queue: stream },
    keepsPosition: true,
    positionFile,
    produce: async (bodies) => {
      const confirmed = await direct.createConfirmChannel();
      for (const body of bodies) confirmed.sendToQueue(stream, Buffer.from(body), { contentType: "text/plain" });
      await confirmed.waitForConfirms();
      await confirmed.close();
      produced += bodies.length;
    },
    remaining: async () => {
      const position = await filePositions(positionFile).read(stream);
      return produced - 1 - Number(position?.offset ?? -1);
    },
    exact: {
      ...exact,
      // A stream is stored as AMQP 1.0 in each version, which sorts headers.
      carries: { ...exact.carries, headerOrder: "sorted" },
      produceExact: async (messages) => {
        for (const message of messages) await produceExactly(message);
      },
      bounce: produceExactly,
      restart: async () => {
        await exact.restart!();
        // A stream starts after its broker. Until then it takes nothing, and what is published to it is dropped.
        await eventually(async () => {
          const own = await direct.createChannel();
          own.on("error", () => undefined);
          const found = await own.checkQueue(stream).then(
            () => own.close().then(() => true),
            () => false,
          );
          return found;
        }).toBe(true);
      },
      tls: exact.tls === null ? null : { ...exact.tls, good: { ...exact.tls.good, queue: stream } },
    },
    stop: async () => {
      await harness.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function makeStream(change: object = {}): Promise<string> {
  const stream = unique("stream");
  await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream", ...change } });
  return stream;
}

function streamTests(): void {
  const running: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
  });
  const publish = async (stream: string, bodies: string[]) => {
    const confirmed = await direct.createConfirmChannel();
    for (const body of bodies) confirmed.sendToQueue(stream, Buffer.from(body));
    await confirmed.waitForConfirms();
    await confirmed.close();
  };
  const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `m-${from + n}`);
  const read = (config: Partial<RabbitmqConfig> & { queue: string }, stored = new Map<string, Position>()) => {
    const bodies: string[] = [];
    const letters: DeadLetter[] = [];
    const park = async (batch: DeadLetter[]) => {
      letters.push(...batch);
      bodies.push(...batch.map((letter) => Buffer.from(letter.payload).toString()));
    };
    const consumer = consumerOf(adapter, { url: rabbit.url, ...config }, park, memoryPositions(stored));
    running.push(consumer);
    return { bodies, letters, consumer, stored };
  };

  it("goes on where it ended, and tells what remains", async () => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 20));
    const first = read({ queue: stream });
    await eventually(() => first.bodies).toEqual(numbered(0, 20));
    await first.consumer.stop();
    await publish(stream, numbered(20, 30));
    const second = read({ queue: stream }, first.stored);
    await eventually(() => second.bodies).toEqual(numbered(20, 30));
    await eventually(() => second.consumer.state()).toMatchObject({ state: "running", lag: 0, lastError: null });
  });

  it.each([
    ["an offset", "7", numbered(7, 10)],
    ["a time before all of them", "2020-01-01T00:00:00Z", numbered(0, 10)],
    ["nothing that is there", "next", []],
  ])("begins at %s, as it is told", async (_, streamOffset, expected) => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 10));
    const reading = read({ queue: stream, streamOffset });
    // With `next` the position is stored before there is any message for it.
    if (streamOffset === "next") await eventually(() => reading.stored.get(stream)?.offset).toBe(9n);
    await reading.consumer.stop();
    await publish(stream, ["late"]);
    const again = read({ queue: stream, streamOffset }, reading.stored);
    await eventually(() => again.bodies.at(-1)).toBe("late");
    expect([...new Set([...reading.bodies, ...again.bodies])]).toEqual([...expected, "late"]);
  });

  it("tells how many messages its retention removed unread", async () => {
    const stream = await makeStream({ "x-max-length-bytes": 20_000, "x-stream-max-segment-size-bytes": 10_000 });
    await publish(stream, ["0"]);
    const first = read({ queue: stream });
    await eventually(() => first.bodies).toEqual(["0"]);
    await first.consumer.stop();
    const filler = "x".repeat(1_000);
    await eventually(async () => {
      for (let n = 0; n < 40; n += 1) await publish(stream, [filler]);
      return (await oldestOffset(stream)) > 0n;
    }).toBe(true);
    const second = read({ queue: stream }, first.stored);
    await eventually(() => second.bodies.length).toBeGreaterThan(0);
    const oldest = Number(await oldestOffset(stream));
    expect(second.consumer.state().lastError).toBe(
      `retention removed at most ${oldest - 1} messages of stream ${stream} before they were read: it goes on at offset ${oldest}`,
    );
    expect(second.consumer.state().state).toBe("running");
  });

  it.each([
    ["shorter", 3, /it ends at offset 2, and 9 was read before/],
    ["longer", 15, /offset 9 was read before, and was another message/],
    ["empty", 0, /it is empty, and offset 9 was read before/],
  ])("notices a stream that was made anew, and reads it from its start: %s", async (_, length, says) => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 10));
    const first = read({ queue: stream });
    await eventually(() => first.bodies.length).toBe(10);
    await first.consumer.stop();
    await channel.deleteQueue(stream);
    await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream" } });
    const anew = numbered(100, 100 + length);
    await publish(stream, anew);
    const second = read({ queue: stream }, first.stored);
    await expect.poll(() => second.consumer.state().lastError).toMatch(says);
    await publish(stream, ["late"]);
    await eventually(() => second.bodies).toEqual([...anew, "late"]);
  });

  it("says that the stream was deleted under it, and reads the next one of its name from its start", async () => {
    const stream = await makeStream();
    await publish(stream, ["a"]);
    const reading = read({ queue: stream });
    await eventually(() => reading.bodies).toEqual(["a"]);
    await channel.deleteQueue(stream);
    await eventually(() => reading.consumer.state().state).toBe("failing");
    expect(reading.consumer.state().lastError).toContain(stream);
    await channel.assertQueue(stream, { durable: true, arguments: { "x-queue-type": "stream" } });
    await publish(stream, ["b", "c"]);
    await eventually(() => reading.bodies).toEqual(["a", "b", "c"]);
  });

  it("drains to the end that the stream had when the drain began, while more comes", async () => {
    const stream = await makeStream();
    await publish(stream, numbered(0, 500));
    const reading = read({ queue: stream, prefetch: 20 });
    reading.consumer.steer("draining");
    const more = setInterval(() => void publish(stream, ["more"]).catch(() => undefined), 50);
    try {
      await eventually(() => reading.consumer.state().state).toBe("drained");
    } finally {
      clearInterval(more);
    }
    expect(reading.bodies.slice(0, 500)).toEqual(numbered(0, 500));
  });

  it("parks what RabbitMQ itself dead-letters into a stream, and sends it back to the queue it died in", async () => {
    const stream = await makeStream();
    const queue = unique("orders");
    await channel.assertQueue(queue, {
      durable: true,
      arguments: {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": stream,
        // RabbitMQ before 3.11.14 drops what is dead-lettered into a stream in any other way.
        "x-queue-type": "quorum",
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
      },
    });
    await produceExact("", queue, { messageId: "m-1", contentType: "application/json" });
    await rejectNext(queue);
    const { letters } = read({ queue: stream });
    await eventually(() => letters.length).toBe(1);
    const [letter] = letters;
    expect(letter).toMatchObject({ eventId: "m-1", errorCode: "REJECTED", origin: { queue } });
    await sendOne(adapter, { url: rabbit.url, queue: stream }, backOut(letter!));
    const names = (exactOf(await take(queue)).headers ?? []).map(([name]) => name);
    expect(names.filter((name) => /^x-(death|stream|first|last)/.test(name))).toEqual([]);
    expect(names).toContain("x-redrive-id");
  });

  it("keeps two messages without an id apart, and knows one that is read twice", async () => {
    const stream = await makeStream();
    await publish(stream, ["same", "same"]);
    const first = read({ queue: stream });
    await eventually(() => first.letters.length).toBe(2);
    const again = read({ queue: stream });
    await eventually(() => again.letters.length).toBe(2);
    const ids = first.letters.map(({ eventId }) => eventId);
    expect(new Set(ids).size).toBe(2);
    expect(again.letters.map(({ eventId }) => eventId)).toEqual(ids);
  });

  it("sends a redrive into a stream, confirmed", async () => {
    const stream = await makeStream();
    const config: RabbitmqConfig = {
      url: rabbit.url,
      queue: "unused",
      redriveTo: { mode: "origin-queue", queue: stream },
    };
    expect(await sendOne(adapter, config, outbound({}, { payload: Buffer.from("back") }))).toEqual({
      status: "confirmed",
    });
    const { bodies } = read({ queue: stream });
    await eventually(() => bodies).toEqual(["back"]);
  });

  it("shows its first messages and its depth to a probe, and that there is none", async () => {
    const stream = await makeStream();
    expect(await adapter.probe({ url: rabbit.url, queue: stream }, never)).toMatchObject({ depth: 0, sample: [] });
    await publish(stream, numbered(0, 50));
    const probed = await adapter.probe({ url: rabbit.url, queue: stream, streamOffset: "10" }, never);
    expect(probed).toMatchObject({ reachable: true, depth: 40, detail: expect.stringContaining(`stream ${stream}`) });
    expect(probed.reachable && probed.sample.map(({ message }) => message.payload)).toEqual(numbered(10, 13));
  });

  /** The oldest that retention has left. */
  async function oldestOffset(stream: string): Promise<bigint> {
    let oldest = 0n;
    await peekStream(direct, stream, { start: "first", max: 1, clock: systemClock }, (message) => {
      oldest = offsetOf(message) ?? 0n;
    });
    return oldest;
  }
}
