import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
import type { DeadLetter } from "@/lib/core/dead-letter";
import { systemClock } from "@/lib/platform/clock";
import type { TcpProxy } from "@/lib/testing/tcp-proxy";

/** A message as the target got it. Header names in lower case; text values only. */
export type Arrived = { body: Buffer; contentType: string | null; headers: Record<string, string> };

/** One isolated source with its target, reached through a proxy. Made anew for every test. */
export type BrokerHarness<Config> = {
  adapter: Adapter<Config>;
  config: Config;
  proxy: TcpProxy;
  /** Fields of an outbound message that make it go to this harness's target. */
  origin: OutboundMessage["origin"];
  /** Returns and removes all messages that have arrived at the target, in order. */
  arrived(): Promise<Arrived[]>;
  /** A configuration whose address is right and whose destination does not exist or refuses. */
  refusing: Config;
  /** Puts dead letters where the source reads; null for adapters that are pushed to. */
  produce: ((bodies: string[]) => Promise<void>) | null;
  /** Dead letters that still belong to the broker: ready, or handed out and not acknowledged. */
  remaining(): Promise<number>;
  stop(): Promise<void>;
};

export function outbound(origin: OutboundMessage["origin"], change: Partial<OutboundMessage> = {}): OutboundMessage {
  return outboundMessage({ origin, ...change });
}

/** The park loop over an adapter, as the registry makes it. */
export function consumerOf<Config>(adapter: Adapter<Config>, config: Config, park: ParkBatch): Consumer {
  const deps = { clock: systemClock, random: () => 0, report: () => undefined };
  return new ParkLoop(adapter.reader!(config), park, deps);
}

/** Polls for as long as a busy machine may need. */
export function eventually<T>(probe: () => T | Promise<T>) {
  return expect.poll(probe, { timeout: 20_000, interval: 50 });
}

const never = new AbortController().signal;

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

/** What every adapter must do, on a real broker behind a network that can fail. */
export function describeBroker<Config>(name: string, make: () => Promise<BrokerHarness<Config>>): void {
  describe(`${name}: what every broker does`, () => {
    let harness: BrokerHarness<Config>;
    const publishers: Publisher[] = [];
    const consumers: Consumer[] = [];

    const publisher = (config = harness.config) => {
      const made = harness.adapter.publisher(config);
      publishers.push(made);
      return made;
    };
    const consume = (park: (batch: DeadLetter[]) => Promise<void>) => {
      const made = consumerOf(harness.adapter, harness.config, park);
      consumers.push(made);
      return made;
    };

    beforeEach(async () => {
      harness = await make();
    });
    afterEach(async () => {
      harness.proxy.resume();
      await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
      await Promise.all(publishers.splice(0).map((made) => made.close()));
      await harness.stop();
    });

    describe("publishing", () => {
      it.each([
        ["JSON", Buffer.from('{"big":12345678901234567890, "text":"é"}'), "application/json"],
        ["every byte", Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), "application/octet-stream"],
        ["nothing", Buffer.alloc(0), "text/plain"],
        ["more than one frame", Buffer.alloc(300_000, "x"), "text/plain; charset=utf-8"],
      ])("sends the payload byte for byte with its content type: %s", async (_, payload, contentType) => {
        await publisher().publish(outbound(harness.origin, { payload, contentType }), never);
        const [message] = await harness.arrived();
        expect(message!.body.equals(payload)).toBe(true);
        expect(message!.contentType).toBe(contentType);
      });

      it("restores the application's headers, marks the redrive and leaves the failure behind", async () => {
        await publisher().publish(
          outbound(harness.origin, {
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

      it("passes on how often the message was repeated, once, in place of the parked count", async () => {
        const headers: OutboundMessage["headers"] = [["x-retry-count", "2"]];
        await publisher().publish(outbound(harness.origin, { headers, retryCount: 4 }), never);
        const [message] = await harness.arrived();
        expect(String(message!.headers["x-retry-count"])).toBe("4");
      });

      it("tells how far a send has come: nothing before there is a connection, connected before the answer", async () => {
        const phases: string[] = [];
        const tell = (phase: string) => phases.push(phase);
        const target = publisher();
        await target.publish(outbound(harness.origin), never, tell);
        expect(phases[0]).toBe("connected");
        expect(phases).toEqual(["connected", "answering"].slice(0, phases.length));
        harness.proxy.cut();
        await harness.proxy.refuse();
        phases.length = 0;
        // The first publish may still use the connection that is being closed; no later one does.
        await eventually(async () => {
          phases.length = 0;
          await failureOf(target.publish(outbound(harness.origin), never, tell));
          return phases;
        }).toEqual([]);
        await harness.proxy.accept();
      });

      it("carries many at a time, each exactly once", async () => {
        const target = publisher();
        const messages = Array.from({ length: 300 }, () => outbound(harness.origin));
        await Promise.all(messages.map((message) => target.publish(message, never)));
        const bodies = (await harness.arrived()).map((message) => message.body.toString()).sort();
        expect(bodies).toEqual(messages.map((message) => Buffer.from(message.payload).toString()).sort());
      });

      it("sends nothing once aborted", async () => {
        const reason = new Error("changed my mind");
        expect(await failureOf(publisher().publish(outbound(harness.origin), AbortSignal.abort(reason)))).toBe(reason);
        expect(await harness.arrived()).toEqual([]);
      });

      it("ends at once on abort while the answer is outstanding, with the reason", async () => {
        const target = publisher();
        await target.publish(outbound(harness.origin), never);
        harness.proxy.stall("toClient");
        const before = harness.proxy.bytes("toServer");
        const abort = new AbortController();
        const publishing = failureOf(target.publish(outbound(harness.origin), abort.signal));
        await eventually(() => harness.proxy.bytes("toServer")).toBeGreaterThan(before);
        const reason = new Error("operation cancelled");
        abort.abort(reason);
        expect(await publishing).toBe(reason);
      });

      it("says that nothing was sent when the target cannot be reached", async () => {
        await harness.proxy.refuse();
        const error = await failureOf(publisher().publish(outbound(harness.origin), never));
        expect(error).toBeInstanceOf(PublishError);
        expect(error).toMatchObject({ code: "ECONNREFUSED", sent: "no" });
      });

      it("says that the message may have arrived when the answer is lost, and recovers", async () => {
        const target = publisher();
        await target.publish(outbound(harness.origin), never);
        await harness.arrived();
        harness.proxy.stall("toClient");
        const before = harness.proxy.bytes("toServer");
        const publishing = failureOf(target.publish(outbound(harness.origin), never));
        await eventually(() => harness.proxy.bytes("toServer")).toBeGreaterThan(before);
        // The message did arrive: "no" would be wrong.
        await eventually(async () => (await harness.arrived()).length).toBe(1);
        harness.proxy.cut();
        const error = await publishing;
        expect(error).toBeInstanceOf(PublishError);
        expect((error as PublishError).sent).toBe("maybe");
        harness.proxy.resume();
        await eventually(() => failureOf(target.publish(outbound(harness.origin), never))).toBeNull();
      });

      it("tells a refused destination as a typed error", async () => {
        const error = await failureOf(publisher(harness.refusing).publish(outbound({}), never));
        expect(error).toBeInstanceOf(PublishError);
        expect((error as PublishError).code).toMatch(/^[A-Z][A-Z0-9_]+$/);
        expect((error as PublishError).sent).toBe("no");
      });

      it("closes its connections and takes nothing more", async () => {
        const target = publisher();
        await target.publish(outbound(harness.origin), never);
        await target.close();
        await eventually(() => harness.proxy.connections()).toBe(0);
        expect(await failureOf(target.publish(outbound(harness.origin), never))).toMatchObject({ sent: "no" });
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
        expect(offered.map((letter) => Buffer.from(letter.payload).toString())).toEqual(["a", "b", "c"]);
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
          for (const letter of batch) parked.add(Buffer.from(letter.payload).toString());
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
        expect(consumer.state()).toMatchObject({ state: "running", lastError: null });
      });

      it("keeps the neighbours of a message that cannot be committed, and the message itself", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const parked: string[] = [];
        await harness.produce(["a", "bad", "b"]);
        const consumer = consume(async (batch) => {
          const bodies = batch.map((letter) => Buffer.from(letter.payload).toString());
          if (bodies.includes("bad")) throw new Error("cannot be stored");
          parked.push(...bodies);
        });
        await eventually(() => parked).toEqual(["a", "b"]);
        expect(consumer.state().lastError).toContain("1 message");
        expect(await harness.remaining()).toBe(1);
        await harness.produce(["c"]);
        await eventually(() => parked).toEqual(["a", "b", "c"]);
        await eventually(() => harness.remaining()).toBe(1);
      });

      it("finds its way back after the connection was cut, and loses nothing", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const parked = new Set<string>();
        const consumer = consume(async (batch) => {
          for (const letter of batch) parked.add(Buffer.from(letter.payload).toString());
        });
        await harness.produce(["before"]);
        await eventually(() => parked.has("before")).toBe(true);
        harness.proxy.cut();
        await harness.produce(["after"]);
        await eventually(() => parked.has("after")).toBe(true);
        await eventually(() => harness.remaining()).toBe(0);
        expect(consumer.state().state).toBe("running");
      });

      it("finishes the batch in hand on stop and gives the rest back", async (context) => {
        if (harness.produce === null) return context.skip("this adapter is pushed to");
        const commit = Promise.withResolvers<void>();
        const offered: string[] = [];
        await harness.produce(["a"]);
        const consumer = consume(async (batch) => {
          offered.push(...batch.map((letter) => Buffer.from(letter.payload).toString()));
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
        expect(result).toMatchObject({ reachable: true, depth: 2 });
        expect(result.reachable && result.sample.map((sample) => sample.payloadBytes)).toEqual([1, 1]);
        expect(await harness.remaining()).toBe(2);
        const offered: string[] = [];
        consume(async (batch) => {
          offered.push(...batch.map((letter) => Buffer.from(letter.payload).toString()));
        });
        await eventually(() => offered).toEqual(["a", "b"]); // in their order
      });
    });
  });
}
