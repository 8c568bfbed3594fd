import { expect, test } from "vitest";
import { DeliveryBuffer } from "@/lib/brokers/delivery-buffer";
import { ParkLoop } from "@/lib/brokers/park-loop";
import type { Reader, ReadMode } from "@/lib/brokers/port";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { deadLetter } from "@/lib/testing/letters";
import { manualClock } from "@/lib/testing/manual-clock";

/** A broker of one queue that can refuse connections and count messages that it does not hand out. */
function scene({ mode, refuse = false, hold = false }: { mode?: ReadMode; refuse?: boolean; hold?: boolean } = {}) {
  const clock = manualClock();
  const broker = {
    queue: [] as string[],
    opened: 0,
    open: 0,
    refuse,
    hidden: 0,
    uncounted: false,
    back: new Set(),
    parts: [] as string[],
  };
  const parked: string[] = [];
  /** `bad`: messages that fail with every batch that holds one. `refused`: the same, with the store's own word for it. */
  const store = { out: false, bad: new Set<string>(), refused: new Set<string>(), busy: Promise.resolve() };
  let inbox = new DeliveryBuffer<string>();
  const reader: Reader<string> = {
    what: "queue q",
    batchMax: 10,
    holdFromDeliveries: hold ? 0 : Number.POSITIVE_INFINITY,
    open: async () => {
      broker.opened += 1;
      if (broker.refuse) throw new Error("wrong password");
      broker.open += 1;
      inbox = new DeliveryBuffer();
      for (const id of broker.queue) inbox.push(id);
      return {
        inHandMax: 100,
        readsAhead: true,
        take: async (max, signal, withinMs) =>
          (await inbox.takeBatch(max, { signal, withinMs, lingerMs: 1, clock })).map((id) => ({
            letter: deadLetter({ eventId: id }),
            handle: id,
            deliveries: 0,
          })),
        acknowledge: async (ids) => {
          broker.queue = broker.queue.filter((id) => !ids.includes(id));
        },
        lag: async () => {
          if (broker.uncounted) throw new Error("throttled");
          const total = broker.queue.length + broker.hidden;
          const parts = broker.parts.map((name) => ({ name, lag: null, parked: null }));
          return { total, parts };
        },
        partOf: (id) => `orders/${id.slice(-1)}`,
        holds: (id) => !broker.back.has(id),
        assertOpen: () => inbox.throwIfFailed(),
        close: async () => {
          broker.open -= 1;
        },
      };
    },
    describe: (error) => (error as Error).message,
  };
  const deps = { clock, random: () => 0.5, report: () => undefined };
  const park = async (letters: { eventId: string }[]) => {
    await store.busy;
    if (store.out || letters.some(({ eventId }) => store.bad.has(eventId))) throw new Error("refused");
    if (letters.some(({ eventId }) => store.refused.has(eventId)))
      throw new DomainError("invalid-request", "the store refuses a message's values");
    parked.push(...letters.map(({ eventId }) => eventId));
  };
  const loop = new ParkLoop(reader, park, deps, mode);
  const arrive = (...ids: string[]) => {
    broker.queue.push(...ids);
    for (const id of ids) inbox.push(id);
  };
  /** The broker takes a message back that is in hand, and hands it out again under another name. */
  const takeBack = (id: string, again: string) => {
    broker.back.add(id);
    broker.queue = broker.queue.filter((one) => one !== id);
    arrive(again);
  };
  const lose = () => inbox.fail(new Error("connection lost"));
  /** The store is busy until the result is called. */
  const occupy = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    store.busy = promise;
    return resolve;
  };
  return { clock, broker, parked, store, loop, arrive, lose, takeBack, occupy, unread: () => inbox.size };
}

test("a paused source keeps no connection and takes nothing, and reads on when it is resumed", async () => {
  const { clock, broker, parked, loop, arrive } = scene();
  await clock.advance(10);
  expect(loop.state().state).toBe("running");
  loop.steer("paused");
  await clock.advance(10);
  expect(loop.state()).toMatchObject({ state: "paused", lag: null });
  arrive("a");
  await clock.advance(60_000);
  expect([broker.open, broker.queue, parked]).toEqual([0, ["a"], []]);
  loop.steer("running");
  await clock.advance(10);
  expect([loop.state().state, parked]).toEqual(["running", ["a"]]);
  await loop.stop();
});

test("a source that begins paused is not connected to", async () => {
  const { clock, broker, loop } = scene({ mode: "paused" });
  await clock.advance(60_000);
  expect([loop.state().state, broker.opened]).toEqual(["paused", 0]);
  await loop.stop();
});

test("a draining source reads what is there, then says that it is empty and reads no more", async () => {
  const { clock, broker, parked, loop, arrive } = scene();
  await clock.advance(10);
  loop.steer("draining");
  arrive("a", "b");
  await clock.advance(10);
  expect([loop.state().state, parked]).toEqual(["draining", ["a", "b"]]);
  await clock.advance(2_100);
  expect(loop.state()).toMatchObject({ state: "drained", lag: 0 });
  arrive("late");
  await clock.advance(60_000);
  expect([broker.open, parked]).toEqual([0, ["a", "b"]]);
  await loop.stop();
});

test("a drain waits for messages that the broker counts, and ends with their number when none comes", async () => {
  const { clock, broker, loop } = scene({ mode: "draining" });
  broker.hidden = 3;
  await clock.advance(20_000);
  expect(loop.state().state).toBe("draining");
  await clock.advance(15_000);
  expect(loop.state()).toMatchObject({ state: "drained", lag: 3 });
  await loop.stop();
});

test("a drain does not end at once on a lag that is unknown: it waits as long as for messages that are counted", async () => {
  const { clock, broker, parked, loop, arrive } = scene({ mode: "draining" });
  broker.uncounted = true;
  await clock.advance(20_000);
  expect(loop.state().state).toBe("draining");
  arrive("late");
  await clock.advance(29_000);
  expect([loop.state().state, parked]).toEqual(["draining", ["late"]]);
  await clock.advance(4_000);
  expect(loop.state()).toMatchObject({ state: "drained", lag: null });
  await loop.stop();
});

test("a source that fails says when it is tried again, later and later, and at once when asked", async () => {
  const { clock, broker, loop } = scene({ refuse: true });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    await clock.advance(0);
    const { state, lastError, retryAtMs } = loop.state();
    expect([state, lastError]).toEqual(["failing", "wrong password"]);
    waits.push(retryAtMs! - clock.wallMs());
    await clock.advance(waits.at(-1)!);
  }
  // Half of 500 ms x 2^n and the least pause, at most half of the cap.
  expect(waits).toEqual([500, 750, 1_250, 2_250, 4_250, 8_250, 15_250, 15_250]);
  const before = broker.opened;
  broker.refuse = false;
  loop.retryNow();
  await clock.advance(0);
  expect([broker.opened, loop.state().state, loop.state().retryAtMs]).toEqual([before + 1, "running", null]);
  await loop.stop();
});

test("a source that fails can be paused, and does not try on", async () => {
  const { clock, broker, loop } = scene({ refuse: true });
  await clock.advance(0);
  loop.steer("paused");
  await clock.advance(120_000);
  expect(loop.state()).toMatchObject({ state: "paused", lastError: null, retryAtMs: null });
  expect(broker.opened).toBe(1);
  await loop.stop();
});

test("a connection that is lost after a change of the mode is a failure with its pause", async () => {
  const { clock, broker, loop, lose } = scene();
  await clock.advance(10);
  broker.hidden = 3;
  loop.steer("draining");
  await clock.advance(10);
  lose();
  await clock.advance(0);
  expect(loop.state()).toMatchObject({ state: "failing", lastError: "connection lost" });
  expect(broker.opened).toBe(1);
  await clock.advance(500);
  expect([loop.state().state, broker.opened]).toEqual(["draining", 2]);
  await loop.stop();
});

test("a lag that cannot be read is unknown, and read again later", async () => {
  const { clock, broker, loop } = scene();
  broker.hidden = 3;
  await clock.advance(10);
  expect(loop.state().lag).toBe(3);
  broker.uncounted = true;
  await clock.advance(5_000);
  expect(loop.state()).toMatchObject({ state: "running", lag: null });
  broker.uncounted = false;
  await clock.advance(5_000);
  expect(loop.state().lag).toBe(3);
  await loop.stop();
});

test("a bad message that is held alone holds up none that comes after it", async () => {
  const { clock, broker, parked, store, loop, arrive } = scene({ hold: true });
  store.bad.add("bad");
  await clock.advance(10);
  arrive("bad");
  await clock.advance(2_000);
  expect([loop.state().state, broker.opened]).toEqual(["failing", 1]);
  arrive("a", "b");
  await clock.advance(10_000);
  expect([parked, broker.queue]).toEqual([["a", "b"], ["bad"]]);
  expect(loop.state()).toMatchObject({ state: "running", lastError: expect.stringContaining("1 message") });
  await loop.stop();
});

test("a batch that was held during an outage is parked after it without its bad message", async () => {
  const { clock, broker, parked, store, loop, arrive } = scene({ hold: true });
  store.bad.add("bad");
  store.out = true;
  await clock.advance(10);
  arrive("a", "bad", "b", "c");
  await clock.advance(10_000);
  expect([loop.state().state, parked]).toEqual(["failing", []]);
  store.out = false;
  await clock.advance(30_000);
  expect([parked, broker.queue, broker.opened]).toEqual([["a", "b", "c"], ["bad"], 1]);
  await loop.stop();
});

test("messages that the store refuses hold up nobody, however many come first", async () => {
  for (const hold of [false, true]) {
    const { clock, broker, parked, store, loop, arrive } = scene({ hold });
    for (const id of ["r1", "r2", "r3", "r4"]) store.refused.add(id);
    await clock.advance(10);
    arrive("r1", "r2", "r3", "r4", "a");
    await clock.advance(100);
    expect([parked, broker.opened]).toEqual([["a"], 1]);
    arrive("b");
    await clock.advance(100);
    expect([parked, loop.state().state]).toEqual([["a", "b"], "running"]);
    expect(loop.state().lastError).toContain("4 messages");
    await loop.stop();
    expect(broker.queue).toEqual(["r1", "r2", "r3", "r4"]);
  }
});

test("a message that the broker took back is forgotten: it is counted once, and parked once", async () => {
  const { clock, parked, store, loop, arrive, takeBack } = scene();
  for (const id of ["r", "r again", "r at last"]) store.refused.add(id);
  await clock.advance(10);
  arrive("r");
  await clock.advance(100);
  takeBack("r", "r again");
  await clock.advance(60_000);
  takeBack("r again", "r at last");
  await clock.advance(60_000);
  expect(loop.state().lastError).toContain("1 message ");
  store.refused.clear();
  await clock.advance(120_000);
  expect([parked, loop.state().lastError]).toEqual([["r at last"], null]);
  await loop.stop();
});

test("a batch that is held forgets what the broker took back", async () => {
  const { clock, parked, store, loop, arrive, takeBack } = scene({ hold: true });
  store.out = true;
  await clock.advance(10);
  arrive("a", "b", "c");
  await clock.advance(1_000);
  takeBack("b", "b again");
  await clock.advance(10_000);
  store.out = false;
  await clock.advance(30_000);
  expect([...parked].sort()).toEqual(["a", "b again", "c"]);
  await loop.stop();
});

test("a message that is refused alone is set aside, said at its part, and its source reads on", async () => {
  const { clock, broker, parked, store, loop, arrive } = scene();
  broker.parts = ["orders/r", "orders/a"];
  store.refused.add("r");
  await clock.advance(10);
  arrive("r");
  await clock.advance(100);
  arrive("a");
  await clock.advance(100);
  expect([parked, broker.opened, loop.state().state]).toEqual([["a"], 1, "running"]);
  expect(loop.state().parts.map(({ name, setAside }) => [name, setAside])).toEqual([
    ["orders/r", 1],
    ["orders/a", 0],
  ]);
  await loop.stop();
});

const numbered = (count: number) => Array.from({ length: count }, (_, n) => `m${n}`);

test("one further batch is read while the store is busy, and committed behind the first", async () => {
  const { clock, broker, parked, loop, arrive, occupy, unread } = scene();
  const release = occupy();
  await clock.advance(10);
  arrive(...numbered(35));
  await clock.advance(100);
  expect([parked.length, unread()]).toEqual([0, 15]);
  release();
  await clock.advance(100);
  expect([parked, broker.queue]).toEqual([numbered(35), []]);
  await loop.stop();
});

test("what was read ahead is neither lost nor doubled by an outage, a lost connection, a pause or a stop", async () => {
  for (const happens of ["outage", "loss", "pause", "stop"] as const) {
    const { clock, broker, parked, store, loop, arrive, lose, occupy } = scene();
    const release = occupy();
    await clock.advance(10);
    arrive(...numbered(20));
    await clock.advance(100);
    store.out = happens === "outage";
    if (happens === "loss") lose();
    if (happens === "pause") loop.steer("paused");
    const stopped = happens === "stop" ? loop.stop() : null;
    release();
    await clock.advance(100);
    await stopped;
    expect(broker.queue, happens).toEqual(numbered(20).slice(parked.length));
    if (stopped !== null) continue;
    store.out = false;
    loop.steer("running");
    await clock.advance(5_000);
    expect([parked, broker.queue], happens).toEqual([numbered(20), []]);
    await loop.stop();
  }
});

test("a bad message that is held alone holds up none that were read ahead", async () => {
  const { clock, broker, parked, store, loop, arrive, occupy } = scene({ hold: true });
  store.bad.add("bad");
  const release = occupy();
  await clock.advance(10);
  arrive("bad");
  await clock.advance(1);
  arrive(...numbered(12));
  await clock.advance(100);
  release();
  await clock.advance(10_000);
  expect([parked, broker.queue, broker.opened]).toEqual([numbered(12), ["bad"], 1]);
  await loop.stop();
});
