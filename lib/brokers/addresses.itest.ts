import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { consumerOf, eventually, outbound } from "@/lib/brokers/broker.conformance";
import { adminOf, connectionTo } from "@/lib/brokers/kafka/client";
import { type Kind, parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { Adapter, AdapterDeps } from "@/lib/brokers/port";
import { ADAPTERS, brokerRegistry } from "@/lib/brokers/registry";
import { addressFilter } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";
import { parseNetworks } from "@/lib/platform/networks";
import { testNameServer } from "@/lib/testing/name-server";

const never = new AbortController().signal;
/** This machine stands for an address that nobody may reach. */
const addresses = addressFilter({ refused: parseNetworks("127.0.0.0/8 ::1")!, allowed: null });
const deps: AdapterDeps = { clock: systemClock, random: () => 0, addresses };

let server: Server;
let connections = 0;
let port: number;

beforeEach(async () => {
  connections = 0;
  server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

const PUBSUB = {
  project: "p",
  subscription: "orders-dlq",
  redriveTo: { topic: "orders" },
  credentials: JSON.stringify({
    type: "service_account",
    client_email: "parkade@p.iam.gserviceaccount.com",
    private_key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
      type: "pkcs8",
      format: "pem",
    }),
  }),
};

/** Every kind, to `host` on the port of the server above; the address of a protocol that encrypts looks names up elsewhere. */
const CONFIGS: [title: string, kind: Kind, config: (host: string) => object][] = [
  ["http", "http", (host) => ({ redriveUrl: `http://${host}:${port}/in` })],
  ["https", "http", (host) => ({ redriveUrl: `https://${host}:${port}/in` })],
  ["rabbitmq", "rabbitmq", (host) => ({ url: `amqp://guest:guest@${host}:${port}`, queue: "q" })],
  ["amqp10", "amqp10", (host) => ({ url: `amqp://${host}:${port}`, address: "DLA" })],
  ["amqp10, encrypted", "amqp10", (host) => ({ url: `amqps://${host}:${port}`, address: "DLA" })],
  ["outbox", "outbox", (host) => ({ url: `postgres://u:p@${host}:${port}/db` })],
  ["outbox, in its query", "outbox", (host) => ({ url: `postgres://u:p@db.example/db?host=${host}&port=${port}` })],
  ["kafka", "kafka", (host) => ({ bootstrap: [`${host}:${port}`], topics: ["t"] })],
  ["kafka, encrypted", "kafka", (host) => ({ bootstrap: [`${host}:${port}`], topics: ["t"], encrypt: true })],
  [
    "sqs",
    "sqs",
    (host) => ({
      queue: "q",
      endpoint: `http://${host}:${port}`,
      region: "eu-central-1",
      accessKeyId: "key",
      secretAccessKey: "secret",
    }),
  ],
  ["pubsub", "pubsub", (host) => ({ ...PUBSUB, credentials: undefined, endpoint: `http://${host}:${port}` })],
  ["pubsub, encrypted", "pubsub", (host) => ({ ...PUBSUB, endpoint: `https://${host}:${port}` })],
  ["nats", "nats", (host) => ({ servers: [`${host}:${port}`], stream: "s" })],
  ["redis-stream", "redis-stream", (host) => ({ url: `redis://${host}:${port}`, stream: "s", group: "g" })],
  ["redis-stream, encrypted", "redis-stream", (host) => ({ url: `rediss://${host}:${port}`, stream: "s", group: "g" })],
  ["sidekiq", "sidekiq", (host) => ({ url: `redis://${host}:${port}` })],
  ["celery", "celery", (host) => ({ url: `redis://${host}:${port}`, queue: "orders.dlq" })],
  ["bullmq on Redis", "bullmq", (host) => ({ url: `redis://${host}:${port}`, queue: "q" })],
  ["bullmq on PostgreSQL", "bullmq", (host) => ({ url: `postgres://u:p@${host}:${port}/db`, queue: "q" })],
];

/** What a message needs to have a way: its origin, and a payload that any kind takes. */
const message = outbound(
  {
    queue: "q",
    rowId: "a",
    topic: "t",
    stream: "s",
    subject: "s.a",
    address: "DLA",
    job: { id: "1", name: "n" },
    sqsQueue: "q",
  },
  { payload: Buffer.from('{"class":"Job","args":[],"queue":"q","jid":"a"}') },
);

it.each(CONFIGS)("%s connects to no refused address, given as such or by its name", async (title, kind, configOf) => {
  for (const host of title.includes("query") ? ["127.0.0.1"] : ["127.0.0.1", "localhost"]) {
    const { config } = parseSourceConfig(kind, configOf(host));
    const adapter = ADAPTERS[kind](deps) as Adapter<typeof config>;
    const publisher = adapter.publisher(config);
    await expect(publisher.publish(message, never)).rejects.toMatchObject({ code: "ADDRESS_REFUSED", sent: "no" });
    await publisher.close();
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({ reachable: false, detail: expect.stringContaining("PARKADE_REFUSED_ADDRESSES") });
    if (adapter.reader === null) continue;
    const consumer = consumerOf(adapter, config, async () => undefined);
    await eventually(() => consumer.state().lastError).toContain("PARKADE_REFUSED_ADDRESSES");
    await consumer.stop();
  }
  expect(connections).toBe(0);
});

/** The second time the name stands for another address: between the check and the connection, or for the next one. */
it.each(CONFIGS.filter(([title]) => !title.includes("query")))(
  "%s connects to the very address that was checked, when the name then stands for a refused one",
  async (_, kind, configOf) => {
    let trapped = 0;
    const trap = createServer((socket) => {
      trapped += 1;
      socket.destroy();
    }).listen(port, "127.0.0.2");
    await once(trap, "listening");
    const names = await testNameServer((__, nth) => [nth % 2 === 0 ? "127.0.0.1" : "127.0.0.2"]);
    const turning = addressFilter({ refused: parseNetworks("127.0.0.2")!, allowed: null, resolve: names.resolve });
    const { config } = parseSourceConfig(kind, configOf("rebind.test"));
    const adapter = ADAPTERS[kind]({ ...deps, addresses: turning }) as Adapter<typeof config>;
    // What ends a connection at once is no broker: only where it was connected to counts.
    for (let attempt = 0; attempt < 4; attempt += 1)
      await adapter.probe(config, AbortSignal.timeout(5_000)).catch(() => undefined);
    expect(trapped).toBe(0);
    // The client of NATS looks names up by itself: the addresses that it finds are checked instead.
    if (kind !== "nats") {
      expect(names.asked.length).toBeGreaterThan(1);
      expect(connections).toBeGreaterThan(0);
    }
    names.stop();
    await new Promise((resolve) => trap.close(resolve));
  },
);

it("names every kind", () => {
  expect(new Set(CONFIGS.map(([, kind]) => kind))).toEqual(new Set(Object.keys(ADAPTERS)));
});

it("takes nothing from the query of a Redis address: no file, and no other host", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parkade-socket-"));
  const file = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(join(folder, "sock"));
  await once(file, "listening");
  const query = new URLSearchParams({ path: join(folder, "sock"), host: "localhost", sentinels: "localhost" });
  const { config } = parseSourceConfig("sidekiq", { url: `redis://127.0.0.1:${port}?${query}` });
  expect(await ADAPTERS.sidekiq(deps).probe(config as never, never)).toMatchObject({ reachable: false });
  expect(connections).toBe(0);
  await new Promise((resolve) => file.close(resolve));
  rmSync(folder, { recursive: true });
});

/** A broker that names another one, at an address or a name that is refused. */
it.each(["127.0.0.2", "localhost"])(
  "kafka connects to no broker at a refused address that a broker names: %s",
  async (host) => {
    // The bootstrap broker is reached by an address that is allowed: only 127.0.0.1 stands for it.
    const only = addressFilter({ refused: parseNetworks("127.0.0.2 ::1")!, allowed: null });
    const named = { ...only, lookup: host === "localhost" ? addresses.lookup : only.lookup };
    const client = adminOf({ bootstrap: [`127.0.0.1:${port}`], topics: ["t"] }, "test", { addresses: named });
    await expect(connectionTo(client, { host, port })).rejects.toMatchObject({ cause: { code: "ADDRESS_REFUSED" } });
    expect(connections).toBe(0);
    await client.close();
  },
);

it("refuses an IP address of any kind before a client is made", () => {
  const registry = brokerRegistry({ ...deps, secrets: { variables: {}, listed: [] } });
  const sources = [
    parseSourceConfig("redis-stream", { url: `redis://127.0.0.1:${port}`, stream: "s", group: "g" }),
    parseSourceConfig("kafka", { bootstrap: ["other.example:9092", `127.0.0.1:${port}`], topics: ["t"] }),
  ];
  for (const source of sources) expect(() => registry.publisher(source)).toThrow("PARKADE_REFUSED_ADDRESSES");
});
