import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { setDeps } from "@/app/_server/deps";
import { identifyBy } from "@/app/_server/sign-in/identify";
import { ROUTES } from "@/app/routes";
import { makeSetupLink } from "@/lib/guard/accounts/account-links";
import { giveCheapPassword, PASSWORD } from "@/lib/guard/sign-in/testing/cheap-password";
import { totpCode } from "@/lib/guard/sign-in/totp";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { addPerson, callerOf, setUpAda } from "@/lib/testing/signed-in";

/** Everything through the handlers, with sign-in demanded from everybody. */

let web: TestConsole;
beforeEach(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  await addSource(web.deps.db, "orders");
  await addSource(web.deps.db, "billing");
});
afterEach(() => web.close());

const call = callerOf(() => web);
/** The first administrator, Ada; returns her cookie. */
const setUp = () => setUpAda(web, call);
const person = (admin: string, name: string, rights: object) => addPerson(call, admin, name, rights);

type Made = { account: { id: string; version: number }; link: string | null };

const signIn = (name: string, password = PASSWORD, more: { code?: string } = {}, headers = {}) =>
  call("POST sign-in", { body: { name, password, ...more }, headers });

/** Adds a second factor to the account of the cookie. Returns its codes: of a step from now, and to recover. */
async function addSecondFactor(cookie: string, id: string) {
  await call("POST account/totp", { cookie, body: { password: PASSWORD } });
  const [row] = await web.deps.db.query<{ secret: Buffer }>(
    "select totp_secret as secret from accounts where id = $1",
    [id],
  );
  const step = Math.floor(web.deps.clock.wallMs() / 30_000);
  const codeAt = (steps: number) => totpCode(row!.secret, step + steps);
  const confirmed = await call<{ recoveryCodes: string[] }>("POST account/totp/confirm", {
    cookie,
    body: { code: codeAt(-1) },
  });
  expect(confirmed.status).toBe(200);
  return { codeAt, recoveryCodes: confirmed.body.recoveryCodes };
}

describe("the first start", () => {
  test("makes one administrator by a link that works once, and refuses everybody else", async () => {
    expect((await call("GET events")).status).toBe(401);
    const first = (await makeSetupLink(web.deps, "http://localhost:3000"))!.split("#")[1]!;
    const second = (await makeSetupLink(web.deps, "http://localhost:3000"))!.split("#")[1]!;
    const use = (secret: string, name: string) =>
      call("POST account-links/use", { body: { secret, name, password: PASSWORD } });
    expect(await use(first, "ada")).toMatchObject({ status: 404, body: { code: "unknown-link" } });
    const both = await Promise.all([use(second, "ada"), use(second, "bob")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404]);
    expect(await makeSetupLink(web.deps, "http://localhost:3000")).toBeNull();
    const { cookie } = both.find(({ status }) => status === 200)!;
    expect((await call("GET me", { cookie })).body).toMatchObject({ means: "session", actions: "all", sources: "all" });
    expect((await call("GET events", { cookie })).status).toBe(200);
  });

  test("says without a session how to sign in, and nothing else", async () => {
    expect((await call("GET me")).body).toEqual({
      ...{ name: null, means: null, account: null, actions: [], sources: [], secondFactorNeeded: false },
      wrongCodes: 0,
      signIn: { mode: "always", open: false, accounts: false, oidc: null, password: true },
    });
    const answer = await call("GET events");
    expect(answer.body).toMatchObject({ status: 401, code: "unauthenticated" });
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
  });

  test("refuses the names of Parkade's own, of no letters and of rules, and the link stays good", async () => {
    const secret = (await makeSetupLink(web.deps, "http://localhost:3000"))!.split("#")[1]!;
    for (const name of ["local", "worker", "ada\u200b", "rule:nightly", ""]) {
      const answer = await call("POST account-links/use", { body: { secret, name, password: PASSWORD } });
      expect([name, Math.floor(answer.status / 100)]).toEqual([name, 4]);
    }
    const used = await call("POST account-links/use", { body: { secret, name: "ada", password: PASSWORD } });
    expect(used.status).toBe(200);
  });
});

describe("a sign-in", () => {
  test("opens a session of its own, and ends the one that the browser had", async () => {
    const former = await setUp();
    const signed = await call("POST sign-in", { body: { name: "ADA", password: PASSWORD }, cookie: former });
    expect(signed.status).toBe(204);
    expect(signed.headers.getSetCookie()[0]).toMatch(
      /^parkade=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    expect((await call("GET events", { cookie: former })).status).toBe(401);
    expect((await call("GET me", { cookie: signed.cookie! })).body).toMatchObject({ name: "Ada" });
    const [row] = await web.deps.db.query<{ secret: Buffer }>("select secret_hash as secret from sessions");
    expect(row!.secret.toString("base64url")).not.toBe(signed.cookie!.split("=")[1]);
  });

  test("says the same of a wrong name and a wrong password, and has a cookie for https alone where the console is there", async () => {
    await setUp();
    const [wrong, unknown] = [await signIn("ada", "wrong words here"), await signIn("nobody-here")];
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.body.detail).toBe(unknown.body.detail);
    expect(wrong.cookie).toBeUndefined();
  });

  test("is refused after five tries from an address, whatever is typed then, and from elsewhere not", async () => {
    await setUp();
    for (let n = 0; n < 5; n++) await signIn("ada", "wrong words here");
    // The wait of a second is over before a busy machine has come here.
    await web.deps.db.run("update sign_in_tries set until_at = until_at + interval '1 minute'");
    const held = await signIn("ada");
    expect(held).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
    expect(Number(held.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    // The owner comes from another address meanwhile.
    expect((await signIn("ada", PASSWORD, {}, { "x-parkade-address": "192.0.2.9" })).status).toBe(204);
  });

  test("by many at once has no more tries than one after the other", async () => {
    await setUp();
    const tries = await Promise.all(Array.from({ length: 12 }, () => signIn("ada", "wrong words here")));
    expect(tries.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(6);
    expect(tries.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(6);
  });

  test("asks for a code where there is a second factor: each counts once, and a recovery code stands in for it", async () => {
    const cookie = await setUp();
    const offer = await call<{ secret: string; uri: string }>("POST account/totp", {
      cookie,
      body: { password: PASSWORD },
    });
    expect(offer.status).toBe(200);
    const [{ secret } = { secret: Buffer.of() }] = await web.deps.db.query<{ secret: Buffer }>(
      "select totp_secret as secret from accounts",
    );
    const step = () => Math.floor(web.deps.clock.wallMs() / 30_000);
    const at = step();
    const wrong = await call("POST account/totp/confirm", { cookie, body: { code: "000000" } });
    expect(wrong).toMatchObject({ status: 422, body: { code: "proof-failed" } });
    const confirmed = await call<{ recoveryCodes: string[] }>("POST account/totp/confirm", {
      cookie,
      body: { code: totpCode(secret, at - 1) },
    });
    expect(confirmed.body.recoveryCodes).toHaveLength(10);
    // 31 letters to choose from: more than 120 bits.
    for (const code of confirmed.body.recoveryCodes)
      expect(code).toMatch(/^[2-9A-HJKMNP-Z]{5}(-[2-9A-HJKMNP-Z]{5}){4}$/);
    expect(await signIn("ada")).toMatchObject({ status: 401, body: { code: "code-required" } });
    const code = totpCode(secret, at);
    const used = await Promise.all([signIn("ada", PASSWORD, { code }), signIn("ada", PASSWORD, { code })]);
    expect(used.map(({ status }) => status).sort()).toEqual([204, 401]);
    const refused = used.find(({ status }) => status === 401)!;
    expect(refused.body.detail).toMatch(/Each code works once: wait for the next one/);
    expect((await signIn("nobody-here")).body.detail).toBe(refused.body.detail);
    const [recovery] = confirmed.body.recoveryCodes;
    expect((await signIn("ada", PASSWORD, { code: recovery!.toLowerCase().replaceAll("-", " ") })).status).toBe(204);
    expect((await signIn("ada", PASSWORD, { code: recovery! })).status).toBe(401);
    const own = await call("GET account", { cookie });
    expect(own.body).toMatchObject({ totp: { recoveryCodesLeft: 9 } });
  });
});

test("wrong codes after a right password are told at the next sign-in, and 100 in a row leave the recovery codes alone", async () => {
  const admin = await setUp();
  const { id, cookie } = await person(admin, "bob", { role: "operator" });
  const { codeAt, recoveryCodes } = await addSecondFactor(cookie, id);
  const told = async (session: string) =>
    (await call<{ wrongCodes: number }>("GET me", { cookie: session })).body.wrongCodes;
  for (const code of ["000000", "000001"]) expect((await signIn("bob", PASSWORD, { code })).status).toBe(401);
  await signIn("bob", "not the password", { code: "000002" });
  expect(await web.deps.db.query("select after from audit_entries where after ->> 'wrong' = 'code'")).toHaveLength(2);
  const opened = await signIn("bob", PASSWORD, { code: codeAt(0) });
  expect([await told(cookie), await told(opened.cookie!)]).toEqual([0, 2]);

  await web.deps.db.run("update accounts set wrong_codes = 99 where id = $1", [id]);
  await web.deps.db.run("delete from sign_in_tries");
  expect((await signIn("bob", PASSWORD, { code: "000000" })).status).toBe(401);
  const refused = await signIn("bob", PASSWORD, { code: codeAt(1) });
  expect(refused.body).toMatchObject({
    code: "sign-in-failed",
    detail: expect.stringMatching(/enter a recovery code/),
  });
  const recovered = await signIn("bob", PASSWORD, { code: recoveryCodes[0]! });
  expect([recovered.status, await told(recovered.cookie!)]).toEqual([204, 101]);
  expect((await signIn("bob", PASSWORD, { code: codeAt(1) })).status).toBe(204);
});

describe("a link for a new password", () => {
  test("is used at an address where somebody guesses passwords", async () => {
    const admin = await setUp();
    const { id } = await person(admin, "bob", { role: "viewer" });
    const { link } = (await call<{ link: string }>("POST accounts/{id}/link", { cookie: admin, params: { id } })).body;
    await signIn("bob", "not the password");
    await web.deps.db.run("update sign_in_tries set until_at = now() + interval '1 hour'");
    expect((await signIn("ada")).status).toBe(429);
    const body = { secret: link.split("#")[1]!, password: "five large blue whales" };
    expect((await call("POST account-links/use", { body })).status).toBe(200);
  });

  test("opens no session where there is a second factor: the new password needs a code, too", async () => {
    const admin = await setUp();
    const { id, cookie } = await person(admin, "bob", { role: "viewer" });
    const { codeAt } = await addSecondFactor(cookie, id);
    const made = await call<{ link: string }>("POST accounts/{id}/link", { cookie: admin, params: { id } });
    const body = { secret: made.body.link.split("#")[1]!, password: "five large blue whales" };
    const used = await call("POST account-links/use", { body });
    expect(used).toMatchObject({ status: 200, body: { signedIn: false } });
    expect(used.cookie).toBeUndefined();
    expect((await call("GET events", { cookie })).status).toBe(401);
    const [row] = await web.deps.db.query<{ open: number }>(
      "select count(*)::int as open from sessions where account_id = $1",
      [id],
    );
    expect(row!.open).toBe(0);
    expect(await signIn("bob", body.password)).toMatchObject({ status: 401, body: { code: "code-required" } });
    expect((await signIn("bob", body.password, { code: codeAt(0) })).status).toBe(204);
  });
});

describe("a session", () => {
  test("ends by sign-out, by its age, by disuse, by its owner elsewhere, by an administrator, and at once", async () => {
    const admin = await setUp();
    const { id, cookie } = await person(admin, "bob", { role: "operator" });
    const open = async () => (await call("GET events", { cookie })).status;
    const again = async () => (await signIn("bob")).cookie!;
    expect(await open()).toBe(200);

    const other = await again();
    const { body } = await call<{ items: { id: string; current: boolean }[] }>("GET account/sessions", { cookie });
    expect(body.items.filter(({ current }) => current)).toHaveLength(1);
    const gone = body.items.find(({ current }) => !current)!;
    expect((await call("DELETE account/sessions/{id}", { cookie, params: { id: gone.id } })).status).toBe(204);
    expect((await call("GET events", { cookie: other })).status).toBe(401);

    await web.deps.db.run("update sessions set seen_at = now() - interval '12 hours 1 second' where account_id = $1", [
      id,
    ]);
    expect(await open()).toBe(401);
    await web.deps.db.run("update sessions set seen_at = now(), expires_at = now() where account_id = $1", [id]);
    expect(await open()).toBe(401);
    await web.deps.db.run("update sessions set expires_at = now() + interval '1 hour' where account_id = $1", [id]);
    expect(await open()).toBe(200);

    expect((await call("DELETE accounts/{id}/sessions", { cookie: admin, params: { id } })).status).toBe(204);
    expect(await open()).toBe(401);

    const third = await again();
    expect((await call("POST sign-out", { cookie: third })).cookie).toBe("parkade=");
    expect((await call("GET events", { cookie: third })).status).toBe(401);

    const fourth = await again();
    const change = { disabled: true, version: 1 };
    expect((await call("PATCH accounts/{id}", { cookie: admin, params: { id }, body: change })).status).toBe(200);
    expect((await call("GET events", { cookie: fourth })).status).toBe(401);
    expect((await signIn("bob")).status).toBe(401);
  });

  test("has the rights of its account as they are now", async () => {
    const admin = await setUp();
    const { id, cookie } = await person(admin, "bob", { role: "viewer", sources: ["orders"] });
    const me = async () => (await call("GET me", { cookie })).body;
    expect(await me()).toMatchObject({ actions: ["view", "change-view"], sources: ["orders"] });
    const change = { role: "viewer", actions: ["export"], sources: null, version: 1 };
    await call("PATCH accounts/{id}", { cookie: admin, params: { id }, body: change });
    expect(await me()).toMatchObject({ actions: ["view", "change-view", "export"], sources: "all" });
  });

  test("of a changed password is the only one left", async () => {
    const cookie = await setUp();
    const other = (await signIn("ada")).cookie!;
    const body = { password: PASSWORD, newPassword: "five large blue whales" };
    const wrong = await call("POST account/password", { cookie, body: { ...body, password: "wrong words here" } });
    expect(wrong).toMatchObject({ status: 422, body: { code: "proof-failed" } });
    const weak = await call("POST account/password", { cookie, body: { ...body, newPassword: "ada1234567890" } });
    expect(weak).toMatchObject({ status: 422, body: { code: "invalid-password", errors: [{ field: "newPassword" }] } });
    expect(weak.body.detail).toMatch(/^The password is little more than the name/);
    expect((await call("POST account/password", { cookie, body })).status).toBe(204);
    expect((await call("GET events", { cookie })).status).toBe(200);
    expect((await call("GET events", { cookie: other })).status).toBe(401);
    expect((await signIn("ada")).status).toBe(401);
    expect((await signIn("ada", "five large blue whales")).status).toBe(204);
  });

  test("changes the password by a code as well where there is a second factor, and a wrong code counts as a try", async () => {
    const admin = await setUp();
    const { id, cookie } = await person(admin, "bob", { role: "viewer" });
    const { codeAt } = await addSecondFactor(cookie, id);
    const change = (code?: string) =>
      call("POST account/password", {
        cookie,
        body: { password: PASSWORD, newPassword: "five large blue whales", ...(code && { code }) },
      });
    const refused = { status: 422, body: { code: "proof-failed", errors: [{ field: "code" }] } };
    expect(await change()).toMatchObject(refused);
    expect(await change("000000")).toMatchObject(refused);
    // The one that confirmed the second factor.
    expect(await change(codeAt(-1))).toMatchObject(refused);
    expect((await change(codeAt(0))).status).toBe(204);
    expect((await signIn("bob", "five large blue whales")).body).toMatchObject({ code: "code-required" });
    await giveCheapPassword(web.deps.db, id);
    expect((await change("000000")).status).toBe(422);
    // Each try hashes the new password: the store says what four more would have been.
    await web.deps.db.run("update sign_in_tries set failures = failures + 4");
    const statuses: number[] = [];
    while (statuses.length < 3 && !statuses.includes(429)) statuses.push((await change("000000")).status);
    expect(statuses).toContain(429);
  });

  test("is in the audit with who, how and from where, and a refused try as well", async () => {
    const link = await makeSetupLink(web.deps, "http://localhost:3000");
    const body = { secret: link!.split("#")[1]!, name: "Ada", password: PASSWORD };
    const admin = (await call("POST account-links/use", { body })).cookie!;
    await signIn("ada", "wrong words here");
    const audit = await call<{ items: { action: string; actor: string }[] }>("GET audit", { cookie: admin });
    expect(audit.body.items.map(({ action, actor }) => [action, actor])).toEqual([
      ["session.refused", "web"],
      ["session.opened", "Ada"],
      ["account.created", "Ada"],
    ]);
    expect(audit.text).not.toContain(PASSWORD);
  });
});

describe("accounts", () => {
  test("Ada is the same person in whatever spelling", async () => {
    const admin = await setUp();
    for (const name of ["ADA", "Ada ", "A d a", "Ａｄａ", "a.d.a"]) {
      const answer = await call("POST accounts", { cookie: admin, body: { kind: "person", name, role: "viewer" } });
      expect(answer, name).toMatchObject({ status: 409, body: { code: "name-taken" } });
    }
  });

  test("the last administrator stays, of two changes at once as well", async () => {
    const admin = await setUp();
    const { body } = await call<{ items: { id: string }[] }>("GET accounts", { cookie: admin });
    const id = body.items[0]!.id;
    const demote = (account: string, version: number, cookie = admin) =>
      call("PATCH accounts/{id}", { cookie, params: { id: account }, body: { role: "viewer", version } });
    expect(await demote(id, 1)).toMatchObject({ status: 409, body: { code: "last-admin" } });
    const bob = await person(admin, "bob", { role: "admin" });
    const both = await Promise.all([demote(id, 1), demote(bob.id, 1, bob.cookie)]);
    expect(both.map(({ status }) => status).sort()).not.toEqual([200, 200]);
    const [left] = await web.deps.db.query<{ admins: number }>(
      "select count(*)::int as admins from accounts where role = 'admin' and disabled_at is null",
    );
    expect(left!.admins).toBe(1);
  });

  test("are counted where there are more than the list has, and each is found by a part of its name", async () => {
    const admin = await setUp();
    await web.deps.db.run(
      `insert into accounts (id, kind, name, name_key, role, created_by)
       select gen_random_uuid(), 'service', 'service-' || n, 'service' || n, 'viewer', 'x' from generate_series(1000, 3000) n`,
    );
    type List = { items: { name: string }[]; total: number };
    const list = async (query = "") => (await call<List>("GET accounts", { cookie: admin, query })).body;
    const all = await list();
    expect([all.items.length, all.total]).toEqual([2_000, 2_002]);
    expect(all.items.map(({ name }) => name)).not.toContain("service-3000");
    expect(await list("?name=SERVICE%203000")).toMatchObject({ items: [{ name: "service-3000" }], total: 1 });
    expect(await list("?name=%25")).toMatchObject({ items: [], total: 0 });
    expect((await call("GET accounts", { cookie: admin, query: "?name=" })).status).toBe(400);
  });

  test("are changed where no administrator could sign in, since nothing takes the last one away", async () => {
    const admin = await setUp();
    const bob = await person(admin, "bob", { role: "viewer" });
    await web.deps.db.run("update accounts set password = null");
    const change = (body: object) =>
      call("PATCH accounts/{id}", { cookie: admin, params: { id: bob.id }, body: { version: 1, ...body } });
    expect(await change({ email: "bob@example.com" })).toMatchObject({ status: 200, body: { version: 2 } });
    expect(await change({ version: 2, disabled: true })).toMatchObject({ status: 200, body: { version: 3 } });
  });

  test("of a service have no link, and a source that does not exist is named", async () => {
    const admin = await setUp();
    const made = await call<Made>("POST accounts", {
      cookie: admin,
      body: { kind: "service", name: "orders-service", role: "viewer", actions: ["ingest"], sources: ["orders"] },
    });
    expect(made.body.link).toBeNull();
    const link = await call("POST accounts/{id}/link", { cookie: admin, params: { id: made.body.account.id } });
    expect(link.status).toBe(409);
    const unknown = await call("POST accounts", {
      cookie: admin,
      body: { kind: "person", name: "carl", role: "viewer", sources: ["nowhere"] },
    });
    expect(unknown).toMatchObject({ status: 422, body: { code: "invalid-account", errors: [{ field: "sources" }] } });
  });

  test("change only as they were looked at", async () => {
    const admin = await setUp();
    const { id } = await person(admin, "bob", { role: "viewer" });
    const change = (role: string) =>
      call("PATCH accounts/{id}", { cookie: admin, params: { id }, body: { role, version: 1 } });
    expect((await change("operator")).status).toBe(200);
    expect(await change("admin")).toMatchObject({ status: 409, body: { code: "stale-account" } });
  });
});

describe("tokens", () => {
  type MadeToken = { token: { id: string; hint: string }; secret: string };
  const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
  const event = (source: string) => ({ source, eventId: "t-1", errorCode: "X", payload: {} });

  /** A token of a service account. */
  async function service(admin: string, wanted: object, rights: object = {}) {
    const body = { kind: "service", name: "shop", role: "viewer", actions: ["ingest"], ...rights };
    const { account } = (await call<Made>("POST accounts", { cookie: admin, body })).body;
    const made = await call<MadeToken>("POST accounts/{id}/tokens", {
      cookie: admin,
      params: { id: account.id },
      body: { name: "production", days: 30, ...wanted },
    });
    expect(made.status, made.text).toBe(201);
    return { account: account.id, ...made.body };
  }

  test("act for their account, narrowed to what they name, and not beyond", async () => {
    const admin = await setUp();
    const { secret } = await service(admin, { actions: ["ingest"], sources: ["orders"] });
    expect(secret).toMatch(/^pk_[\w-]{43}[0-9a-f]{6}$/);
    expect((await call("GET me", bearer(secret))).body).toMatchObject({
      ...{ name: "shop", means: "token", actions: ["ingest"], sources: ["orders"] },
    });
    expect((await call("POST events", { ...bearer(secret), body: event("orders") })).body).toMatchObject({
      accepted: 1,
    });
    expect((await call("POST events", { ...bearer(secret), body: event("billing") })).status).toBe(403);
    expect((await call("GET events", bearer(secret))).status).toBe(403);
  });

  test("lose what their account loses, at once", async () => {
    const admin = await setUp();
    const { secret, account } = await service(admin, {}, { role: "operator", actions: [] });
    const state = async () => (await call("GET events", bearer(secret))).status;
    expect(await state()).toBe(200);
    const change = (body: object) => call("PATCH accounts/{id}", { cookie: admin, params: { id: account }, body });
    await change({ sources: ["orders"], version: 1 });
    expect((await call("GET me", bearer(secret))).body).toMatchObject({ sources: ["orders"] });
    await change({ disabled: true, version: 2 });
    expect(await state()).toBe(401);
    await change({ disabled: false, version: 3 });
    // Its tokens were revoked with it.
    expect((await call("GET events", bearer(secret))).body).toMatchObject({
      detail: expect.stringContaining("revoked"),
    });
  });

  test("that are mistyped, unknown, expired or revoked are refused, with the reason only for whoever has the secret", async () => {
    const admin = await setUp();
    const { secret, token } = await service(admin, {});
    const why = async (text: string) => {
      const { status, body } = await call("GET events", bearer(text));
      return [status, body.detail];
    };
    expect(await why(`${secret.slice(0, -1)}${secret.endsWith("0") ? "1" : "0"}`)).toEqual([
      401,
      expect.stringContaining("not a Parkade token"),
    ]);
    expect(await why("something")).toEqual([401, expect.stringContaining("not a Parkade token")]);
    await web.deps.db.run("update api_tokens set expires_at = now()");
    expect(await why(secret)).toEqual([401, expect.stringContaining("expired")]);
    await web.deps.db.run("update api_tokens set expires_at = now() + interval '1 day'");
    expect((await call("DELETE tokens/{id}", { cookie: admin, params: { id: token.id } })).status).toBe(204);
    expect(await why(secret)).toEqual([401, expect.stringContaining("revoked")]);
    await web.deps.db.run("delete from api_tokens");
    expect(await why(secret)).toEqual([401, "Token not found"]);
  });

  test("are stored as a hash, shown once, and never in the audit", async () => {
    const admin = await setUp();
    const { secret, account, token } = await service(admin, {});
    const rows = await web.deps.db.query("select *, encode(hash, 'escape') as text from api_tokens");
    const list = await call("GET accounts/{id}/tokens", { cookie: admin, params: { id: account } });
    const audit = await call("GET audit", { cookie: admin });
    for (const text of [JSON.stringify(rows), list.text, audit.text]) {
      expect(text).toContain(token.hint);
      expect(text).not.toContain(secret.slice(12));
    }
  });

  test("tell their last use, and a person's own make no accounts, tokens or passwords", async () => {
    const admin = await setUp();
    const made = await call<MadeToken>("POST tokens", { cookie: admin, body: { name: "laptop", days: 1 } });
    const { secret } = made.body;
    expect((await call("GET events", bearer(secret))).status).toBe(200);
    const { body } = await call<{ items: { usedAt: string; usedAddress: string }[] }>("GET tokens", { cookie: admin });
    expect(body.items[0]).toMatchObject({ usedAt: expect.any(String), usedAddress: "127.0.0.1" });
    for (const [route, options] of [
      ["POST accounts", { body: { kind: "service", name: "x", role: "admin" } }],
      ["POST tokens", { body: { name: "another", days: 1 } }],
      ["GET tokens", {}],
      ["POST account/password", { body: { password: PASSWORD, newPassword: "five large blue whales" } }],
    ] as const)
      expect([route, (await call(route, { ...options, ...bearer(secret) })).status]).toEqual([route, 403]);
  });

  test("need the password, and the code, of a person who signed in a while ago", async () => {
    const admin = await setUp();
    const { id, cookie } = await person(admin, "bob", { role: "operator" });
    const make = (proof?: object) =>
      call("POST tokens", { cookie, body: { name: "x", days: 1, ...(proof && { proof }) } });
    const device = async (proof?: object) => {
      const { userCode: code } = (await call<{ userCode: string }>("POST device-sign-ins", { body: { name: "x" } }))
        .body;
      const body = { code, decision: "confirm", ...(proof && { proof }) };
      return call("POST device-sign-ins/decide", { cookie, body });
    };
    expect([(await make()).status, (await device()).status]).toEqual([201, 204]);
    await web.deps.db.run("update sessions set created_at = now() - interval '6 minutes'");
    for (const ask of [make, device])
      expect(await ask()).toMatchObject({
        status: 422,
        body: { code: "proof-failed", errors: [{ field: "proof.password" }] },
      });
    expect(await make({ password: "not it" })).toMatchObject({ status: 422, body: { code: "proof-failed" } });
    const proof = { password: PASSWORD };
    expect([(await make(proof)).status, (await device(proof)).status]).toEqual([201, 204]);
    const { codeAt } = await addSecondFactor(cookie, id);
    expect((await make(proof)).body).toMatchObject({ code: "proof-failed", errors: [{ field: "code" }] });
    expect((await make({ ...proof, code: codeAt(0) })).status).toBe(201);
    // The same holds for an administrator who makes a token of a service account.
    const made = await call<Made>("POST accounts", {
      cookie: admin,
      body: { kind: "service", name: "shop", role: "viewer" },
    });
    const wanted = { cookie: admin, params: { id: made.body.account.id }, body: { name: "x", days: 1 } };
    expect((await call("POST accounts/{id}/tokens", wanted)).body).toMatchObject({ code: "proof-failed" });
    expect((await call("GET audit", { cookie: admin })).text).not.toContain(PASSWORD);
  });

  test("approve only where they name it", async () => {
    const cookie = await setUp();
    const may = async (actions?: string[]) => {
      const made = await call<MadeToken>("POST tokens", {
        cookie,
        body: { name: "x", days: 1, ...(actions && { actions }) },
      });
      return (await call<{ actions: string[] }>("GET me", bearer(made.body.secret))).body.actions;
    };
    const all = await may();
    expect([all.includes("redrive"), all.includes("approve")]).toEqual([true, false]);
    expect(await may(["view", "approve"])).toEqual(["view", "approve"]);
  });

  test("name nothing that their account has not", async () => {
    const admin = await setUp();
    const bob = await person(admin, "bob", { role: "viewer", sources: ["orders"] });
    const body = { name: "x", days: 1, actions: ["redrive"], sources: ["billing"] };
    expect(await call("POST tokens", { cookie: bob.cookie, body })).toMatchObject({
      status: 422,
      body: { code: "invalid-token", errors: [{ field: "actions" }, { field: "sources" }] },
    });
    // Another person's are its own.
    const foreign = { cookie: admin, params: { id: bob.id }, body: { name: "x", days: 1 } };
    expect((await call("POST accounts/{id}/tokens", foreign)).status).toBe(403);
  });
});

describe("a role", () => {
  test.each([
    ["viewer", ["GET events"], ["POST redrives", "GET accounts", "PATCH settings", "GET events/export"]],
    ["operator", ["GET events", "GET events/export"], ["GET accounts", "PATCH settings", "POST sources"]],
    ["approver", ["GET events"], ["GET accounts", "PATCH settings"]],
    ["admin", ["GET events", "GET accounts"], []],
  ])("%s may do what it may, and no more", async (role, allowed, refused) => {
    const admin = await setUp();
    const { cookie } = await person(admin, "bob", { role });
    const bodies: Record<string, object> = {
      "POST redrives": { select: { filter: {} }, reason: "no" },
      "PATCH settings": { settings: { redriveLimit: 5 }, reason: "no" },
      "POST sources": { name: "new", kind: "http", config: { redriveUrl: "http://127.0.0.1:1/" } },
    };
    const ask = async (route: string) =>
      (await call(route, { cookie, body: bodies[route], headers: { "x-reason": "a copy" } })).status;
    for (const route of allowed) expect([route, await ask(route)]).toEqual([route, 200]);
    for (const route of refused) expect([route, await ask(route)]).toEqual([route, 403]);
  });

  test("sees who signed in when it may change accounts, and its own steps otherwise", async () => {
    const admin = await setUp();
    const { cookie } = await person(admin, "bob", { role: "viewer" });
    const actors = async (as: string) => {
      const { body } = await call<{ items: { actor: string }[] }>("GET audit", { cookie: as });
      return [...new Set(body.items.map(({ actor }) => actor))].sort();
    };
    expect(await actors(cookie)).toEqual(["bob"]);
    expect(await actors(admin)).toEqual(["Ada", "bob"]);
  });
});

describe("where this machine needs no sign-in", () => {
  let open: TestConsole;
  beforeEach(async () => {
    open = await testConsole();
  });
  afterEach(() => open.close());

  const events = (headers: Record<string, string>) => callerOf(() => open)("GET events", { headers });

  test("a caller on it is answered, and none of another or an unknown address, behind a proxy, or with a token that is not good", async () => {
    expect((await events({})).status).toBe(200);
    for (const headers of [
      { "x-parkade-address": "192.0.2.9" },
      { "x-parkade-address": "" },
      // As the web server says it: see web-server.test.ts.
      { "x-parkade-proxied": "1" },
      { authorization: "Bearer nonsense" },
    ] as Record<string, string>[])
      expect((await events(headers)).status, JSON.stringify(headers)).toBe(401);
  });

  test("nobody acts under the name of an account, in whatever spelling", async () => {
    expect((await events({ "x-actor": "maria" })).status).toBe(200);
    await open.deps.db.run(
      "insert into accounts (id, kind, name, name_key, role, created_by) values (gen_random_uuid(), 'person', 'maria', 'maria', 'viewer', 'x')",
    );
    await expect.poll(async () => (await events({ "x-actor": "maria" })).status, { timeout: 10_000 }).toBe(401);
    for (const name of ["MARIA", "Maria ", "m.a.r.i.a"]) expect((await events({ "x-actor": name })).status).toBe(401);
    expect((await events({ "x-actor": "bob" })).status).toBe(200);
    expect((await events({})).status).toBe(200);
  });
});

/** What anybody may ask; every other route is refused without a session, whatever else it says. */
const WITHOUT_SESSION = new Set([
  "GET me",
  "POST sign-in",
  "POST sign-out",
  "POST account-links/look",
  "POST account-links/use",
  "POST device-sign-ins",
  "POST device-sign-ins/take",
]);

/** What whoever must add a second factor may ask, beside how somebody signs in. */
const WITHOUT_SECOND_FACTOR = [
  "DELETE account/sessions",
  "DELETE account/sessions/{id}",
  "DELETE tokens/{id}",
  "GET account/sessions",
  "GET tokens",
  "POST account/password",
  "POST account/totp",
  "POST account/totp/confirm",
];

describe("every route", () => {
  type Handler = Parameters<TestConsole["call"]>[0] & { operation?: { open?: boolean } };
  /** Each handler that is not open to everybody, by its name, with made-up parameters. */
  async function handlers() {
    const found: { name: string; handler: Handler; method: string; params: Record<string, string> }[] = [];
    for (const [path, load] of Object.entries(ROUTES)) {
      const module = (await load()) as unknown as Record<string, Handler | undefined>;
      const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => [key!, "x"]));
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        const handler = module[method];
        if (!handler || handler.operation?.open) continue;
        found.push({ name: `${method} ${path.replace("/api/v1/", "")}`, handler, method, params });
      }
    }
    return found;
  }

  test("refuses whoever must add a second factor, but for that and the own ways in; a token everywhere", async () => {
    const cookie = await setUp();
    const made = await call<{ secret: string }>("POST tokens", { cookie, body: { name: "laptop", days: 1 } });
    const strict = { ...web.deps.env, secondFactorRoles: ["admin" as const] };
    setDeps({ ...web.deps, env: strict, identify: identifyBy({ ...web.deps, env: strict }) });
    const answered: string[] = [];
    const all = await handlers();
    for (const { name, handler, method, params } of all) {
      const isRefused = async (headers: Record<string, string>) => {
        const { status, body } = await web.call<{ code?: string } | null>(handler, { method, params, headers });
        return status === 403 && body?.code === "second-factor-needed";
      };
      if (!(await isRefused({ authorization: `Bearer ${made.body.secret}` }))) answered.push(`${name} by a token`);
      // Without a body the sign-out alone does something.
      if (name !== "POST sign-out" && !(await isRefused({ cookie }))) answered.push(name);
    }
    expect(all.length).toBeGreaterThan(150);
    const signingIn = [...WITHOUT_SESSION].filter((name) => name !== "POST sign-out");
    expect(answered.sort()).toEqual([...WITHOUT_SECOND_FACTOR, ...signingIn].sort());
    expect((await call("POST sign-out", { cookie })).status).toBe(200);
  });

  test("refuses whoever has no session, an ended one, or one of a disabled account", async () => {
    const admin = await setUp();
    const { id, cookie: disabled } = await person(admin, "bob", { role: "admin" });
    const ended = (await signIn("ada")).cookie!;
    await web.deps.db.run("update sessions set expires_at = now() where secret_hash = sha256($1::bytea)", [
      Buffer.from(ended.split("=")[1]!),
    ]);
    await web.deps.db.run("update accounts set disabled_at = now() where id = $1", [id]);
    const answered: string[] = [];
    for (const { name, handler, method, params } of await handlers()) {
      if (WITHOUT_SESSION.has(name)) continue;
      for (const cookie of ["", "parkade=", `parkade=${"A".repeat(43)}`, ended, disabled]) {
        const { status } = await web.call(handler, { method, params, headers: { cookie } });
        if (status !== 401) answered.push(`${name} with ${cookie.slice(0, 12)}: ${status}`);
      }
    }
    expect(answered).toEqual([]);
  });
});
