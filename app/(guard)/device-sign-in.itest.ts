import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { DeviceAnswer, DeviceShown, DeviceStarted } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { addPerson, callerOf, setUpAda, TEST_PASSWORD } from "@/lib/testing/signed-in";

let web: TestConsole;
let ada: string;
const call = callerOf(() => web);
beforeAll(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always", PARKADE_PUBLIC_URL: "https://parkade.example.com" });
  await addSource(web.deps.db, "orders");
  ada = await setUpAda(web, call);
});
beforeEach(async () => {
  await web.deps.db.run("truncate device_sign_ins, sign_in_tries, api_tokens");
  await web.deps.db.run("delete from accounts where name <> 'Ada'");
});
afterAll(() => web.close());

const start = async (name = "parkade on laptop") =>
  (await call<DeviceStarted>("POST device-sign-ins", { body: { name }, headers: { "x-parkade-address": "192.0.2.7" } }))
    .body;
const look = (code: string, cookie = ada) =>
  call<DeviceShown & { code?: string }>("POST device-sign-ins/look", { cookie, body: { code } });
const decide = (code: string, wanted: object = {}, cookie = ada) =>
  call("POST device-sign-ins/decide", { cookie, body: { code, decision: "confirm", ...wanted } });
const take = (deviceSecret: string) => call<DeviceAnswer>("POST device-sign-ins/take", { body: { deviceSecret } });
const bearer = (secret: string | null) => ({ headers: { authorization: `Bearer ${secret}` } });

describe("a program that asks to act for a person", () => {
  test("gets a token once the person has confirmed its code, this once, and it acts as the person", async () => {
    const asked = await start();
    expect(asked).toMatchObject({
      userCode: expect.stringMatching(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/),
      url: `https://parkade.example.com/sign-in/device?code=${asked.userCode}`,
    });
    const leftMs = Date.parse(asked.expiresAt) - web.deps.clock.wallMs();
    expect(leftMs).toBeGreaterThan(9 * 60_000);
    expect(leftMs).toBeLessThanOrEqual(10 * 60_000 + 1_000);
    expect((await take(asked.deviceSecret)).body).toEqual({ state: "waiting", token: null, secret: null });
    expect((await look(asked.userCode)).body).toMatchObject({ name: "parkade on laptop", address: "192.0.2.7" });

    expect((await decide(asked.userCode)).status).toBe(204);
    const [first, second] = await Promise.all([take(asked.deviceSecret), take(asked.deviceSecret)]);
    const taken = [first, second].find(({ status }) => status === 200)!;
    expect([first.status, second.status].sort()).toEqual([200, 404]);
    expect(taken.body).toMatchObject({
      state: "confirmed",
      token: { accountName: "Ada", name: "parkade on laptop", actions: null, sources: null, createdBy: "Ada" },
    });
    const days = (Date.parse(taken.body.token!.expiresAt) - web.deps.clock.wallMs()) / 86_400_000;
    expect(days).toBeCloseTo(30, 1);
    expect((await call("GET me", bearer(taken.body.secret))).body).toMatchObject({ name: "Ada", means: "token" });
    expect((await call("GET events", bearer(taken.body.secret))).status).toBe(200);
    expect((await take(asked.deviceSecret)).body).toMatchObject({ code: "unknown-device-sign-in" });
  });

  test("gets a token that may do what the person chose, and no more than the person may", async () => {
    const { cookie } = await addPerson(call, ada, "bob", { role: "viewer", sources: ["orders"] });
    const asked = await start();
    const beyond = { actions: ["redrive"], sources: ["billing"] };
    expect(await decide(asked.userCode, beyond, cookie)).toMatchObject({
      status: 422,
      body: { code: "invalid-token", errors: [{ field: "actions" }, { field: "sources" }] },
    });
    expect((await decide(asked.userCode, { actions: ["view"], sources: ["orders"], days: 1 }, cookie)).status).toBe(
      204,
    );
    const { body } = await take(asked.deviceSecret);
    expect((await call("GET me", bearer(body.secret))).body).toMatchObject({ actions: ["view"], sources: ["orders"] });
  });

  test("gets none when the person denies, and learns it once", async () => {
    const asked = await start();
    expect((await decide(asked.userCode, { decision: "deny" })).status).toBe(204);
    expect((await look(asked.userCode)).status).toBe(404);
    expect((await take(asked.deviceSecret)).body).toEqual({ state: "denied", token: null, secret: null });
    expect((await take(asked.deviceSecret)).status).toBe(404);
    expect(await web.deps.db.query("select from api_tokens")).toEqual([]);
  });

  test("gets none after ten minutes, before or after the person confirmed", async () => {
    const [late, confirmed] = [await start(), await start()];
    await decide(confirmed.userCode);
    await web.deps.db.run("update device_sign_ins set expires_at = now()");
    expect(await decide(late.userCode)).toMatchObject({ status: 404, body: { code: "unknown-device-sign-in" } });
    for (const { deviceSecret } of [late, confirmed]) expect((await take(deviceSecret)).status).toBe(404);
    expect(await web.deps.db.query("select from api_tokens")).toEqual([]);
    await start();
    expect(await web.deps.db.query("select from device_sign_ins")).toHaveLength(1);
  });

  test("gets none by a wrong secret, by the code that its screen shows, or by what the store holds", async () => {
    const asked = await start();
    await decide(asked.userCode);
    const [row] = await web.deps.db.query<{ secret: Buffer; code: Buffer }>(
      "select secret_hash as secret, code_hash as code from device_sign_ins",
    );
    const wrong = ["A".repeat(43), asked.userCode, row!.secret.toString("base64url"), row!.code.toString("hex")];
    for (const secret of wrong) expect((await take(secret)).status).toBe(404);
    expect((await take(asked.deviceSecret)).body.state).toBe("confirmed");
  });

  test("acts for who confirmed first: another person finds nothing to confirm", async () => {
    const { cookie } = await addPerson(call, ada, "bob", { role: "operator" });
    const asked = await start();
    const both = await Promise.all([decide(asked.userCode, {}, ada), decide(asked.userCode, {}, cookie)]);
    expect(both.map(({ status }) => status).sort()).toEqual([204, 404]);
    const owner = both[0]!.status === 204 ? "Ada" : "bob";
    expect((await take(asked.deviceSecret)).body.token).toMatchObject({ accountName: owner });
  });

  test("gets none from an account that was disabled, or whose password was changed, after it confirmed", async () => {
    const { id, cookie } = await addPerson(call, ada, "bob", { role: "operator" });
    const asked = await start();
    await decide(asked.userCode, {}, cookie);
    const change = { disabled: true, version: 1 };
    await call("PATCH accounts/{id}", { cookie: ada, params: { id }, body: change });
    expect((await take(asked.deviceSecret)).status).toBe(404);
    const own = await start();
    await decide(own.userCode);
    const passwords = { password: TEST_PASSWORD, newPassword: "five large blue whales" };
    expect((await call("POST account/password", { cookie: ada, body: passwords })).status).toBe(204);
    expect((await take(own.deviceSecret)).status).toBe(404);
  });
});

describe("a code", () => {
  test("is judged for a person with a session alone, not for a token and not for nobody", async () => {
    const asked = await start();
    const made = await call<{ secret: string }>("POST tokens", { cookie: ada, body: { name: "x", days: 1 } });
    for (const route of ["POST device-sign-ins/look", "POST device-sign-ins/decide"]) {
      const body = { code: asked.userCode, ...(route.endsWith("decide") && { decision: "confirm" }) };
      expect((await call(route, { body })).status).toBe(401);
      expect((await call(route, { body, ...bearer(made.body.secret) })).status).toBe(403);
    }
    expect((await take(asked.deviceSecret)).body.state).toBe("waiting");
  });

  test("is taken in small letters and with blanks", async () => {
    const asked = await start();
    expect((await look(` ${asked.userCode.toLowerCase().replace("-", " ")} `)).status).toBe(200);
  });

  test("cannot be guessed: after a few wrong ones each further one waits, whichever route it is sent to", async () => {
    const asked = await start();
    for (const route of [look, decide, look, decide, look]) expect((await route("22222-22222")).status).toBe(404);
    // Longer than a busy machine takes for the next one.
    const waits = "update sign_in_tries set until_at = until_at + interval '5 minutes' where until_at > last_at";
    expect(await web.deps.db.run(waits)).toBe(1);
    const held = await decide(asked.userCode);
    expect(held).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
    expect(Number(held.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    // Another person is not held by it.
    const { cookie } = await addPerson(call, ada, "bob", { role: "operator" });
    expect((await look(asked.userCode, cookie)).status).toBe(200);
  });

  test("is asked for thirty times from one address, and then more slowly", async () => {
    const answers = await Promise.all(
      Array.from({ length: 34 }, () => call("POST device-sign-ins", { body: { name: "x" } })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(31);
    expect(statuses).toContain(429);
    const elsewhere = { "x-parkade-address": "192.0.2.8" };
    expect((await call("POST device-sign-ins", { body: { name: "x" }, headers: elsewhere })).status).toBe(201);
  });
});

test("a program has a name that a person can read", async () => {
  for (const name of ["", "a".repeat(101), "ab\u202ecd", "a\u200bb", "a\nb"])
    expect([name, (await call("POST device-sign-ins", { body: { name } })).status]).toEqual([name, 400]);
});

test("the audit has who confirmed what for which program, and neither a code nor a secret", async () => {
  const [asked, denied] = [await start(), await start("another")];
  await decide(asked.userCode, { days: 2 });
  await decide(denied.userCode, { decision: "deny" });
  const { body } = await take(asked.deviceSecret);
  const audit = await call<{ items: { action: string; actor: string; after: object }[] }>("GET audit", { cookie: ada });
  expect(audit.body.items.slice(0, 3)).toMatchObject([
    { action: "token.created", actor: "Ada", after: { account: "Ada", name: "parkade on laptop", days: 2 } },
    { action: "account.program-denied", after: { program: "another", address: "192.0.2.7" } },
    { action: "account.program-confirmed", actor: "Ada", after: { program: "parkade on laptop", days: 2 } },
  ]);
  const rows = JSON.stringify(await web.deps.db.query("select * from device_sign_ins"));
  for (const secret of [asked.deviceSecret, asked.userCode, body.secret!.slice(12)])
    expect(audit.text + rows).not.toContain(secret);
});
