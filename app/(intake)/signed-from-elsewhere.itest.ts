import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signatureHeaders } from "@/lib/brokers/http/request-signature";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { callerOf, setUpAda } from "@/lib/testing/signed-in";

/** From another address, without session and token: a signature with the secret of a source is what lets a request in. */

const ORDERS = "whsec_b3JkZXJzLW9yZGVycy1vcmRlcnMtMTI=";
const BILLING = "whsec_YmlsbGluZy1iaWxsaW5nLWJpbGxpbmc=";
const NDJSON = { "content-type": "application/x-ndjson" };

let web: TestConsole;
let ada: string;
const call = callerOf(() => web);

beforeAll(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  ada = await setUpAda(web, call);
  for (const name of ["orders", "billing", "unsigned"]) await addSource(web.deps.db, name);
  const configure = async (name: string, secret: string) => {
    const { config } = parseSourceConfig("http", { signedIntake: { scheme: "standard-webhooks", secrets: [secret] } });
    await web.deps.db.run("update sources set kind = 'http', config = $2 where name = $1", [name, config]);
  };
  await configure("orders", ORDERS);
  await configure("billing", BILLING);
});
beforeEach(() =>
  web.deps.db.run(
    "truncate dlq_events, dlq_event_bodies, event_keys, dlq_groups, dlq_levels, dlq_group_levels, dlq_flow, audit_entries, audit_subjects",
  ),
);
afterAll(() => web.close());

const event = (source: string, eventId = "e-1") => ({ source, eventId, errorCode: "TIMEOUT", payload: {} });
const sign = (body: string, secret = ORDERS, atMs = Date.now()) =>
  signatureHeaders({ secret }, { id: "msg_1", atMs, body });
const post = (body: string, headers: Record<string, string> = {}, cookie = "") =>
  call<ParkAnswer & { code: string }>("POST events", {
    ...{ body, cookie },
    headers: { "x-parkade-address": "192.0.2.7", ...headers },
  });
const count = async (table: string) =>
  (await web.deps.db.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n;

/** Nothing was parked, and no key was kept. */
async function expectNothing(): Promise<void> {
  expect([await count("dlq_events"), await count("idempotency_keys")]).toEqual([0, 0]);
}

describe("a request that is signed", () => {
  test.each([
    ["one event", JSON.stringify(event("orders")), {}],
    ["an array", JSON.stringify([event("orders")]), {}],
    ["lines", `${JSON.stringify(event("orders"))}\n`, NDJSON],
  ])("parks %s, and the audit says that a signature did", async (_, body, headers) => {
    const answer = await post(body, { ...headers, ...sign(body) });
    expect(answer).toMatchObject({ status: 202, body: { accepted: 1 } });
    const [entry] = await web.deps.db.query<{ actor: string }>("select actor from audit_entries");
    expect(entry?.actor).toBe("signature");
    // Sent once more, it is known.
    expect((await post(body, { ...headers, ...sign(body) })).body).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  test("shares its key with no other sender, whatever that one calls its request", async () => {
    const key = { "idempotency-key": "key-1" };
    const [orders, billing] = [JSON.stringify(event("orders")), JSON.stringify(event("billing"))];
    expect((await post(orders, { ...key, ...sign(orders) })).body).toMatchObject({ accepted: 1 });
    expect((await post(billing, { ...key, ...sign(billing, BILLING) })).body).toMatchObject({ accepted: 1 });
    // The other's very bytes: its answer is not told.
    const stolen = await post(orders, { ...key, ...sign(orders, BILLING) });
    expect(stolen).toMatchObject({ status: 422, body: { code: "idempotency-key-reused" } });
    expect((await post(orders, { ...key, ...sign(orders) })).body).toMatchObject({ accepted: 1 });
    await web.deps.db.run("truncate idempotency_keys");
  });

  test("parks nothing of a source whose secret it does not have, of one that takes no signed requests, or of none", async () => {
    for (const sources of [["billing"], ["unsigned"], ["nowhere"], ["orders", "billing"], ["orders", "unsigned"]]) {
      const body = JSON.stringify(sources.map((source, n) => event(source, `e-${n}`)));
      expect([sources, (await post(body, sign(body))).body]).toMatchObject([sources, { code: "not-signed" }]);
    }
    await expectNothing();
  });

  test("does nothing else", async () => {
    const body = JSON.stringify({ source: "orders", eventIds: ["e-1"] });
    const headers = sign(body);
    expect((await call("POST events/confirm", { body, headers })).status).toBe(401);
    expect((await call("GET events", { headers: sign("") })).status).toBe(401);
    expect((await call("GET sources", { headers: sign("") })).status).toBe(401);
  });

  test("does not put back what an export says of an event", async () => {
    const stored = { id: "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60", status: "IGNORED", history: [] };
    const body = JSON.stringify([{ ...event("orders"), stored }]);
    const answer = await post(body, sign(body));
    expect(answer.body.accepted ?? 0).toBe(0);
    await expectNothing();
  });
});

describe("401, and nothing is read or kept, for a request", () => {
  const body = JSON.stringify(event("orders"));
  const key = { "idempotency-key": "key-2" };

  test("that is not signed", async () => {
    expect(await post(body, key)).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    expect(await post(body, { ...key, ...NDJSON })).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    await expectNothing();
  });

  test("that is signed wrongly, whatever its body is", async () => {
    for (const other of ["", "{", "[]", '{"source":1}', "\u0000"]) {
      const answer = await post(other, { ...key, ...sign(`${other}x`) });
      expect([other, answer.status, answer.body.code]).toEqual([other, 401, "not-signed"]);
    }
    await expectNothing();
  });

  test("with a token that is not good, however it is signed", async () => {
    const authorization = `Bearer pk_${"A".repeat(43)}000000`;
    expect(await post(body, { authorization, ...sign(body) })).toMatchObject({
      ...{ status: 401, body: { code: "unauthenticated" } },
    });
    await expectNothing();
  });
});

test("who has signed in needs the signature all the same, and a token needs ingest where none is demanded", async () => {
  const service = { kind: "service", name: "shop", role: "viewer", actions: ["ingest"] };
  const { account } = (await call<{ account: { id: string } }>("POST accounts", { cookie: ada, body: service })).body;
  const secretOf = async (actions: string[]) => {
    const made = { cookie: ada, params: { id: account.id }, body: { name: "x", days: 1, actions } };
    return (await call<{ secret: string }>("POST accounts/{id}/tokens", made)).body.secret;
  };
  const [sends, views] = [await secretOf(["ingest"]), await secretOf(["view"])];
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const [signed, unsigned] = [JSON.stringify(event("orders")), JSON.stringify(event("unsigned"))];
  expect(await post(signed, {}, ada)).toMatchObject({ status: 401, body: { code: "not-signed" } });
  expect(await post(signed, bearer(sends))).toMatchObject({ status: 401, body: { code: "not-signed" } });
  expect((await post(signed, { ...bearer(sends), ...sign(signed) })).body).toMatchObject({ accepted: 1 });
  expect((await post(unsigned, bearer(sends))).body).toMatchObject({ accepted: 1 });
  expect((await post(unsigned, bearer(views))).status).toBe(403);
});

test("signatures are tried no faster than an address may ask", async () => {
  const body = JSON.stringify(event("orders"));
  const answers = web.deps.limits;
  const left = async () => Number(/r=(\d+)/.exec((await post(body, sign(`${body} `))).headers.get("ratelimit")!)![1]);
  const before = await left();
  expect(await left()).toBe(before - 1);
  expect(answers.remembered()).toBeGreaterThan(0);
});
