import { type IncomingMessage, request as nodeRequest } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { outbound } from "@/lib/brokers/broker.conformance";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { requestOf } from "@/lib/brokers/http/request";
import type { OutboundMessage } from "@/lib/brokers/port";
import { serve } from "@/lib/kit/testing/serve";
import { systemClock } from "@/lib/platform/clock";
import { sendKey } from "@/lib/redrive/run/send-key.pure";
import { type NodeRequest, type Redrive, RedriveRefused, receiveRedrive, redriveAnswer } from "./inbox";

const OLD = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQ=";
const NEW = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";
const never = new AbortController().signal;
const REDRIVE = "018f9c4e-1111-7000-8000-000000000001";

/** How each kind of server hands a request to its handler. */
const SERVERS: Record<string, (incoming: IncomingMessage) => Promise<Request | NodeRequest>> = {
  "node:http": async (incoming) => incoming,
  // Express hands on the request of node:http, and express.raw() reads it into `body`.
  "Express with express.raw": async (incoming) =>
    Object.assign(incoming, { body: Buffer.concat(await incoming.toArray()) }),
  "fetch Request": async (incoming) =>
    new Request(`http://service${incoming.url}`, {
      method: "POST",
      headers: new Headers(incoming.headers as Record<string, string>),
      body: Readable.toWeb(incoming) as ReadableStream,
      duplex: "half",
    } as RequestInit),
};

/** A service that takes redrives; `known` are the events that it has processed. */
async function service(hand: (typeof SERVERS)[string], options: Parameters<typeof receiveRedrive>[1]) {
  const got: Redrive[] = [];
  const known = new Set<string>();
  const thrown: unknown[] = [];
  const url = await serve(async (incoming, response) => {
    try {
      const redrive = await receiveRedrive(await hand(incoming), options);
      const answer = redriveAnswer(known.has(redrive.eventId) ? "duplicate" : "processed");
      known.add(redrive.eventId);
      got.push(redrive);
      response.writeHead(answer.status, answer.headers).end();
    } catch (error) {
      thrown.push(error);
      response.writeHead(error instanceof RedriveRefused ? error.status : 500).end();
    }
  });
  return { got, thrown, url: `${url}/redrives` };
}

/** The very publisher that Parkade's worker sends by. */
function parkade(url: string, config: HttpConfig = {}) {
  const publisher = httpAdapter({ clock: systemClock, random: Math.random }).publisher(
    { redriveUrl: url, ...config },
    "main",
  );
  onTestFinished(() => publisher.close());
  return (source: string, eventId: string, change: Partial<OutboundMessage> = {}) =>
    publisher.publish(
      {
        ...outbound({}),
        eventId,
        from: source,
        redriveId: REDRIVE,
        attempt: 3,
        idempotencyKey: sendKey({ source, producer: "", eventId, revision: change.revision ?? 1 }),
        ...change,
      },
      never,
    );
}
const signed = (secret: string): HttpConfig => ({
  signing: { scheme: "standard-webhooks", secret, header: "x-signature", prefix: "", encoding: "hex" },
});

describe.each(Object.entries(SERVERS))("a redrive over %s", (_, hand) => {
  test("signed by either of two secrets: its parts, its bytes, and a replay that Parkade counts as one", async () => {
    const { got, url } = await service(hand, { secrets: [OLD, NEW] });
    const payload = Buffer.from([0, 255, 10]);
    const change = {
      payload,
      contentType: "application/x-raw",
      revision: 4,
      headers: [
        ["tenant", "blue"],
        ["event-version", "9007199254740993"],
      ] as never,
    };
    expect(await parkade(url, signed(OLD))("shop", "o-1", change)).toMatchObject({ status: "HTTP 200" });
    expect(await parkade(url, signed(NEW))("shop", "o-1", change)).toMatchObject({ deduplicated: true });
    const [redrive] = got as [Redrive];
    expect(redrive).toMatchObject({ source: "shop", eventId: "o-1", revision: 4, key: "shop:o-1:r4", attempt: 3 });
    expect(redrive.version).toBe(9_007_199_254_740_993n);
    expect(redrive).toMatchObject({ redriveId: REDRIVE, contentType: "application/x-raw", body: payload });
    expect(redrive.confirmation("billing")).toEqual({ source: "shop", eventId: "o-1", consumer: "billing" });
    const headers = Object.fromEntries(redrive.headers);
    expect(headers).toMatchObject({ "x-redrive-id": REDRIVE, "x-redrive-attempt": "3", tenant: "blue" });
    expect(Object.keys(headers).filter((name) => /^webhook|^host|^content-|idempotency/.test(name))).toEqual([]);
  });
});

test.each([
  ["shop", "a:b:c", 1],
  ["shop", "ends-like:r2", 1],
  ["shop", "ends-like:r2", 3],
  ["eu:shop", "o-1", 2],
  ["shop", 'quo"te\\d', 2],
  ["läden", "Bestellung ü 50%", 2],
  ["shop", "50%25 off", 1],
  ["shop", "caf%C3%A9", 1],
  ["shop", "line\nbreak", 1],
])("source %j, event %j, revision %d come out as they went in", async (source, eventId, revision) => {
  const { got, url } = await service(SERVERS["node:http"]!, { secrets: NEW });
  await parkade(url, signed(NEW))(source, eventId, { revision });
  expect(got[0]).toMatchObject({ source, eventId, revision });
});

describe("what is refused", () => {
  const hand = SERVERS["node:http"]!;
  const refusal = async (options: Parameters<typeof receiveRedrive>[1], config: HttpConfig) => {
    const { url, thrown, got } = await service(hand, options);
    await expect(parkade(url, config)("shop", "o-1")).rejects.toThrow();
    expect(got).toEqual([]);
    return thrown[0];
  };

  test("another secret, no signature, an old signature, a body that is too large", async () => {
    expect(await refusal({ secrets: [NEW] }, signed(OLD))).toMatchObject({ code: "not-signed", status: 401 });
    expect(await refusal({ secrets: [NEW] }, {})).toMatchObject({ code: "not-signed" });
    const clock = { wallMs: () => Date.now() + 6 * 60_000 };
    expect(await refusal({ secrets: [NEW], clock }, signed(NEW))).toMatchObject({ code: "not-signed" });
    expect(await refusal({ secrets: null, bodyBytesMax: 0 }, {})).toMatchObject({
      code: "body-too-large",
      status: 413,
    });
  });

  /** A signed request of Parkade's, with headers that somebody has changed on its way. */
  async function tampered(url: string, change: Record<string, string>) {
    const message = { ...outbound({}), eventId: "o-1", from: "shop", redriveId: REDRIVE, idempotencyKey: "shop:o-1" };
    const { headers, body } = requestOf(message, signed(NEW), Date.now());
    const named = Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]!]] : [])));
    return new Promise<number>((resolve, reject) => {
      const sent = nodeRequest(url, { method: "POST", headers: { ...named, ...change } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode!);
      });
      sent.on("error", reject).end(body);
    });
  }

  test("a signature of one event under the key of another, or under another redrive", async () => {
    const { url, got } = await service(hand, { secrets: [NEW] });
    expect(await tampered(url, {})).toBe(200);
    expect(await tampered(url, { "idempotency-key": '"shop:o-2"' })).toBe(401);
    expect(await tampered(url, { "x-redrive-id": REDRIVE.replace("1111", "2222") })).toBe(401);
    expect(got).toHaveLength(1);
  });

  test("a request that is no redrive, and one whose body a parser has read", async () => {
    const { url } = await service(hand, { secrets: null });
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(400);
    const parsed = async (incoming: IncomingMessage) =>
      Object.assign(incoming, { body: JSON.parse(Buffer.concat(await incoming.toArray()).toString()) as unknown });
    const behindJson = await service(parsed, { secrets: null });
    await expect(parkade(behindJson.url)("shop", "o-1", { payload: Buffer.from("{}") })).rejects.toThrow();
    expect(behindJson.thrown[0]).toMatchObject({ message: expect.stringMatching(/use express\.raw/) });
  });

  test.each([
    [{ secrets: [] }, /secrets is empty/],
    [{ secrets: "short" }, /secret must be at least 16 bytes in base64/],
  ])("%j", async (options, message) => {
    await expect(receiveRedrive(new Request("http://x", { method: "POST" }), options)).rejects.toThrow(message);
  });

  test("hmac in one header, with the form that the source has", async () => {
    const form = {
      scheme: "hmac",
      header: "x-mac",
      prefix: "v0=",
      encoding: "base64",
      timestampHeader: "x-time",
    } as const;
    const { url, got } = await service(hand, { secrets: ["It's a secret"], ...form });
    await parkade(url, { signing: { ...form, secret: "It's a secret" } })("shop", "o-1");
    await expect(parkade(url, { signing: { ...form, secret: "another" } })("shop", "o-1")).rejects.toThrow("401");
    expect(got).toHaveLength(1);
  });
});
