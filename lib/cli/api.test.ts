import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { createApi } from "./api";

let stop = async () => {};
afterEach(() => {
  laterMs = 0;
  return stop();
});

type Arrived = {
  method: string;
  path: string;
  key: string | undefined;
  actor: string | undefined;
  body: string;
  signature?: string;
};

/** A server that gives one answer after the other, the last one again and again. */
let laterMs = 0;
async function serving(...answers: ((response: ServerResponse) => void)[]) {
  const arrived: Arrived[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const {
      "idempotency-key": key,
      "x-actor": actor,
      "webhook-signature": signature,
    } = request.headers as Record<string, string | undefined>;
    arrived.push({ method: request.method!, path: request.url!, key, actor, body, signature });
    answers[Math.min(arrived.length, answers.length) - 1]!(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/parkade`;
  // Pauses between repeats pass at once.
  const clock = {
    ...systemClock,
    sleep: async (ms: number) => {
      laterMs += ms;
    },
    wallMs: () => Date.now() + laterMs,
  };
  const api = createApi({ url, actor: "zoë", token: null, clock, signal: new AbortController().signal });
  return { api, arrived, url };
}

const json =
  (status: number, body: object, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
const cut = (response: ServerResponse) => response.destroy();
const problem = (status: number, code: string, retryAfter?: string) =>
  json(
    status,
    { code, detail: "no", errors: [{ field: "reason", detail: "say why" }] },
    retryAfter ? { "retry-after": retryAfter } : {},
  );

it("asks below the path of the address, and says who acts in UTF-8", async () => {
  const { api, arrived } = await serving(json(200, { ok: true }));
  expect(await api.get("api/v1/events", new URLSearchParams({ q: "a b" }))).toEqual({ ok: true });
  expect(arrived).toEqual([
    { method: "GET", path: "/parkade/api/v1/events?q=a+b", key: undefined, body: "", actor: expect.anything() },
  ]);
  expect(Buffer.from(arrived[0]!.actor!, "latin1").toString()).toBe("zoë");
});

describe("a change", () => {
  const change = { method: "POST", body: { a: 1 }, key: "k-1" } as const;

  it("is repeated with its key when its answer is lost", async () => {
    const { api, arrived } = await serving(cut, cut, json(202, { id: "r" }));
    expect(await api.change("x", change)).toEqual({ id: "r" });
    expect(arrived.map(({ key }) => key)).toEqual(["k-1", "k-1", "k-1"]);
  });

  it("is not repeated without a key", async () => {
    const { api, arrived } = await serving(cut, json(200, {}));
    await expect(api.change("x", { method: "PATCH", body: {} })).rejects.toMatchObject({ code: "offline" });
    expect(arrived).toHaveLength(1);
  });

  it.each([
    [429, "too-many-requests"],
    [409, "idempotency-key-in-progress"],
  ])("waits when it is refused for now: %i %s", async (status, code) => {
    const { api, arrived } = await serving(problem(status, code, "1"), json(202, {}));
    await api.change("x", change);
    expect(arrived).toHaveLength(2);
  });

  it("is signed anew when it is repeated, and a wrong clock is named", async () => {
    const signed = { ...change, body: '{"n":1.0}', signing: { secret: "bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=" } };
    const { api, arrived } = await serving(problem(429, "too-many-requests", "30"), json(202, {}));
    await api.change("x", signed);
    expect(arrived.map(({ body }) => body)).toEqual(['{"n":1.0}', '{"n":1.0}']);
    expect(new Set(arrived.map(({ signature }) => signature)).size).toBe(2);
    await stop();
    const refused = await serving(problem(401, "not-signed"));
    await expect(refused.api.change("x", signed)).rejects.toMatchObject({ code: "not-signed", detail: "no" });
    laterMs = 20 * 60_000;
    await expect(refused.api.change("x", signed)).rejects.toMatchObject({
      code: "not-signed",
      detail: expect.stringMatching(/^no: the clock of this machine is 20 minutes ahead/),
    });
  });

  it("is given up when the server wants a long pause, or refuses", async () => {
    const paused = await serving(problem(429, "too-many-requests", "3600"));
    await expect(paused.api.change("x", change)).rejects.toMatchObject({ code: "too-many-requests" });
    expect(paused.arrived).toHaveLength(1);
    await stop();
    const refused = await serving(problem(400, "invalid-request"));
    await expect(refused.api.change("x", change)).rejects.toMatchObject({
      code: "invalid-request",
      status: 400,
      fields: [{ field: "reason", detail: "say why" }],
    });
    expect(refused.arrived).toHaveLength(1);
  });
});

it("names the address and the fix when nothing answers there, or something else does", async () => {
  const { api, url } = await serving((response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"));
  await expect(api.get("x")).rejects.toMatchObject({
    code: "unexpected-answer",
    message: expect.stringContaining(url),
  });
  await stop();
  await expect(api.get("x")).rejects.toMatchObject({
    code: "offline",
    message: expect.stringMatching(/`parkade serve`, in a clone with `npm start`, or .*--url/),
  });
  stop = async () => {};
});
