import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { Consumer, ConsumerState, ReadMode } from "@/lib/brokers/port";
import { brokerRegistry } from "@/lib/brokers/registry";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { readConsumers, stateOf as stateOfRows } from "@/lib/sources/source-consumers.read";
import { type ConsumerReport, writeConsumer } from "@/lib/sources/source-consumers.write";
import { addSource } from "@/lib/testing/letters";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { type Consumers, startConsumers } from "./consumers";

const log = createLog({ level: "silent", process: "test" });
let database: TestDatabase;
let db: Db;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 3 });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await db.end();
  await database.drop();
});

async function rabbitSource(name: string, url: string): Promise<string> {
  const id = await addSource(db, name);
  await db.run("update sources set kind = 'rabbitmq', config = $2::jsonb, updated_at = now() where id = $1", [
    id,
    JSON.stringify({ url, queue: `${name}.dlq` }),
  ]);
  return id;
}

const stateOf = async (id: string) => stateOfRows((await readConsumers(db, [id])).get(id) ?? []);
const consumersOf = async (id: string) => (await readConsumers(db, [id])).get(id) ?? [];
const RUNNING: ConsumerState = {
  state: "running",
  lag: null,
  lastError: null,
  lastErrorAtMs: null,
  retryAtMs: null,
  parked: 0,
  parts: [],
};
const PART = { ratePerSecond: null, setAside: 0 };
const IDLE = { steer: () => undefined, retryNow: () => undefined, stop: async () => undefined };
const change = (id: string) =>
  db.run("update sources set config = config || '{\"prefetch\": 7}', updated_at = now() where id = $1", [id]);

describe("a broker that accepts connections and says nothing", () => {
  async function silentBroker(): Promise<string> {
    const server = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    cleanups.push(() => server.close());
    const address = server.address();
    return `amqp://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  }

  test("harms only its own source: others are consumed, and changes reach them", async () => {
    const real = brokerRegistry({ clock: systemClock, random: Math.random, secrets: { variables: {}, listed: [] } });
    const opened: string[] = [];
    const brokers = {
      consume: (source: SourceConfig): Consumer => {
        const queue = source.kind === "rabbitmq" ? source.config.queue : "";
        const prefetch = source.kind === "rabbitmq" ? source.config.prefetch : undefined;
        opened.push(`${queue} ${prefetch ?? "-"}`);
        const running: ConsumerState = { ...RUNNING, lag: 3 };
        if (queue === "hung.dlq") {
          const consumer = real.consume(source, async () => undefined, {
            name: "orders",
          })!;
          // The end of a real one waits for its broker; this one waits for ever.
          return {
            state: () => consumer.state(),
            steer: (mode) => consumer.steer(mode),
            retryNow: () => consumer.retryNow(),
            stop: () => consumer.stop().then(() => new Promise(() => undefined)),
          };
        }
        return { ...IDLE, state: () => running };
      },
    };
    const hung = await rabbitSource("hung", await silentBroker());
    const well = await rabbitSource("well", "amqp://127.0.0.1:9");
    const consumers: Consumers = startConsumers({
      paces: { consumersMs: 100, consumersStopMs: 1_000 },
      db,
      clock: systemClock,
      log,
      brokers,
      archive: null,
      workerId: "w-1",
    });
    const soon = { interval: 50 };
    await expect.poll(() => stateOf(well), soon).toMatchObject({ state: "running", lag: 3, workers: 1 });
    await change(hung);
    await expect.poll(() => opened, soon).toContain("hung.dlq 7");
    await change(well);
    await expect.poll(() => opened, soon).toContain("well.dlq 7");
    const third = await rabbitSource("third", "amqp://127.0.0.1:9");
    await expect.poll(() => stateOf(third), soon).toMatchObject({ state: "running" });
    // It ends, although the hung one never does.
    await consumers.stop();
  });

  test("is answered to a probe within its bound", async () => {
    const { probe } = brokerRegistry({
      clock: systemClock,
      random: Math.random,
      secrets: { variables: {}, listed: [] },
    });
    const config = { kind: "rabbitmq" as const, config: { url: await silentBroker(), queue: "q" } };
    const result = await probe(config, AbortSignal.timeout(1_000)).catch((error: Error) => error.name);
    expect(result === "TimeoutError" || (typeof result === "object" && !result.reachable)).toBe(true);
  });
});

test("a probe tells a port that is no broker from a closed one, and repeats nothing that it sent", async () => {
  const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  cleanups.push(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { probe } = brokerRegistry({ clock: systemClock, random: Math.random, secrets: { variables: {}, listed: [] } });
  const config = { kind: "rabbitmq" as const, config: { url: `amqp://127.0.0.1:${port}`, queue: "q" } };
  const result = await probe(config, AbortSignal.timeout(5_000));
  expect(result).toEqual({
    reachable: false,
    detail: `cannot connect to 127.0.0.1:${port}, vhost /: it does not answer as an AMQP broker`,
  });
});

describe("the state of a source that two workers consume", () => {
  let id: string;
  beforeEach(async () => {
    id = await addSource(db, "orders");
  });
  const report = async (worker: string, change: Partial<ConsumerReport>) => {
    const [source] = await db.query<{ modeAt: string }>('select mode_at::text as "modeAt" from sources');
    const { modeAt } = source!;
    await writeConsumer(db, { ...RUNNING, parts: [], sourceId: id, worker, modeAt, ratePerSecond: null, ...change });
  };

  test("is the worst of both, with the error that lasts and the next attempt", async () => {
    await report("w-1", { lag: 11, ratePerSecond: 2.5 });
    const failing = { lastError: "wrong password", lastErrorAtMs: 1_700_000_000_000, retryAtMs: 1_700_000_012_000 };
    await report("w-2", { state: "failing", lag: 12, ratePerSecond: 1.25, ...failing });
    expect(await stateOf(id)).toMatchObject({
      state: "failing",
      lag: 12,
      lastError: "wrong password",
      retryAt: "2023-11-14T22:13:32.000Z",
      ratePerSecond: 3.75,
      workers: 2,
    });
    await report("w-2", { state: "running", lag: 9 });
    expect(await stateOf(id)).toMatchObject({ state: "running", lag: 11, lastError: null, retryAt: null });
    const [, second] = await consumersOf(id);
    expect(second).toMatchObject({ lastError: "wrong password", lastErrorAtMs: 1_700_000_000_000 });
    expect(second!.recoveredAtMs).toEqual(expect.any(Number));
  });

  test("adds up the lag of their partitions, and only one of them is silent", async () => {
    await report("w-1", { lag: 7, parts: [{ ...PART, name: "t/0", lag: 7 }] });
    await report("w-2", { state: "connecting", lag: 5, parts: [{ ...PART, name: "t/1", lag: 5 }] });
    expect(await stateOf(id)).toMatchObject({ state: "connecting", lag: 12, workers: 2 });
    await db.run("update source_consumers set at = now() - interval '11 s' where worker = 'w-2'");
    expect(await stateOf(id)).toMatchObject({ state: "running", lag: 7, workers: 1 });
  });

  test("keeps the partitions with the most lag of thousands", async () => {
    const parts = Array.from({ length: 3_000 }, (_, index) => ({ ...PART, name: `t/${index}`, lag: index }));
    await report("w-1", { lag: 4_498_500, parts });
    const [held] = await consumersOf(id);
    expect([held!.partCount, held!.parts.length, held!.parts[0]]).toEqual([3_000, 500, parts.at(-1)]);
  });

  test("has a rate for each partition, and none for one that came back or is not read", async () => {
    const parked = { "t/0": 0, "t/1": 90 };
    const part = (name: string, own: number | null) => ({
      name,
      lag: 1,
      parked: own,
      setAside: name === "t/1" ? 2 : 0,
    });
    const state = (): ConsumerState => ({
      ...RUNNING,
      parts: [part("t/0", parked["t/0"]), part("t/1", parked["t/1"]), part("t/2 (missing)", null)],
    });
    const source = await rabbitSource("parts", "amqp://127.0.0.1:9");
    const consumers = startConsumers({
      paces: { consumersMs: 100, consumersStopMs: 1_000 },
      ...{ db, clock: systemClock, log, archive: null, workerId: "w-9" },
      brokers: { consume: () => ({ ...IDLE, state }) },
    });
    cleanups.push(() => consumers.stop());
    const partsOf = async () => (await consumersOf(source))[0]?.parts;
    const rate = { name: "t/0", lag: 1, setAside: 0, ratePerSecond: null as unknown };
    await expect.poll(partsOf).toContainEqual(rate);
    parked["t/0"] = 40;
    parked["t/1"] = 5;
    await expect.poll(partsOf).toEqual([
      { ...rate, ratePerSecond: expect.any(Number) },
      { ...rate, name: "t/1", setAside: 2 },
      { ...rate, name: "t/2 (missing)" },
    ]);
    const [first] = (await partsOf())!;
    expect(first!.ratePerSecond).toBeGreaterThan(0);
  });
});

describe("the mode of a source", () => {
  /** Consumers that do what their mode says, at once. */
  function obedient(lag: number | null = 0) {
    const modes = new Map<string, ReadMode>();
    const retries: string[] = [];
    const steered: ReadMode[] = [];
    const consume =
      (worker: string) =>
      (_source: SourceConfig, _park: unknown, { mode = "running" }: { mode?: ReadMode }): Consumer => {
        modes.set(worker, mode);
        const drained = () => (emptied.has(worker) ? "drained" : "draining");
        return {
          ...IDLE,
          state: () => {
            const now = modes.get(worker)!;
            return { ...RUNNING, lag, state: now === "draining" ? drained() : now };
          },
          steer: (next) => {
            if (modes.get(worker) !== next) steered.push(next);
            modes.set(worker, next);
          },
          retryNow: () => retries.push(worker),
        };
      };
    const emptied = new Set<string>();
    const start = (worker: string) => {
      const brokers = { consume: consume(worker) };
      const consumers = startConsumers({
        paces: { consumersMs: 100, consumersStopMs: 1_000 },
        db,
        clock: systemClock,
        log,
        brokers,
        archive: null,
        workerId: worker,
      });
      cleanups.push(() => consumers.stop());
      return consumers;
    };
    return { modes, retries, steered, emptied, start };
  }
  const soon = { interval: 50 };
  const setMode = (mode: string) => db.run("update sources set mode = $1, mode_at = now()", [mode]);
  const modeNow = async () =>
    (await db.query<{ mode: string; by: string | null }>("select mode, mode_by as by from sources"))[0];

  test("reaches two workers, and a drain ends when both have found it empty", async () => {
    const id = await rabbitSource("orders", "amqp://127.0.0.1:9");
    const { modes, emptied, start } = obedient();
    start("w-1");
    const second = start("w-2");
    await setMode("paused");
    await expect.poll(() => [...modes.values()], soon).toEqual(["paused", "paused"]);
    await expect.poll(async () => (await stateOf(id))?.state, soon).toBe("paused");
    await setMode("draining");
    emptied.add("w-1");
    await expect
      .poll(async () => (await consumersOf(id)).map(({ state }) => state), soon)
      .toEqual(["drained", "draining"]);
    expect(await modeNow()).toMatchObject({ mode: "draining" });
    emptied.add("w-2");
    await expect.poll(modeNow, soon).toEqual({ mode: "paused", by: "worker" });
    const entries = await db.query("select actor, action, reason, before, after from audit_entries");
    expect(entries).toEqual([
      {
        actor: "worker",
        action: "source.changed",
        reason: "empty after a drain",
        before: { mode: "draining" },
        after: { mode: "paused" },
      },
    ]);
    await second.stop();
    expect((await consumersOf(id)).map(({ worker }) => worker)).toEqual(["w-1"]);
    await setMode("stopped");
    await expect.poll(() => consumersOf(id), soon).toEqual([]);
  });

  test.each([
    [null, "nothing came for 30 s of a drain; the broker does not say what is left"],
    [7, "nothing came for 30 s of a drain; the broker still counts 7"],
  ])("a drain that ends with a lag of %s says so", async (lag, reason) => {
    await rabbitSource("orders", "amqp://127.0.0.1:9");
    const { emptied, start } = obedient(lag);
    emptied.add("w-1");
    start("w-1");
    await setMode("draining");
    await expect.poll(modeNow, soon).toEqual({ mode: "paused", by: "worker" });
    expect(await db.query("select mode_reason as reason from sources")).toEqual([{ reason }]);
    expect(await db.query("select reason from audit_entries")).toEqual([{ reason }]);
  });

  test("a drain that was ended and begun again within one round is another drain", async () => {
    const id = await rabbitSource("orders", "amqp://127.0.0.1:9");
    const { steered, start } = obedient();
    start("w-1");
    await expect.poll(() => stateOf(id), soon).toMatchObject({ state: "running" });
    await setMode("draining");
    await expect.poll(() => steered, soon).toEqual(["draining"]);
    await setMode("draining");
    await expect.poll(() => steered, soon).toEqual(["draining", "running", "draining"]);
  });

  test("a wish for an attempt reaches the consumer once", async () => {
    const id = await rabbitSource("orders", "amqp://127.0.0.1:9");
    const { retries, start } = obedient();
    start("w-1");
    await expect.poll(() => stateOf(id), soon).toMatchObject({ state: "running" });
    await db.run("update sources set retried_at = now()");
    await expect.poll(() => retries, soon).toEqual(["w-1"]);
    const reported = (await consumersOf(id))[0]!.atMs;
    await expect.poll(async () => (await consumersOf(id))[0]!.atMs > reported, soon).toBe(true);
    expect(retries).toEqual(["w-1"]);
  });
});
