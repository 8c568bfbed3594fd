import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createOwnerCheck } from "@/lib/brokers/http/owner-check";
import type { CheckedEvent, OwnerCheck } from "@/lib/brokers/port";
import { addressFilter } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";
import { parseNetworks } from "@/lib/platform/networks";

type Asked = { events: (CheckedEvent & { payload?: unknown; payloadBase64?: string })[]; raw: string };
let asked: Asked[] = [];
let respond: (response: ServerResponse, call: Asked) => void;
let url: string;
let check: OwnerCheck;
let underWay = 0;
let authorization: string | undefined;
let mostUnderWay = 0;
const server = createServer(async (request, response) => {
  mostUnderWay = Math.max(mostUnderWay, ++underWay);
  response.on("close", () => underWay--);
  authorization = request.headers.authorization;
  let raw = "";
  for await (const chunk of request.setEncoding("utf8")) raw += chunk;
  const call = { ...(JSON.parse(raw) as Asked), raw };
  asked.push(call);
  respond(response, call);
});

const takeAll = (response: ServerResponse, { events }: Asked) =>
  response.end(JSON.stringify({ answers: events.map(({ id }) => ({ id, take: true })) }));
const open = (config: { timeoutMs?: number } = {}) =>
  createOwnerCheck({ url, timeoutMs: 10_000, whenUnanswered: "pass", ...config }, { clock: systemClock });
const event = (id: string, change: Partial<CheckedEvent> = {}): CheckedEvent => ({
  ...{ id, revision: 1, key: `orders:${id}`, eventType: "OrderCreated", aggregateType: "order", aggregateId: "o-1" },
  ...{ version: "3", contentType: "application/json", payload: Buffer.from('{"amount": 12345678901234567890}') },
  ...change,
});
const never = new AbortController().signal;

beforeEach(async () => {
  asked = [];
  mostUnderWay = 0;
  respond = takeAll;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://user:pass@127.0.0.1:${(server.address() as AddressInfo).port}/check?tenant=a`;
  check = open();
});
afterEach(async () => {
  await check.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("a check call", () => {
  test("asks about many events in few calls, never more than two at a time, digit for digit", async () => {
    // A slow endpoint: calls that begin together would be under way together.
    respond = (response, call) => setTimeout(() => takeAll(response, call), 50);
    const answers = await check.ask(
      Array.from({ length: 730 }, (_, index) => event(`e-${index}`)),
      never,
    );
    expect(answers).toEqual(Array(730).fill({ take: true }));
    expect(asked.map(({ events }) => events.length)).toEqual([100, 100, 100, 100, 100, 100, 100, 30]);
    expect(mostUnderWay).toBeLessThanOrEqual(2);
    expect(asked[0]!.raw).toContain('"payload":{"amount": 12345678901234567890}');
  });

  test.each([
    ["pa%24s", "pa$s"],
    ["100%", "100%"],
  ])("signs in with the password of its address, also one with a bare %%: %s", async (given, meant) => {
    await check.close();
    url = url.replace("user:pass@", `user:${given}@`);
    check = open();
    expect(await check.ask([event("a")], never)).toEqual([{ take: true }]);
    expect(authorization).toBe(`Basic ${Buffer.from(`user:${meant}`).toString("base64")}`);
  });

  test("keeps no masked value that its owner repeats, nor half of one", async () => {
    const payload = Buffer.from('{"password": "hunter22", "amount": 12}');
    respond = (response, { events }) =>
      response.end(
        JSON.stringify({
          answers: events.map(({ id }) => ({
            id,
            take: false,
            reason: `12: hunter22 is too short${"!".repeat(470)}hunter22`,
            pointer: "/hunter22",
          })),
        }),
      );
    const refused = { take: false, reason: `12: *** is too short${"!".repeat(470)}***`, pointer: "/***" };
    expect(await check.ask([event("a", { payload })], never)).toEqual([refused]);
  });

  test("sends no more bytes than a batch holds, and asks nothing about a payload that is larger by itself", async () => {
    const payload = Buffer.from(JSON.stringify("x".repeat(400_000)));
    const huge = Buffer.from(JSON.stringify("x".repeat(1_100_000)));
    const answers = await check.ask(
      [event("a", { payload }), event("huge", { payload: huge }), event("b", { payload }), event("c", { payload })],
      never,
    );
    // They are asked side by side.
    expect(asked.map(({ events }) => events.map(({ id }) => id)).sort()).toEqual([["a", "b"], ["c"]]);
    expect(answers[1]).toEqual({ unanswered: expect.stringContaining("larger than") });
  });

  test("keeps an answer for its revision alone", async () => {
    respond = (response, { events }) =>
      response.end(
        JSON.stringify({ answers: events.map(({ id }) => ({ id, take: false, reason: "no", pointer: "/amount" })) }),
      );
    const refused = { take: false, reason: "no", pointer: "/amount" };
    expect(await check.ask([event("a"), event("b")], never)).toEqual([refused, refused]);
    await check.ask([event("b"), event("a")], never);
    expect(asked).toHaveLength(1);
    respond = takeAll;
    expect(await check.ask([event("a"), event("b", { revision: 2 })], never)).toEqual([refused, { take: true }]);
    expect(asked[1]!.events).toMatchObject([{ id: "b", revision: 2 }]);
  });

  test("what is no JSON goes as base64", async () => {
    await check.ask([event("a", { contentType: "text/plain", payload: Buffer.from("hé") })], never);
    expect(asked[0]!.events[0]).toMatchObject({ payloadBase64: Buffer.from("hé").toString("base64") });
  });

  test.each<[string, (response: ServerResponse, call: Asked) => void, RegExp]>([
    ["another status", (response) => response.writeHead(503).end("{}"), /answered 503/],
    ["no JSON", (response) => response.end("<html>"), /not answer with JSON/],
    ["JSON of another form", (response) => response.end('{"ok": true}'), /that has no list "answers"/],
    [
      "a list without the event",
      (response) => response.end('{"answers": [{"id": "b", "take": "yes"}]}'),
      /left this event out/,
    ],
    [
      "an answer that says yes and no",
      (response) => response.end('{"answers":[{"id":"a","take":false},{"id":"a","take":true},{"id":"a","take":true}]}'),
      /contradictory answers for this event/,
    ],
    ["an endless answer", (response) => response.end(JSON.stringify("x".repeat(400_000))), /more than 262144 bytes/],
    ["a cut connection", (response) => response.destroy(), /cannot reach/],
    ["an answer that never ends", (response) => void response.write('{"answers": ['), /no answer from .* in 2000 ms/],
    ["nothing", () => undefined, /no answer from .* in 2000 ms/],
  ])("%s is not answered, and the call ends", async (_, answer, why) => {
    await check.close();
    check = open({ timeoutMs: 2_000 });
    respond = answer;
    const [said] = await check.ask([event("a")], never);
    expect(said).toEqual({ unanswered: expect.stringMatching(why) });
    expect(JSON.stringify(said)).not.toContain("pass");
  });

  test("leaves an endpoint alone that has just not answered", async () => {
    respond = (response) => response.writeHead(500).end();
    await check.ask([event("a")], never);
    const answers = await check.ask([event("b")], never);
    expect(answers).toEqual([{ unanswered: expect.stringContaining("answered 500") }]);
    expect(asked).toHaveLength(1);
  });

  test("ends at once when its caller stops", async () => {
    respond = () => undefined;
    const stop = new AbortController();
    const asking = check.ask([event("a")], stop.signal);
    await expect.poll(() => asked.length).toBe(1);
    stop.abort(new Error("paused"));
    await expect(asking).rejects.toThrow("paused");
  });

  test("reaches no address that sources may not have", async () => {
    const refused = addressFilter({ refused: parseNetworks("127.0.0.0/8")!, allowed: null });
    const barred = createOwnerCheck(
      { url, timeoutMs: 10_000, whenUnanswered: "pass" },
      { clock: systemClock, addresses: refused },
    );
    expect(await barred.ask([event("a")], never)).toEqual([{ unanswered: expect.stringContaining("must not use") }]);
    expect(asked).toEqual([]);
    await barred.close();
  });
});

test("the endpoint of docs/sources.md answers a signed call and refuses any other", async () => {
  const page = await readFile("docs/sources.md", "utf8");
  const file = join(tmpdir(), `check-endpoint-${process.pid}.mjs`);
  await writeFile(file, /```js\n([\s\S]+?)```/.exec(page)![1]!);
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, PORT: "0", CHECK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port] = (await once(child.stdout!, "data")) as [Buffer];
    const ask = async (config: { secret?: string }) => {
      const example = createOwnerCheck(
        { url: `http://127.0.0.1:${Number(port)}/check`, timeoutMs: 10_000, whenUnanswered: "pass", ...config },
        { clock: systemClock },
      );
      const answers = await example.ask([event("a"), event("b", { payload: Buffer.from('{"amount": 0}') })], never);
      await example.close();
      return answers;
    };
    expect(await ask({ secret })).toEqual([
      { take: true },
      { take: false, reason: "amount must be above 0", pointer: "/amount" },
    ]);
    expect(await ask({ secret: "whsec_AAAA" })).toMatchObject([{ unanswered: expect.stringContaining("401") }, {}]);
  } finally {
    child.kill("SIGKILL");
  }
});
