import { expect, onTestFinished, test } from "vitest";
import { outbound } from "@/lib/brokers/broker.conformance";
import { httpAdapter } from "@/lib/brokers/http/adapter";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { serve } from "@/lib/kit/testing/serve";
import { systemClock } from "@/lib/platform/clock";
import { type Redrive, RedriveRefused, type RedriveResult, receiveRedrives, redriveResults } from "./inbox";

const SECRET = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";
const FORMATS = ["ndjson", "cloudevents"] as const;
const REDRIVE = "018f9c4e-1111-7000-8000-000000000001";

type Sent = { headers: Record<string, string>; body: Buffer };

/** A service that takes batches with the kit, and the publisher of Parkade that sends them to it. */
async function service(
  format: "ndjson" | "cloudevents",
  result: (redrive: Redrive) => Omit<RedriveResult, "key">,
  secret: string | null = SECRET,
) {
  const got: Redrive[] = [];
  const requests: Sent[] = [];
  const url = await serve(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray());
    requests.push({ headers: incoming.headers as Record<string, string>, body });
    try {
      const redrives = await receiveRedrives(Object.assign(incoming, { body }), { secrets: secret });
      got.push(...redrives);
      const answer = redriveResults(redrives.map((redrive) => ({ key: redrive.key, ...result(redrive) })));
      response.writeHead(answer.status, answer.headers).end(answer.body);
    } catch (error) {
      response.writeHead(error instanceof RedriveRefused ? error.status : 500).end(String(error));
    }
  });
  const config: HttpConfig = {
    redriveUrl: `${url}/redrives`,
    batch: { format, events: 100, bytes: 1_000_000 },
    signing: { scheme: "standard-webhooks", secret: SECRET, header: "x-signature", prefix: "", encoding: "hex" },
  };
  const publisher = httpAdapter({ clock: systemClock, random: Math.random }).publisher(config);
  onTestFinished(() => publisher.close());
  const publish = (change: object) =>
    publisher.publish(outbound({}, { redriveId: REDRIVE, ...change }), new AbortController().signal);
  return { got, requests, publish };
}

test.each(FORMATS)(
  "takes a batch of %s with the events as they were sent, and Parkade takes each result",
  async (format) => {
    const { got, requests, publish } = await service(format, ({ eventId }) =>
      eventId === "e-2" ? { status: 422, detail: "no such order" } : { status: 200, replayed: eventId === "e-3" },
    );
    const change = (eventId: string, more: object = {}) => ({
      eventId,
      from: "orders",
      idempotencyKey: `orders:${eventId}`,
      headers: [["x-tenant", "eu é"]],
      payload: Buffer.from('{"n": 12345678901234567890}'),
      ...more,
    });
    const outcomes = await Promise.allSettled([
      publish(change("e-1", { attempt: 2 })),
      publish(change("e-2")),
      publish(change("e-3", { idempotencyKey: "orders:e-3:r4", revision: 4 })),
    ]);
    expect(requests).toHaveLength(1);
    expect(outcomes).toMatchObject([
      { value: { status: "HTTP 200" } },
      { reason: { code: "HTTP_422", message: expect.stringContaining("no such order") } },
      { value: { status: "HTTP 200", deduplicated: true } },
    ]);
    expect(got).toMatchObject([
      { source: "orders", eventId: "e-1", revision: 1, key: "orders:e-1", redriveId: REDRIVE, attempt: 2 },
      { eventId: "e-2", attempt: 1 },
      { eventId: "e-3", revision: 4, key: "orders:e-3:r4" },
    ]);
    for (const { body, headers, contentType } of got) {
      expect(body.toString()).toContain('{"n": 12345678901234567890}');
      expect(contentType).toBe(format === "ndjson" ? "application/json" : "application/cloudevents+json");
      expect(headers).toContainEqual(["x-tenant", "eu é"]);
      expect(headers).toContainEqual(["x-redrive-id", REDRIVE]);
    }
    expect(got[0]!.confirmation("billing")).toEqual({ source: "orders", eventId: "e-1", consumer: "billing" });
  },
);

test.each(FORMATS)("brings bytes that are no text through a batch of %s", async (format) => {
  const { got, publish } = await service(format, () => ({ status: 200 }));
  await publish({ payload: Buffer.from([0, 255, 1]), contentType: "application/octet-stream" });
  const { body } = got[0]!;
  const bytes = format === "ndjson" ? body : Buffer.from(JSON.parse(body.toString()).data_base64, "base64");
  expect([...bytes]).toEqual([0, 255, 1]);
});

test.each(FORMATS)(
  "refuses a batch of %s that was not signed for these events, and one with another secret",
  async (format) => {
    const { requests, publish } = await service(format, () => ({ status: 200 }));
    await publish({ eventId: "e-1", idempotencyKey: "orders:e-1" });
    const { headers, body } = requests[0]!;
    const receive = (over: object, bytes = body) =>
      receiveRedrives(
        new Request("http://service/redrives", {
          method: "POST",
          headers: { ...headers, ...over },
          body: new Uint8Array(bytes),
        }),
        { secrets: SECRET },
      );
    expect(await receive({})).toHaveLength(1);
    const changed = Buffer.from(body.toString().replace("orders:e-1", "orders:e-2"));
    await expect(receive({}, changed)).rejects.toMatchObject({ code: "not-signed", status: 401 });
    await expect(receive({ "webhook-id": "msg_other" })).rejects.toMatchObject({ code: "not-signed" });
    const others = await service(format, () => ({ status: 200 }), "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQ=");
    await expect(others.publish({})).rejects.toMatchObject({ code: "HTTP_401", sent: "no" });
  },
);

test.each([
  ["application/json", "{}", /content type is application\/json: give a request with one event to receiveRedrive/],
  ["application/x-ndjson", "{}\n", /line 1 has no key or x-redrive-id/],
  ["application/x-ndjson", "no\n", /line 1 is not JSON/],
  ["application/cloudevents-batch+json", "{}", /not a JSON array/],
  ["application/cloudevents-batch+json", "[{]", /not a JSON array/],
  ["application/cloudevents-batch+json", '[{"id":"1"}]', /event 1 has no idempotencykey or redriveid/],
])("refuses what is no batch of redrives: %s %s", async (type, body, message) => {
  const request = new Request("http://service", { method: "POST", headers: { "content-type": type }, body });
  await expect(receiveRedrives(request, { secrets: null })).rejects.toMatchObject({
    code: "not-a-redrive",
    status: 400,
    message: expect.stringMatching(message),
  });
});
