import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Arrived, type BrokerHarness, describeBroker, outbound } from "@/lib/brokers/broker.conformance";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { PublishError } from "@/lib/brokers/port";
import { systemClock } from "@/lib/platform/clock";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

type Entry = { key: string; headers: [string, string][]; body?: string; bodyBase64?: string };
type Answer = { status?: number; body: string; cut?: boolean };

const adapter = httpAdapter({ clock: systemClock, random: Math.random });
const never = new AbortController().signal;

/** A service that takes batches of NDJSON; `answer` is given the entries of each request. */
async function service(answer: (entries: Entry[], path: string) => Answer | Promise<Answer>) {
  const batches: Entry[][] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.method !== "POST") return void response.writeHead(204).end();
    const entries = Buffer.concat(chunks)
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Entry);
    batches.push(entries);
    const { status = 200, body, cut } = await answer(entries, request.url!);
    response.writeHead(status, { "content-length": Buffer.byteLength(body) + (cut ? 1 : 0) });
    response.write(body, () => (cut ? response.destroy() : response.end()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections());
  return { batches, port, url: `http://127.0.0.1:${port}/in`, stop };
}

const line = (result: object) => `${JSON.stringify(result)}\n`;
const all = (entries: Entry[], status = 200) => entries.map(({ key }) => line({ key, status })).join("");

const arrivedAs = ({ headers, body, bodyBase64 }: Entry): Arrived => ({
  body: body === undefined ? Buffer.from(bodyBase64!, "base64") : Buffer.from(body),
  contentType: headers.find(([name]) => name === "content-type")?.[1] ?? null,
  // As a server of single requests sees them.
  headers: Object.fromEntries(
    headers.map(([name, value]) => [name.toLowerCase(), Buffer.from(value).toString("latin1")]),
  ),
});

describeBroker<HttpConfig>("http in batches", async (): Promise<BrokerHarness<HttpConfig>> => {
  const { batches, port, stop } = await service((entries, path) => ({
    body: all(entries, path === "/refuse" ? 422 : 204),
  }));
  const proxy = await startTcpProxy(port);
  const base = `http://user:secret@127.0.0.1:${proxy.port}`;
  const batch = { format: "ndjson", events: 10, bytes: 1_000_000 } as const;
  return {
    adapter,
    config: { redriveUrl: `${base}/in`, batch },
    refusing: { redriveUrl: `${base}/refuse`, batch },
    proxy,
    origin: {},
    arrived: async () => batches.splice(0).flat().map(arrivedAs),
    produce: null,
    remaining: async () => 0,
    exact: null,
    stop: async () => {
      await proxy.stop();
      await stop();
    },
  };
});

describe("a batch of an HTTP target", () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  async function target(
    answer: Parameters<typeof service>[0],
    batch: object = { format: "ndjson" },
    change: object = {},
  ) {
    const sink = await service(answer);
    stops.push(sink.stop);
    const { config } = parseSourceConfig("http", { redriveUrl: sink.url, batch, ...change });
    const publisher = adapter.publisher(config as HttpConfig);
    stops.push(() => publisher.close());
    const publish = (eventId: string, message: object = {}, signal = never) =>
      publisher.publish(outbound({}, { eventId, idempotencyKey: `orders:${eventId}`, ...message }), signal);
    /** The outcome in one word and its details. */
    const outcome = (sent: Promise<unknown>) =>
      sent.catch(({ code, sent, message }: PublishError) => ({ code, sent, message }));
    return { ...sink, publish, outcome };
  }

  it("is one request, and each event has its own answer", async () => {
    const { batches, publish, outcome } = await target((entries) => ({
      body: JSON.stringify(
        entries.map(({ key }) => {
          if (key === "orders:known") return { key, status: 200, replayed: true };
          if (key === "orders:closed") return { key, status: 409, detail: "the order is closed" };
          return key === "orders:busy" ? { key, status: 503, retryAfter: 30 } : { key, status: 201 };
        }),
      ),
    }));
    const busy = publish("busy").catch((error: PublishError) => error);
    const [taken, known, closed] = await Promise.all(["taken", "known", "closed"].map((id) => outcome(publish(id))));
    expect(batches.map((entries) => entries.map(({ key }) => key))).toEqual([
      ["orders:busy", "orders:taken", "orders:known", "orders:closed"],
    ]);
    expect(taken).toEqual({ status: "HTTP 201" });
    expect(known).toEqual({ status: "HTTP 200", deduplicated: true });
    expect(closed).toMatchObject({
      code: "HTTP_409",
      sent: "no",
      message: expect.stringContaining("the order is closed"),
    });
    expect(await busy).toMatchObject({ code: "HTTP_503", status: 503, retryAfter: "30" });
  });

  it.each<[string, (entries: Entry[]) => Answer]>([
    ["names another", () => ({ body: line({ key: "orders:other", status: 200 }) })],
    ["contradicts itself", ([one]) => ({ body: all([one!]) + all([one!], 422) })],
    ["is no JSON", () => ({ body: "<h1>taken</h1>" })],
    ["is empty", () => ({ body: "" })],
    ["names a status that is none", ([one]) => ({ body: line({ key: one!.key, status: 2000 }) })],
    ["is cut off", (entries) => ({ body: all(entries), cut: true })],
  ])("may have arrived when its answer %s", async (_, answer) => {
    const { publish, outcome } = await target(answer);
    expect(await outcome(publish("e-1"))).toMatchObject({ code: "HTTP_NO_RESULT", sent: "maybe" });
  });

  it("leaves an event that the answer passes over ambiguous, and no other", async () => {
    const { publish, outcome } = await target((entries) => ({ body: all(entries.slice(1)) }));
    const outcomes = await Promise.all(["e-1", "e-2", "e-3"].map((id) => outcome(publish(id))));
    expect(outcomes).toMatchObject([
      { code: "HTTP_NO_RESULT", sent: "maybe" },
      { status: "HTTP 200" },
      { status: "HTTP 200" },
    ]);
  });

  it("is refused whole by the status of the request", async () => {
    const { publish, outcome } = await target(() => ({ status: 413, body: "too large" }));
    const outcomes = await Promise.all(["e-1", "e-2"].map((id) => outcome(publish(id))));
    for (const one of outcomes) expect(one).toMatchObject({ code: "HTTP_413", sent: "no" });
  });

  it("goes on without the event that its caller has given up", async () => {
    const late = new AbortController();
    const given = Promise.withResolvers<void>();
    const { publish } = await target(async (entries) => {
      late.abort(new Error("timeout"));
      await given.promise;
      return { body: all(entries) };
    });
    const sent = Promise.allSettled([publish("late", {}, late.signal), publish("other")]);
    await expect.poll(() => late.signal.aborted).toBe(true);
    given.resolve();
    expect(await sent).toMatchObject([{ reason: { message: "timeout" } }, { value: { status: "HTTP 200" } }]);
  });

  it("holds no more events and bytes than are set, and a larger event alone", async () => {
    const { batches, publish } = await target((entries) => ({ body: all(entries) }), {
      format: "ndjson",
      events: 3,
      bytes: 2_000,
    });
    const large = { payload: Buffer.alloc(5_000, "a"), contentType: "text/plain" };
    await Promise.all([publish("l", large), ...Array.from({ length: 6 }, (_, n) => publish(`e-${n}`))]);
    expect(batches.every((entries) => entries.length <= 3)).toBe(true);
    expect(batches.find((entries) => entries.some(({ key }) => key === "orders:l"))).toHaveLength(1);
    expect(batches.flat()).toHaveLength(7);
  });

  it("has the fixed headers of the configuration once, and those of each event with it", async () => {
    const { batches, publish } = await target((entries) => ({ body: all(entries) }), undefined, {
      headers: { "x-tenant": "eu", authorization: "Bearer secret" },
    });
    await publish("e-1", {
      headers: [
        ["X-Tenant", "us"],
        ["x-own", "é"],
      ],
      attempt: 3,
      retryCount: 2,
    });
    const { headers } = batches[0]![0]!;
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-own": "é",
      "x-redrive-attempt": "3",
      "x-retry-count": "2",
      "idempotency-key": '"orders:e-1"',
    });
    expect(JSON.stringify(headers)).not.toMatch(/tenant|secret/i);
  });

  it("refuses what cannot stand in a batch of CloudEvents, and sends its neighbours", async () => {
    const seen: string[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const events = JSON.parse(body) as { id: string; idempotencykey: string }[];
      seen.push(...events.map(({ id }) => id));
      response.end(JSON.stringify(events.map(({ idempotencykey: key }) => ({ key, status: 200 }))));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stops.push(() => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()));
    const redriveUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { config } = parseSourceConfig("http", { redriveUrl, batch: { format: "cloudevents" } });
    const publisher = adapter.publisher(config as HttpConfig);
    stops.push(() => publisher.close());
    const avro = { payload: Buffer.from([0, 1]), contentType: "application/cloudevents+avro" };
    const sent = [avro, {}].map((change, n) =>
      publisher.publish(outbound({}, { eventId: `e-${n}`, ...change }), never),
    );
    expect(await Promise.allSettled(sent)).toMatchObject([
      { reason: { code: "HTTP_NO_BATCH_FORM", sent: "no", message: expect.stringContaining("use the ndjson format") } },
      { value: { status: "HTTP 200" } },
    ]);
    expect(seen).toEqual(["e-1"]);
  });
});
