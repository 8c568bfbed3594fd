import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Consumer, ConsumerState } from "@/lib/brokers/port";
import { brokerRegistry } from "@/lib/brokers/registry";
import type { SourceConfig } from "@/lib/kinds/kinds";
import { systemClock } from "@/lib/platform/clock";
import { createLog } from "@/lib/platform/log";
import { createDb, type Db } from "@/lib/store/db";
import { writeSourceState } from "@/lib/store/write/source-state";
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

const stateOf = async (id: string) =>
  (await db.query<{ state: Record<string, unknown> | null }>("select state from sources where id = $1", [id]))[0]!
    .state;
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

  test("harms only its own source: others are consumed, and changes reach them", { timeout: 40_000 }, async () => {
    const real = brokerRegistry({ clock: systemClock, random: Math.random, secrets: { variables: {}, listed: [] } });
    const opened: string[] = [];
    const brokers = {
      consume: (source: SourceConfig): Consumer => {
        const queue = source.kind === "rabbitmq" ? source.config.queue : "";
        const prefetch = source.kind === "rabbitmq" ? source.config.prefetch : undefined;
        opened.push(`${queue} ${prefetch ?? "-"}`);
        const running: ConsumerState = { state: "running", lag: 3, lastError: null, parked: 0, parts: [] };
        if (queue === "hung.dlq") {
          const consumer = real.consume(source, async () => undefined)!;
          // The end of a real one waits for its broker; this one waits for ever.
          return {
            state: () => consumer.state(),
            stop: () => consumer.stop().then(() => new Promise(() => undefined)),
          };
        }
        return { state: () => running, stop: async () => undefined };
      },
    };
    const hung = await rabbitSource("hung", await silentBroker());
    const well = await rabbitSource("well", "amqp://127.0.0.1:9");
    const consumers: Consumers = startConsumers({ db, clock: systemClock, log, brokers, workerId: "w-1" });
    const soon = { timeout: 8_000, interval: 50 };
    await expect.poll(() => stateOf(well), soon).toMatchObject({ state: "running", lag: 3, worker: "w-1" });
    await change(hung);
    await expect.poll(() => opened, soon).toContain("hung.dlq 7");
    await change(well);
    await expect.poll(() => opened, soon).toContain("well.dlq 7");
    const third = await rabbitSource("third", "amqp://127.0.0.1:9");
    await expect.poll(() => stateOf(third), soon).toMatchObject({ state: "running" });
    const startedMs = performance.now();
    await consumers.stop();
    expect(performance.now() - startedMs).toBeLessThan(17_000);
  });

  test("is answered to a probe within its bound", { timeout: 20_000 }, async () => {
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
  test("is the word of one of them, until it falls silent or the other fails", async () => {
    const id = await addSource(db, "orders");
    const say = (worker: string, state: string, lag: number) =>
      writeSourceState(db, id, { worker, state: { state, lag, lastError: null } });
    await say("w-1", "running", 11);
    await say("w-2", "running", 12);
    expect(await stateOf(id)).toMatchObject({ worker: "w-1", lag: 11 });
    await say("w-2", "failing", 13);
    expect(await stateOf(id)).toMatchObject({ worker: "w-2", state: "failing" });
    await say("w-1", "running", 14);
    expect(await stateOf(id)).toMatchObject({ worker: "w-2", state: "failing" });
    await db.run(
      `update sources set state = state || jsonb_build_object('at', (now() - interval '11 s')::text) where id = $1`,
      [id],
    );
    await say("w-1", "running", 15);
    expect(await stateOf(id)).toMatchObject({ worker: "w-1", lag: 15, at: expect.stringMatching(/^20.*Z$/) });
  });
});
