import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Arrived, type BrokerHarness, describeBroker, outbound } from "@/lib/brokers/broker.conformance";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { PublishError, type Publisher } from "@/lib/brokers/port";
import { systemClock } from "@/lib/platform/clock";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

type Sink = {
  port: number;
  server: Server;
  arrived: Arrived[];
  paths: string[];
  answer: Answer;
  stop(): Promise<void>;
};

async function startSink(): Promise<Sink> {
  const sink: Sink = {
    port: 0,
    arrived: [],
    paths: [],
    answer: (_, response) => response.writeHead(202).end(),
    server: createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("error", () => undefined); // cut on purpose
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks);
        sink.paths.push(`${request.method} ${request.url}`);
        if (request.method === "POST") {
          const headers = Object.fromEntries(
            Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
          );
          sink.arrived.push({ body, contentType: request.headers["content-type"] ?? null, headers });
        }
        sink.answer(request, response, body);
      });
    }),
    stop: () =>
      new Promise((resolve) => {
        sink.server.close(() => resolve());
        sink.server.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => sink.server.listen(0, "127.0.0.1", resolve));
  sink.port = (sink.server.address() as AddressInfo).port;
  return sink;
}

const never = new AbortController().signal;

describeBroker<HttpConfig>("http", async (): Promise<BrokerHarness<HttpConfig>> => {
  const sink = await startSink();
  sink.answer = (request, response) => response.writeHead(request.url === "/refuse" ? 422 : 204).end();
  const proxy = await startTcpProxy(sink.port);
  const base = `http://user:secret@127.0.0.1:${proxy.port}`;
  return {
    adapter: httpAdapter({ clock: systemClock, random: Math.random }),
    config: { redriveUrl: `${base}/in` },
    refusing: { redriveUrl: `${base}/refuse` },
    proxy,
    origin: {},
    arrived: async () => sink.arrived.splice(0),
    produce: null,
    remaining: async () => 0,
    exact: null,
    stop: async () => {
      await proxy.stop();
      await sink.stop();
    },
  };
});

describe("http redrive request", () => {
  let sink: Sink;
  let publisher: Publisher | null = null;
  const adapter = httpAdapter({ clock: systemClock, random: Math.random });
  const url = (path = "/in") => `http://127.0.0.1:${sink.port}${path}`;
  const publish = (config: HttpConfig, change: Parameters<typeof outbound>[1] = {}, lane?: "main" | "slow") => {
    publisher = adapter.publisher(config, lane);
    return publisher.publish(outbound({}, change), never);
  };
  const failure = (config: HttpConfig) =>
    publish(config).then(
      () => Promise.reject(new Error("expected a failure")),
      (error: PublishError) => error,
    );

  beforeEach(async () => {
    sink = await startSink();
  });
  afterEach(async () => {
    await publisher?.close();
    await sink.stop();
  });

  it("is signed so that its receiver can prove it, each attempt anew, under one id for a redrive", async () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const signing = { scheme: "standard-webhooks", secret };
    const { config } = parseSourceConfig("http", {
      ...{ redriveUrl: url(), signing, format: "cloudevents-structured" },
      headers: { "webhook-signature": "v1,fixed" },
    });
    const message = {
      eventId: "evt-1",
      eventType: "OrderPlaced",
      headers: [["webhook-id", "of its producer"]],
    } as const;
    await publish(config as HttpConfig, {
      ...message,
      headers: [...message.headers].map((one) => [...one]),
      attempt: 1,
    });
    await publish(config as HttpConfig, { ...message, headers: [], attempt: 2 });
    const ids = sink.arrived.map(({ body, headers }) => {
      // As the receiver computes it, from the words of the specification.
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
      expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
      expect(Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"]))).toBeLessThan(300);
      expect(JSON.parse(String(body))).toMatchObject({ id: "evt-1", type: "OrderPlaced", source: "orders" });
      return headers["webhook-id"];
    });
    expect(new Set(ids).size).toBe(1);
    await publish(config as HttpConfig, { ...message, headers: [], redriveId: "018f9c4e-9999-7000-8000-000000000009" });
    expect(sink.arrived.at(-1)!.headers["webhook-id"]).not.toBe(ids[0]);
  });

  it("shows no credential that its answer repeats, known to Parkade or not, nor half of one", async () => {
    const token = "tok-0123456789abcdef";
    sink.answer = (request, response) => {
      const { authorization, cookie } = request.headers;
      const echo = `payload-secret-1 ${"x".repeat(pad)} you sent ${token} and ${authorization} and ${cookie}`;
      response
        .writeHead(422)
        .end(`{"password": "hunter2", "url": "https://u:pw123456@a.example"} secret=abcdef ${echo}`);
    };
    let pad = 0;
    const headers: [string, string][] = [["cookie", "sid=parked-cookie-1"]];
    const payload = Buffer.from('{"login": {"pwd": ["payload-secret-1"]}}');
    const base = url().replace("//", "//user:basic-password@");
    // Behind a long text each credential comes to stand across the end of what is kept.
    for (const [redriveUrl, fixed, padding] of [
      [url(), { headers: { authorization: `Bearer ${token}` } }, 1],
      [base, { headers: { "x-api-key": token } }, 1],
      ...Array.from({ length: 12 }, (_, n) => [base, { headers: { "x-api-key": token } }, 150 + n * 10] as const),
    ] as const) {
      pad = padding;
      const error = await publish({ redriveUrl, ...fixed, forwardCredentials: true }, { headers, payload }).catch(
        (failed: PublishError) => failed,
      );
      const text = (error as PublishError).message;
      expect(text).toContain("answered 422: ");
      expect(text).not.toMatch(/hunter2|pw123456|abcdef|tok-0|basic-password|dXNlcj|parked-cookie|payload-secret/);
      await publisher!.close();
    }
  });

  it("goes to the slow lane's own address, or to the main one when it has none", async () => {
    await publish({ redriveUrl: url("/main"), slowLaneUrl: url("/slow") }, {}, "slow");
    await publisher!.close();
    await publish({ redriveUrl: url("/main") }, {}, "slow");
    expect(sink.paths).toEqual(["POST /slow", "POST /main"]);
  });

  it.each([
    [400, "no"],
    [404, "no"],
    [408, "maybe"],
    [429, "no"],
    [500, "maybe"],
    [502, "maybe"],
    [503, "no"],
    [504, "maybe"],
  ])("types a %i and whether the target may have acted (%s)", async (status, sent) => {
    sink.answer = (_, response) => response.writeHead(status, { "retry-after": "7" }).end('{"why":"amount < 0"}');
    const error = await failure({ redriveUrl: url() });
    expect(error).toBeInstanceOf(PublishError);
    expect(error).toMatchObject({ code: `HTTP_${status}`, status, sent, retryAfter: "7" });
    expect(error.message).toContain("amount < 0");
  });

  it.each([
    [{ "retry-after-ms": "1250" }, { retryAfterMs: "1250", pushback: null }],
    [{ "x-ms-retry-after-ms": "40" }, { retryAfterMs: "40", pushback: null }],
    [
      { "x-amz-retry-after": "7000", "retry-after": "6" },
      { retryAfter: "6", retryAfterMs: "7000" },
    ],
    [{ "grpc-retry-pushback-ms": "60000" }, { retryAfterMs: null, pushback: "60000" }],
    [{ "grpc-retry-pushback-ms": "-1" }, { pushback: "-1" }],
  ])("hands on what the answer asks of the next send: %j", async (headers, hints) => {
    sink.answer = (_, response) => response.writeHead(503, headers).end();
    expect(await failure({ redriveUrl: url() })).toMatchObject(hints);
  });

  it("does not follow a redirect: a POST must not wander", async () => {
    sink.answer = (_, response) => response.writeHead(307, { location: url("/elsewhere") }).end();
    expect(await failure({ redriveUrl: url() })).toMatchObject({ code: "HTTP_307", sent: "no" });
    expect(sink.paths).toEqual(["POST /in"]);
  });

  it("is not held up by an endless answer, and keeps its connections usable", async () => {
    sink.answer = (_, response) => {
      response.writeHead(500);
      const pour = () => {
        if (!response.destroyed && response.write(Buffer.alloc(64 * 1024, "x"))) setImmediate(pour);
      };
      response.on("drain", pour);
      pour();
    };
    const error = await failure({ redriveUrl: url() });
    expect(error.code).toBe("HTTP_500");
    expect(error.message.length).toBeLessThan(500);
    sink.answer = (_, response) => response.writeHead(200).end();
    expect(await publisher!.publish(outbound({}), never)).toEqual({ status: "HTTP 200" });
  });

  it("takes the head of an answer for the answer when its body breaks off", async () => {
    sink.answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      setImmediate(() => response.destroy());
    };
    expect(await publish({ redriveUrl: url() })).toEqual({ status: "HTTP 200" });
  });

  it.each(["Idempotent-Replayed", "Idempotency-Replayed"])(
    "knows by %s that the target had taken it before",
    async (name) => {
      sink.answer = (_, response) => response.writeHead(201, { [name]: "true" }).end();
      expect(await publish({ redriveUrl: url() })).toEqual({ status: "HTTP 201", deduplicated: true });
      sink.answer = (_, response) => response.writeHead(201, { [name]: "false" }).end();
      expect(await publisher!.publish(outbound({}), never)).toEqual({ status: "HTTP 201" });
    },
  );

  it("reuses connections", async () => {
    let connections = 0;
    sink.server.on("connection", () => {
      connections += 1;
    });
    await publish({ redriveUrl: url() });
    for (let sent = 0; sent < 20; sent += 1) await publisher!.publish(outbound({}), never);
    // A socket is free again only after its answer was handed over, so the first round may open a second one.
    expect(connections).toBeLessThanOrEqual(2);
  });

  it("authenticates with the credentials of the URL", async () => {
    await publish({ redriveUrl: url().replace("http://", "http://ann:p%40ss@") });
    expect(sink.arrived[0]!.headers.authorization).toBe(`Basic ${Buffer.from("ann:p@ss").toString("base64")}`);
  });

  it("cannot be made to forge headers or requests by what was parked", async () => {
    await publish(
      { redriveUrl: url() },
      {
        idempotencyKey: 'a"b\\c\r\nx-forged: 1',
        from: "orders\r\nx-forged: 1",
        contentType: "text/plain\r\nx-forged: 1",
        headers: [
          ["x-evil", "1\r\nx-forged: 1"],
          ["x-forged: 1\r\nx-name", "1"],
          ["Transfer-Encoding", "chunked"],
          ["Content-Length", "0"],
          ["Host", "elsewhere"],
          ["Connection", "close"],
        ],
      },
    );
    const [{ headers, body }] = sink.arrived as [Arrived];
    expect(headers).not.toHaveProperty("x-forged");
    expect(headers.host).toBe(`127.0.0.1:${sink.port}`);
    expect(headers["idempotency-key"]).toBe('"a\\"b\\\\c%0D%0Ax-forged: 1"');
    expect(body.length).toBeGreaterThan(0);
  });

  it("says plainly that there is no target", async () => {
    expect(await failure({})).toMatchObject({ code: "HTTP_NO_TARGET", sent: "no" });
    expect(await publisher!.probe(never)).toMatchObject({ reachable: false });
    expect(await adapter.probe({}, never)).toMatchObject({ reachable: true, depth: null });
  });

  it("sent nothing to a name that does not resolve", async () => {
    const error = await failure({ redriveUrl: "http://no-such-host.invalid/" });
    expect(error.sent).toBe("no");
    expect(error.code).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  it("counts any answer to the probe as reachable", async () => {
    sink.answer = (_, response) => response.writeHead(405).end();
    expect(await adapter.probe({ redriveUrl: url() }, never)).toMatchObject({ reachable: true });
    expect(sink.paths).toEqual(["HEAD /in"]);
  });
});
