import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { amqp10Adapter } from "@/lib/brokers/amqp10/adapter";
import { consumerOf, eventually, outbound } from "@/lib/brokers/broker.conformance";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import { outboxAdapter } from "@/lib/brokers/outbox/adapter";
import type { Adapter, AdapterDeps } from "@/lib/brokers/port";
import { rabbitmqAdapter } from "@/lib/brokers/rabbitmq/adapter";
import { brokerRegistry } from "@/lib/brokers/registry";
import { parseSourceConfig, type SourceConfig } from "@/lib/kinds/kinds";
import { addressFilter, parseNetworks } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";

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

const KINDS: [string, (host: string) => SourceConfig, () => Adapter<never>][] = [
  ["http", (host) => parseSourceConfig("http", { redriveUrl: `http://${host}:${port}/in` }), () => httpAdapter(deps)],
  ["https", (host) => parseSourceConfig("http", { redriveUrl: `https://${host}:${port}/in` }), () => httpAdapter(deps)],
  [
    "rabbitmq",
    (host) => parseSourceConfig("rabbitmq", { url: `amqp://guest:guest@${host}:${port}`, queue: "q" }),
    () => rabbitmqAdapter(deps),
  ],
  [
    "amqp10",
    (host) => parseSourceConfig("amqp10", { url: `amqp://${host}:${port}`, address: "DLA" }),
    () => amqp10Adapter(deps),
  ],
  [
    "outbox",
    (host) => parseSourceConfig("outbox", { url: `postgres://u:p@${host}:${port}/db` }),
    () => outboxAdapter(deps),
  ],
];

it.each(KINDS)("%s connects to no refused address, given as such or by its name", async (_, configOf, make) => {
  const adapter = make();
  for (const host of ["127.0.0.1", "localhost"]) {
    const config = configOf(host).config as never;
    const publisher = adapter.publisher(config);
    const message = outbound({ queue: "q", rowId: "a" });
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

it("refuses an IP address of any kind before a client is made", () => {
  const registry = brokerRegistry({ ...deps, secrets: { variables: {}, listed: [] } });
  const sources = [
    parseSourceConfig("redis-stream", { url: `redis://127.0.0.1:${port}`, stream: "s", group: "g" }),
    parseSourceConfig("kafka", { bootstrap: ["other.example:9092", `127.0.0.1:${port}`], topics: ["t"] }),
  ];
  for (const source of sources) expect(() => registry.publisher(source)).toThrow("PARKADE_REFUSED_ADDRESSES");
});
