import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ORIGIN_BYTES_MAX, originText } from "@/lib/brokers/conventions/redrive-mark";
import { textOrNull } from "@/lib/brokers/message";
import { ParkLoop } from "@/lib/brokers/park-loop";
import {
  type Adapter,
  type Consumer,
  type OutboundMessage,
  type ParkBatch,
  PublishError,
  type Publisher,
} from "@/lib/brokers/port";
import { outboundMessage } from "@/lib/brokers/testing/outbound";
import type { ReadingChild } from "@/lib/brokers/testing/reading-child";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { program } from "@/lib/testing/programs";
import type { TcpProxy } from "@/lib/testing/tcp-proxy";

/** A message as the target got it. Header names in lower case; text values only. */
export type Arrived = { body: Buffer; contentType: string | null; headers: Record<string, string> };

/** A message with everything a wire can carry. Headers in their order, duplicates kept. */
export type ExactMessage = {
  key: Buffer | null;
  body: Buffer | null;
  headers: [name: string, value: Buffer | null][];
};

/** What messages of a broker can hold at all. A test of what it cannot is skipped, and says so. */
type Carries = {
  keys: boolean;
  absentBody: boolean;
  emptyBody: boolean;
  nullHeaders: boolean;
  duplicateHeaders: boolean;
  /** Absent: headers keep their order. `sorted`: the broker itself sorts them when they are published. */
  headerOrder?: "sorted";
  binaryHeaders: boolean;
  /** Bodies of any bytes; false = text only. */
  binaryBody: boolean;
};

/** What only some brokers have, for the tests that need it. */
type ExactHarness<Config> = {
  carries: Carries;
  /** Puts whole messages where the source reads. */
  produceExact(messages: ExactMessage[]): Promise<void>;
  /** Returns and removes what arrived at the target, whole, in order. */
  arrivedExact(): Promise<ExactMessage[]>;
  /** Puts a message that was redriven back where the source reads, as a consumer that fails again would. */
  bounce(message: ExactMessage): Promise<void>;
  /** Makes the broker store what a kill would take with it, but for messages. */
  beforeRestart?: () => Promise<void>;
  /** Stops the broker with kill -9 and starts it again with its data, at its address. */
  restart: (() => Promise<void>) | null;
  /** Configurations that cannot work: what a person reads must name the cause. */
  misconfigured: [title: string, config: Config, says: RegExp][];
  /** The broker over TLS: one configuration that works, and ones that must be refused. null = the kind has no TLS here. */
  tls: { good: Config; refused: [title: string, config: Config, says: RegExp][] } | null;
};

/** How a wire that does not carry any body carries a text: the payload of the message, and the text in one. */
type Frame = { payload(text: string): Buffer; text(payload: Buffer): string };

/** A text in quotes, for a wire that holds JSON alone. */
export const QUOTED: Frame = {
  payload: (text) => Buffer.from(JSON.stringify(text)),
  text: (payload) => JSON.parse(String(payload)),
};

/** One isolated source with its target, reached through a proxy. Made anew for every test. */
export type BrokerHarness<Config> = {
  adapter: Adapter<Config>;
  config: Config;
  /** The same source, with a limit on silence that no test has to wait long for. Absent = the product's own limit is short. */
  impatient?: Config;
  proxy: TcpProxy;
  /** Fields of an outbound message that make it go to this harness's target. */
  origin: OutboundMessage["origin"];
  /** Returns and removes all messages that have arrived at the target, in order. */
  arrived(): Promise<Arrived[]>;
  /** A configuration whose address is right and whose destination does not exist or refuses. */
  refusing: Config;
  /** Puts dead letters where the source reads; null for adapters that are pushed to. */
  produce: ((bodies: string[]) => Promise<void>) | null;
  /** The broker hands messages out in any order, so tests compare them without it. */
  unordered?: true;
  /** Dead letters that still belong to the broker: ready, or handed out and not acknowledged. */
  remaining(): Promise<number>;
  /** What a connection that was cut has is handed out again when its lease, or its session in the group, ends. */
  leases?: true;
  /** There is a position alone: a message that is held keeps what lies behind it with the broker. */
  keepsPosition?: true;
  /** The broker does not say how many messages it holds. */
  uncounted?: true;
  /** What the wire cannot carry at all: bodies that are no JSON, headers. Absent = it carries both. */
  without?: { anyBody?: Frame; headers?: true };
  /** null for adapters that are pushed to. */
  exact: ExactHarness<Config> | null;
  stop(): Promise<void>;
};

export function outbound(origin: OutboundMessage["origin"], change: Partial<OutboundMessage> = {}): OutboundMessage {
  return outboundMessage({ origin, ...change });
}

/** The park loop over an adapter, as the registry makes it. */
export function consumerOf<Config>(
  adapter: Adapter<Config>,
  config: Config,
  park: ParkBatch,
  clock = systemClock,
): Consumer {
  // A broker that counts no messages is drained after 15 such waits.
  const deps = { clock, random: () => 0, report: () => undefined, drainWaitMs: 130 };
  return new ParkLoop(adapter.reader!(config, "conformance"), park, deps);
}

/** Polls for as long as a busy machine may need. */
export function eventually<T>(probe: () => T | Promise<T>) {
  return expect.poll(probe, { interval: 50 });
}

const never = new AbortController().signal;

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

function carriesBody(carries: Carries | undefined, body: Buffer): boolean {
  if (carries === undefined) return true;
  return (body.length > 0 || carries.emptyBody) && (carries.binaryBody || textOrNull(body) !== null);
}

/** What sends to and reads from the harness of the test at hand. `end`: ends all of it, and the harness. */
function usersOf<Config>(harness: () => BrokerHarness<Config>) {
  const publishers: Publisher[] = [];
  const consumers: Consumer[] = [];

  const publisher = (config = harness().config) => {
    const made = harness().adapter.publisher(config);
    publishers.push(made);
    return made;
  };
  const inOrder = (bodies: string[]) => (harness().unordered ? [...bodies].sort() : bodies);
  const consume = (park: (batch: DeadLetter[]) => Promise<void>, config = harness().config) => {
    const made = consumerOf(harness().adapter, config, park);
    consumers.push(made);
    return made;
  };

  /** What the test put there. */
  const decoded = (payload: Uint8Array): string => {
    const bytes = Buffer.from(payload);
    return harness().without?.anyBody?.text(bytes) ?? bytes.toString();
  };
  const bodyOf = (letter: DeadLetter) => decoded(letter.payload);
  /** A message whose payload the wire carries. */
  const fresh: typeof outbound = (origin, change = {}) => {
    const made = outbound(origin, change);
    const framed = harness().without?.anyBody?.payload(Buffer.from(made.payload).toString());
    return framed === undefined ? made : { ...made, payload: framed };
  };

  const readThroughCut = async (produce: (bodies: string[]) => Promise<void>) => {
    const parked = new Set<string>();
    const consumer = consume(async (batch) => {
      for (const letter of batch) parked.add(bodyOf(letter));
    });
    await produce(["before"]);
    await eventually(() => parked.has("before")).toBe(true);
    harness().proxy.cut();
    await produce(["after"]);
    await eventually(() => parked.has("after")).toBe(true);
    await eventually(() => harness().remaining()).toBe(0);
    await eventually(() => consumer.state().state).toBe("running");
  };

  const end = async () => {
    harness().proxy.resume();
    await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
    await Promise.all(publishers.splice(0).map((made) => made.close()));
    await harness().stop();
  };

  return { publisher, consume, inOrder, decoded, bodyOf, fresh, readThroughCut, end };
}

/** What every adapter must do, on a real broker behind a network that can fail. */
export function describeBroker<Config>(name: string, make: () => Promise<BrokerHarness<Config>>): void {
  describe(`${name}: what every broker does`, () => {
    let harness: BrokerHarness<Config>;
    const { publisher, consume, inOrder, bodyOf, fresh, readThroughCut, end } = usersOf(() => harness);
    beforeEach(async () => {
      harness = await make();
    });
    afterEach(end);

    describe("publishing", () => {
      it.each([
        ["JSON", Buffer.from('{"big":12345678901234567890, "text":"é"}'), "application/json"],
        ["every byte", Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), "application/octet-stream"],
        ["nothing", Buffer.alloc(0), "text/plain"],
        ["more than one frame", Buffer.alloc(300_000, "x"), "text/plain; charset=utf-8"],
      ])(
        "sends the payload byte for byte with its content type, or refuses it: %s",
        async (_, payload, contentType) => {
          if (harness.without?.anyBody) return; // the suite of that adapter has its own
          if (!carriesBody(harness.exact?.carries, payload)) {
            const error = await failureOf(publisher().publish(fresh(harness.origin, { payload, contentType }), never));
            expect(error).toBeInstanceOf(PublishError);
            expect(error).toMatchObject({ sent: "no" });
            expect(await harness.arrived()).toEqual([]);
            return;
          }
          await publisher().publish(fresh(harness.origin, { payload, contentType }), never);
          const [message] = await harness.arrived();
          expect(message!.body.equals(payload)).toBe(true);
          expect(message!.contentType).toBe(contentType);
        },
      );

      it("restores the application's headers, marks the redrive and leaves the failure behind", async (context) => {
        if (harness.without?.headers) return context.skip("the wire has no headers");
        await publisher().publish(
          fresh(harness.origin, {
            headers: [
              ["x-tenant", "eu"],
              ["x-death", "[]", "amqp"],
              ["x-redrive-id", "018f9c4e-0000-7000-8000-00000000000a"],
              ["x-error-code", "TIMEOUT"],
            ],
            redriveId: "018f9c4e-2222-7000-8000-000000000002",
            attempt: 3,
            from: "orders",
          }),
          never,
        );
        const [message] = await harness.arrived();
        expect(message!.headers).toMatchObject({
          "x-tenant": "eu",
          "x-redrive-id": "018f9c4e-2222-7000-8000-000000000002",
          "x-redrive-attempt": "3",
          "x-redrive-from": "orders",
        });
        expect(message!.headers).not.toHaveProperty("x-death");
        expect(message!.headers).not.toHaveProperty("x-error-code");
      });

      it("says where the message was before, whatever the origin holds", async (context) => {
        if (harness.without?.headers) return context.skip("the wire has no headers");
        const odd = `lost\r\nx-evil: 1\u202e${"x".repeat(5_000)}`;
        // What names the target of this harness goes before the odd one.
        const origin = { subscription: odd, job: null, ...harness.origin };
        await publisher().publish(fresh(origin), never);
        const [message] = await harness.arrived();
        const sent = message!.headers["x-redrive-origin"];
        expect(sent).toBe(originText(origin));
        expect(Buffer.byteLength(sent!)).toBeLessThanOrEqual(ORIGIN_BYTES_MAX);
        expect(message!.headers).not.toHaveProperty("x-evil");
      });

      it("continues the trace of the send in place of the parked one", async (context) => {
        if (harness.without?.headers) return context.skip("the wire has no headers");
        const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        const traceId = "0af7651916cd43dd8448eb211c80319c";
        await publisher().publish(
          fresh(harness.origin, { traceId, traceparent, headers: [["traceparent", traceparent]] }),
          never,
        );
        const [message] = await harness.arrived();
        expect(message!.headers.traceparent).toBe(traceparent);
      });

      it("passes on how often the message was repeated, once, in place of the parked count", async (context) => {
        if (harness.without?.headers) return context.skip("the wire has no headers");
        const headers: OutboundMessage["headers"] = [["x-retry-count", "2"]];
        await publisher().publish(fresh(harness.origin, { headers, retryCount: 4 }), never);
        const [message] = await harness.arrived();
        expect(String(message!.headers["x-retry-count"])).toBe("4");
      });

      it("tells how far a send has come: nothing before there is a connection, connected before the answer", async () => {
        const phases: string[] = [];
        const tell = (phase: string) => phases.push(phase);
        const target = publisher();
        await target.publish(fresh(harness.origin), never, tell);
        expect(phases[0]).toBe("connected");
        expect(phases).toEqual(["connected", "answering"].slice(0, phases.length));
        harness.proxy.cut();
        await harness.proxy.refuse();
        phases.length = 0;
        // The first publish may still use the connection that is being closed; no later one does.
        await eventually(async () => {
          phases.length = 0;
          await failureOf(target.publish(fresh(harness.origin), never, tell));
          return phases;
        }).toEqual([]);
        await harness.proxy.accept();
      });

      it("carries many at a time, each exactly once", async () => {
        const target = publisher();
        const messages = Array.from({ length: 300 }, () => fresh(harness.origin));
        await Promise.all(messages.map((message) => target.publish(message, never)));
        const bodies = (await harness.arrived()).map((message) => message.body.toString()).sort();
        expect(bodies).toEqual(messages.map((message) => Buffer.from(message.payload).toString()).sort());
      });

      it("sends nothing once aborted", async () => {
        const reason = new Error("changed my mind");
        expect(await failureOf(publisher().publish(fresh(harness.origin), AbortSignal.abort(reason)))).toBe(reason);
        expect(await harness.arrived()).toEqual([]);
      });

      it("ends at once on abort while the answer is outstanding, with the reason", async () => {
        const target = publisher();
        await target.publish(fresh(harness.origin), never);
        harness.proxy.stall("toClient");
        const before = harness.proxy.bytes("toServer");
        const abort = new AbortController();
        const publishing = failureOf(target.publish(fresh(harness.origin), abort.signal));
        await eventually(() => harness.proxy.bytes("toServer")).toBeGreaterThan(before);
        const reason = new Error("operation cancelled");
        abort.abort(reason);
        expect(await publishing).toBe(reason);
      });

      it("says that nothing was sent when the target cannot be reached", async () => {
        await harness.proxy.refuse();
        const error = await failureOf(publisher().publish(fresh(harness.origin), never));
        expect(error).toBeInstanceOf(PublishError);
        expect(error).toMatchObject({ code: "ECONNREFUSED", sent: "no" });
      });

      it("says that the message may have arrived when the answer is lost, and recovers", async () => {
        const target = publisher();
        await target.publish(fresh(harness.origin), never);
        await harness.arrived();
        harness.proxy.stall("toClient");
        const before = harness.proxy.bytes("toServer");
        const publishing = failureOf(target.publish(fresh(harness.origin), never));
        await eventually(() => harness.proxy.bytes("toServer")).toBeGreaterThan(before);
        // The message did arrive: "no" would be wrong.
        await eventually(async () => (await harness.arrived()).length).toBe(1);
        harness.proxy.cut();
        const error = await publishing;
        expect(error).toBeInstanceOf(PublishError);
        expect((error as PublishError).sent).toBe("maybe");
        harness.proxy.resume();
        await eventually(() => failureOf(target.publish(fresh(harness.origin), never))).toBeNull();
      });

      it("tells a refused destination as a typed error", async () => {
        const error = await failureOf(publisher(harness.refusing).publish(fresh({}), never));
        expect(error).toBeInstanceOf(PublishError);
        expect((error as PublishError).code).toMatch(/^[A-Z][A-Z0-9_]+$/);
        expect((error as PublishError).sent).toBe("no");
      });

      it("closes its connections and takes nothing more", async () => {
        const target = publisher();
        await target.publish(fresh(harness.origin), never);
        await target.close();
        await eventually(() => harness.proxy.connections()).toBe(0);
        expect(await failureOf(target.publish(fresh(harness.origin), never))).toMatchObject({ sent: "no" });
      });
    });

    describe("probing", () => {
      it("tells a reachable target, and sends it nothing", async () => {
        expect(await publisher().probe(never)).toMatchObject({ reachable: true });
        expect(await harness.adapter.probe(harness.config, never)).toMatchObject({ reachable: true });
        expect(await harness.arrived()).toEqual([]);
      });

      it("tells an unreachable target in words without credentials", async () => {
        await harness.proxy.refuse();
        for (const result of [await publisher().probe(never), await harness.adapter.probe(harness.config, never)]) {
          expect(result.reachable).toBe(false);
          expect(result.detail).toContain("ECONNREFUSED");
          expect(result.detail).not.toMatch(/guest|secret/);
        }
      });

      it("ends on abort", async () => {
        harness.proxy.stall();
        const abort = new AbortController();
        const probing = failureOf(harness.adapter.probe(harness.config, abort.signal));
        await eventually(() => harness.proxy.connections()).toBeGreaterThan(0);
        const reason = new Error("nobody waits");
        abort.abort(reason);
        expect(await probing).toBe(reason);
      });
    });

    describe("consuming", () => {
      it("drains: parks what lies there, leaves to the broker what comes later, and reads on when resumed", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const parked = new Set<string>();
        await harness.produce(["a", "b", "c"]);
        const consumer = consume(async (batch) => {
          for (const letter of batch) parked.add(bodyOf(letter));
        });
        consumer.steer("draining");
        await expect.poll(() => consumer.state().state, { interval: 50 }).toBe("drained");
        expect([...parked].sort()).toEqual(["a", "b", "c"]);
        await harness.produce(["d"]);
        await eventually(() => harness.remaining()).toBe(1);
        expect([consumer.state().state, parked.has("d")]).toEqual(["drained", false]);
        consumer.steer("running");
        await eventually(() => parked.has("d")).toBe(true);
        await consumer.stop();
      });

      it("parks what lies there, acknowledges only after the commit, and stops", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const commit = Promise.withResolvers<void>();
        const offered: DeadLetter[] = [];
        await harness.produce(["a", "b", "c"]);
        const consumer = consume(async (batch) => {
          offered.push(...batch);
          await commit.promise;
        });
        await eventually(() => offered.length).toBe(3);
        expect(inOrder(offered.map((letter) => bodyOf(letter)))).toEqual(["a", "b", "c"]);
        expect(await harness.remaining()).toBe(3);
        commit.resolve();
        await eventually(() => harness.remaining()).toBe(0);
        expect(consumer.state()).toMatchObject({ state: "running", lastError: null });
        await consumer.stop();
        expect(consumer.state().state).toBe("stopped");
      });

      it("offers everything again after commits that failed, without hammering", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const parked = new Set<string>();
        let broken = true;
        let calls = 0;
        const startedMs = performance.now();
        await harness.produce(["a", "b", "c", "d", "e"]);
        const consumer = consume(async (batch) => {
          calls += 1;
          if (broken) throw Object.assign(new Error("password=hunter2"), { code: "ECONNREFUSED" });
          for (const letter of batch) parked.add(bodyOf(letter));
        });
        await eventually(() => consumer.state().state).toBe("failing");
        expect(consumer.state().lastError).toContain("ECONNREFUSED");
        expect(consumer.state().lastError).not.toContain("hunter2");
        expect(await harness.remaining()).toBe(5);
        // A batch and three single tries a round, a quarter of a second between rounds at the least.
        expect(calls).toBeLessThanOrEqual(4 * (1 + (performance.now() - startedMs) / 250));
        broken = false;
        await eventually(() => parked.size).toBe(5);
        await eventually(() => harness.remaining()).toBe(0);
        await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: null });
      });

      it("keeps the neighbours of a message that cannot be committed, and the message itself", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const parked: string[] = [];
        await harness.produce(["a", "bad", "b"]);
        const consumer = consume(async (batch) => {
          const bodies = batch.map((letter) => bodyOf(letter));
          if (bodies.includes("bad")) throw new Error("cannot be stored");
          parked.push(...bodies);
        });
        await eventually(() => inOrder(parked)).toEqual(["a", "b"]);
        await eventually(() => consumer.state().lastError ?? "").toContain("1 message");
        await eventually(() => harness.remaining()).toBe(harness.keepsPosition ? 2 : 1);
        await harness.produce(["c"]);
        await eventually(() => inOrder(parked)).toEqual(["a", "b", "c"]);
        await eventually(() => harness.remaining()).toBe(harness.keepsPosition ? 3 : 1);
      });

      it("finds its way back after the connection was cut, and loses nothing", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        if (harness.leases) return context.skip("it waits for a lease: in the soak");
        await readThroughCut(harness.produce);
      });

      it("finishes the batch in hand on stop and gives the rest back", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const commit = Promise.withResolvers<void>();
        const offered: string[] = [];
        await harness.produce(["a"]);
        const consumer = consume(async (batch) => {
          offered.push(...batch.map((letter) => bodyOf(letter)));
          await commit.promise;
        });
        await eventually(() => offered).toEqual(["a"]);
        await harness.produce(["b"]); // delivered while the first batch is being committed
        const stopping = consumer.stop();
        commit.resolve();
        await stopping;
        expect(offered).toEqual(["a"]);
        expect(await harness.remaining()).toBe(1);
        await eventually(() => harness.proxy.connections()).toBe(0);
      });

      it("probes the queue without consuming: depth and what would be read", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        await harness.produce(["a", "b"]);
        const result = await harness.adapter.probe(harness.config, never);
        expect(result).toMatchObject({ reachable: true, depth: harness.uncounted ? null : 2 });
        const bytes = harness.without?.anyBody?.payload("a").length ?? 1;
        expect(result.reachable && result.sample.map((sample) => sample.payloadBytes)).toEqual([bytes, bytes]);
        expect(await harness.remaining()).toBe(2);
        const offered: string[] = [];
        consume(async (batch) => {
          offered.push(...batch.map((letter) => bodyOf(letter)));
        });
        await eventually(() => inOrder(offered)).toEqual(["a", "b"]); // a look does not change it
      });

      it("reads no further than it may while commits wait", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const commit = Promise.withResolvers<void>();
        let offered = 0;
        const bodies = Array.from({ length: 700 }, (_, n) => String(n)); // more than any batch holds
        await harness.produce(bodies);
        const consumer = consume(async (batch) => {
          offered += batch.length;
          await commit.promise;
        });
        await eventually(() => offered).toBeGreaterThan(0);
        const first = offered;
        // The other messages arrive in a moment, if nothing holds them.
        await harness.adapter.probe(harness.config, never);
        expect(offered).toBe(first);
        expect(first).toBeLessThan(bodies.length);
        commit.resolve();
        await eventually(() => offered).toBeGreaterThanOrEqual(bodies.length);
        await eventually(() => harness.remaining()).toBe(0);
        expect(consumer.state()).toMatchObject({ state: "running" });
        await eventually(() => consumer.state().parked).toBeGreaterThanOrEqual(bodies.length);
      });
    });

    describe("whole messages", () => {
      const parkAll = (parked: DeadLetter[]) => async (batch: DeadLetter[]) => {
        parked.push(...batch);
      };

      it("brings key, body and headers back as they were, and marks what it sends", async (context) => {
        const { exact } = harness;
        if (exact === null) return context.skip("this adapter is pushed to");
        const messages = wholeMessages(exact.carries, !harness.without?.headers);
        await exact.produceExact(messages);
        const parked: DeadLetter[] = [];
        const consumer = consume(parkAll(parked));
        await eventually(() => parked.length).toBe(messages.length);
        await eventually(() => harness.remaining()).toBe(0);
        await consumer.stop();
        const target = publisher();
        for (const letter of parked) await target.publish(redriveOf(letter, harness.origin), never);
        const arrived = await exact.arrivedExact();
        const texts = (all: ExactMessage[]) => all.map((message) => comparable(message, exact.carries)).sort();
        expect(texts(arrived)).toEqual(texts(messages));
        for (const { headers } of arrived) {
          if (harness.without?.headers) continue;
          const names = headers.map(([header]) => header.toLowerCase());
          expect(names).toContain("x-redrive-id");
          expect(names).toContain("x-redrive-attempt");
        }
      });

      it("knows its own message when it dies again: the same event, with the redrive it came from", async (context) => {
        const { exact } = harness;
        if (exact === null) return context.skip("this adapter is pushed to");
        await exact.produceExact([
          { key: exact.carries.keys ? Buffer.from("k") : null, body: Buffer.from("{}"), headers: [] },
        ]);
        const parked: DeadLetter[] = [];
        consume(parkAll(parked));
        await eventually(() => parked.length).toBe(1);
        const first = parked[0]!;
        await publisher().publish(redriveOf(first, harness.origin, { attempt: 2 }), never);
        const [arrived] = await exact.arrivedExact();
        await exact.bounce(arrived!);
        await eventually(() => parked.length).toBe(2);
        const again = parked[1]!;
        expect(again.eventId).toBe(first.eventId);
        expect(again.redrive).toEqual({ redriveId: "018f9c4e-1111-7000-8000-000000000001", attempt: 2 });
        // Twice through the broker leaves no second mark.
        await publisher().publish(redriveOf(again, harness.origin, { attempt: 3, revision: 2 }), never);
        const [third] = await exact.arrivedExact();
        if (harness.without?.headers) return;
        const named = ({ headers }: ExactMessage, name: string) =>
          headers.filter(([header]) => header.toLowerCase() === name).map(([, value]) => String(value));
        expect(named(third!, "x-redrive-attempt")).toHaveLength(1);
        // The first revision goes out without a number, each other one with its own.
        expect(named(arrived!, "x-redrive-revision")).toEqual([]);
        expect(named(third!, "x-redrive-revision")).toEqual(["2"]);
      });

      it("keeps the order of a key, also with many keys at once", async (context) => {
        const { exact } = harness;
        if (exact === null || !exact.carries.keys) return context.skip("the broker orders by no key");
        const target = publisher();
        const keys = ["a", "b", "c", "d"];
        const letters = Array.from({ length: 40 }, (_, n) => ({
          key: Buffer.from(keys[n % keys.length]!).toString("base64"),
          body: `${keys[n % keys.length]}-${Math.floor(n / keys.length)}`,
        }));
        // The engine sends one message of a key at a time, and those of several keys at once.
        await Promise.all(
          keys.map(async (key) => {
            for (const letter of letters.filter(({ body }) => body.startsWith(key))) {
              const origin = { ...harness.origin, key: letter.key, messageGroup: key };
              await target.publish(fresh(origin, { payload: Buffer.from(letter.body) }), never);
            }
          }),
        );
        const arrived = (await exact.arrivedExact()).map(({ body }) => String(body));
        for (const key of keys) {
          const of = (list: string[]) => list.filter((body) => body.startsWith(`${key}-`));
          expect(of(arrived)).toEqual(of(letters.map(({ body }) => body)));
        }
      });

      it("says what is wrong with each configuration that cannot work, without a secret", async (context) => {
        const { exact } = harness;
        if (exact === null) return context.skip("this adapter is pushed to");
        const wrong = [...exact.misconfigured, ...(exact.tls?.refused ?? [])];
        for (const [title, config, says] of wrong) {
          const probed = await harness.adapter.probe(config, AbortSignal.timeout(60_000));
          expect(probed, title).toMatchObject({ reachable: false, detail: expect.stringMatching(says) });
          const consumer = consumerOf(harness.adapter, config, async () => undefined);
          try {
            await eventually(() => consumer.state().state).toBe("failing");
            expect(consumer.state().lastError, title).toMatch(says);
            expect(`${consumer.state().lastError} ${probed.detail}`, title).not.toMatch(/hunter2|BEGIN [A-Z ]*KEY/);
          } finally {
            await consumer.stop();
          }
        }
      }, 180_000);

      it("reads over TLS", async (context) => {
        const tls = harness.exact?.tls ?? null;
        if (tls === null) return context.skip("the broker runs without TLS here");
        expect(await harness.adapter.probe(tls.good, never)).toMatchObject({ reachable: true });
        const consumer = consumerOf(harness.adapter, tls.good, async () => undefined);
        await eventually(() => consumer.state().state).toBe("running");
        await consumer.stop();
        const target = harness.adapter.publisher(tls.good);
        await target.publish(fresh(harness.origin), never);
        await target.close();
      });
    });
  });
}

/** The rest of it, which waits for a limit of time of the broker: for silence, for a lease, for the start of a server. */
export function describeBrokerOutages<Config>(name: string, make: () => Promise<BrokerHarness<Config>>): void {
  describe(`${name}: what every broker does`, () => {
    let harness: BrokerHarness<Config>;
    const { publisher, consume, decoded, bodyOf, fresh, readThroughCut, end } = usersOf(() => harness);
    beforeEach(async () => {
      harness = await make();
    });
    afterEach(end);

    it("notices a broker that falls silent, stops at once meanwhile, and reads on when it answers again", async (context) => {
      if (harness.produce === null) return context.skip("this adapter is pushed to");
      const parked = new Set<string>();
      const park = async (batch: DeadLetter[]) => {
        for (const letter of batch) parked.add(bodyOf(letter));
      };
      const [patient, stopped] = [consume(park, harness.impatient), consume(park, harness.impatient)];
      await eventually(() => [patient.state().state, stopped.state().state]).toEqual(["running", "running"]);
      harness.proxy.stall();
      const stopping = stopped.stop();
      await expect.poll(() => patient.state().state, { interval: 100 }).toBe("failing");
      await stopping;
      harness.proxy.resume();
      await harness.produce(["after"]);
      await expect.poll(() => parked.has("after"), { interval: 100 }).toBe(true);
      await eventually(() => harness.remaining()).toBe(0);
      await eventually(() => patient.state()).toMatchObject({ state: "running", lastError: null });
    }, 180_000);

    it("finds its way back after the connection was cut, and loses nothing", async (context) => {
      if (harness.produce === null || !harness.leases) return context.skip("it waits for no lease: in the gate");
      await readThroughCut(harness.produce);
    });

    it.each(["before-commit", "before-acknowledgement"] as const)(
      "loses nothing, and knows each message again, when its process dies %s",
      async (dies) => {
        if (harness.exact === null || harness.produce === null) return;
        const bodies = Array.from({ length: 200 }, (_, n) => `m-${n}`);
        await harness.produce(bodies);
        const committed = await readByDyingProcesses(name, harness, dies, () => harness.remaining());
        expect([...new Set(committed.map(({ payload }) => decoded(payload)))].sort()).toEqual([...bodies].sort());
        // A message that was committed twice is one event.
        expect(new Set(committed.map(({ eventId }) => eventId)).size).toBe(bodies.length);
      },
      120_000,
    );

    it("goes on after the broker was killed and came back, and loses nothing", async (context) => {
      const restart = harness.exact?.restart ?? null;
      if (restart === null || harness.produce === null) return context.skip("the broker cannot be restarted here");
      await harness.exact?.beforeRestart?.();
      const parked = new Set<string>();
      const consumer = consume(async (batch) => {
        for (const letter of batch) parked.add(bodyOf(letter));
      });
      const before = Array.from({ length: 500 }, (_, n) => `before-${n}`);
      await harness.produce(before);
      await eventually(() => parked.size).toBeGreaterThan(0);
      await restart();
      await harness.produce(["after"]);
      await expect.poll(() => parked.size, { interval: 100 }).toBe(before.length + 1);
      await eventually(() => harness.remaining()).toBe(0);
      await eventually(() => consumer.state()).toMatchObject({ state: "running", lastError: null });
      const target = publisher();
      await eventually(() => failureOf(target.publish(fresh(harness.origin), never))).toBeNull();
    }, 180_000);
  });
}

/** One message for each thing that a wire may lose. */
function wholeMessages(carries: Carries, hasHeaders: boolean): ExactMessage[] {
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const json = carries.binaryBody ? '{"n":12345678901234567890}' : '{"n":1}';
  const plain: ExactMessage = { key: null, body: Buffer.from(json), headers: [] };
  const messages: (ExactMessage | false)[] = [
    {
      ...plain,
      headers: hasHeaders
        ? [
            ["x-tenant", Buffer.from("eu")],
            ["X-Case", Buffer.from("é")],
          ]
        : [],
    },
    carries.binaryBody && { ...plain, body: every },
    carries.emptyBody && { ...plain, body: Buffer.alloc(0) },
    carries.absentBody && {
      key: carries.keys ? Buffer.from("gone") : null,
      body: null,
      headers: [["x-why", Buffer.from("deleted")]] satisfies ExactMessage["headers"],
    },
    carries.keys && { ...plain, key: Buffer.from("order-1") },
    carries.keys && carries.absentBody && { ...plain, key: every }, // only a log of bytes takes any key
    carries.nullHeaders && { ...plain, headers: [["x-none", null]] },
    carries.binaryHeaders && { ...plain, headers: [["x-bytes", every]] },
    carries.duplicateHeaders && {
      ...plain,
      headers: [
        ["x-two", Buffer.from("1")],
        ["x-one", Buffer.from("0")],
        ["x-two", Buffer.from("2")],
      ],
    },
  ];
  return messages.filter((message) => message !== false);
}

/** A message without what Parkade adds, as one text. */
function comparable({ key, body, headers }: ExactMessage, { headerOrder }: Carries): string {
  const hex = (bytes: Buffer | null) => bytes?.toString("hex") ?? null;
  const own = headers.filter(([name]) => !/^x-redrive-|^nats-|^content-type$/i.test(name));
  if (headerOrder === "sorted") own.sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([hex(key), hex(body), own.map(([name, value]) => [name, hex(value)])]);
}

/** The message that the engine sends for a parked dead letter. `target` overrides where the origin says it came from. */
function redriveOf(
  letter: DeadLetter,
  target: OutboundMessage["origin"],
  change: Partial<OutboundMessage> = {},
): OutboundMessage {
  const { eventId, payload, contentType, headers, origin, traceId } = letter;
  return outbound({ ...origin, ...target }, { eventId, payload, contentType, headers, traceId, ...change });
}

/**
 * Reads a source by a process that dies in its first batch, then by one that lives, until nothing remains. Resolves with
 * every committed message, repeats included. `remaining` is asked with the payloads there are.
 */
export async function readByDyingProcesses(
  kind: string,
  { config }: { config: unknown },
  dies: "before-commit" | "before-acknowledgement",
  remaining: (committed: Buffer[]) => Promise<number> | number,
): Promise<{ eventId: string; payload: Buffer }[]> {
  const folder = mkdtempSync(join(tmpdir(), "parkade-reading-"));
  const file = join(folder, "committed");
  writeFileSync(file, "");
  const start = (how: ReadingChild["dies"]) => {
    const task: ReadingChild = { kind, config, file, dies: how };
    return spawn(process.execPath, [program("reading-child"), JSON.stringify(task)], { stdio: "ignore" });
  };
  const committed = () =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(" ") as [string, string])
      .map(([payload, eventId]) => ({ eventId, payload: Buffer.from(payload, "base64") }));
  const survivor = async () => {
    const first = start(dies);
    const [, signal] = (await once(first, "exit")) as [number | null, string | null];
    expect(signal).toBe("SIGKILL");
    return start("never");
  };
  const second = await survivor();
  try {
    await expect.poll(() => remaining(committed().map(({ payload }) => payload)), { interval: 100 }).toBe(0);
    return committed();
  } finally {
    second.kill("SIGTERM"); // ends without an orderly stop; what it committed is acknowledged or comes again
    await once(second, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
}
