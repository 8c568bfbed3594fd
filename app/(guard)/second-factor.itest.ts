import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDeps, type Deps, setDeps } from "@/app/_server/deps";
import { readEnv } from "@/lib/env";
import { makeSetupLink } from "@/lib/guard/accounts/account-links";
import { addAda, giveCheapPassword, PASSWORD } from "@/lib/guard/sign-in/testing/cheap-password";
import { totpCode } from "@/lib/guard/sign-in/totp";
import { createLog } from "@/lib/platform/log";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { callerOf } from "@/lib/testing/signed-in";

/** Two web processes over one store: `web` demands no second factor, `strict` one of approvers and administrators. */

let web: TestConsole;
let strict: Deps;
beforeEach(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  strict = createDeps(
    readEnv({
      DATABASE_URL: web.database.url,
      PARKADE_SIGN_IN: "always",
      PARKADE_SECOND_FACTOR: "approver,admin",
    }),
    createLog({ process: "test", level: "silent" }),
  );
  await addSource(web.deps.db, "orders");
});
afterEach(async () => {
  await strict.close();
  await web.close();
});

const NEW_PASSWORD = "five large blue whales";
type Asking = CallOptions & { cookie?: string | undefined; token?: string; by?: Deps };

const routes = callerOf(() => web);
/** @param by the process that answers; absent = the strict one */
function call<T = Record<string, unknown>>(
  route: string,
  { cookie, token, by = strict, headers, ...rest }: Asking = {},
) {
  setDeps(by);
  return routes<T>(route, {
    ...rest,
    ...(cookie && { cookie }),
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...headers },
  });
}

/** The first administrator, Ada. */
async function setUp(): Promise<{ id: string; cookie: string }> {
  const id = await addAda(web.deps.db);
  return { id, cookie: (await signIn("ada", undefined, web.deps)).cookie! };
}

type Made = { account: { id: string }; link: string | null };

async function person(admin: string, name: string, role: string): Promise<{ id: string; cookie: string }> {
  const body = { kind: "person", name, role };
  const made = await call<Made>("POST accounts", { by: web.deps, cookie: admin, body });
  const { id } = made.body.account;
  await giveCheapPassword(web.deps.db, id);
  return { id, cookie: (await signIn(name, undefined, web.deps)).cookie! };
}

async function tokenOf(cookie: string): Promise<string> {
  const body = { name: "laptop", days: 7 };
  const made = await call<{ secret: string }>("POST tokens", { by: web.deps, cookie, body });
  expect(made.status).toBe(201);
  return made.body.secret;
}

/** Returns codes of a step from now. */
async function addSecondFactor({ id, cookie }: { id: string; cookie: string }, by = strict) {
  expect((await call("POST account/totp", { by, cookie, body: { password: PASSWORD } })).status).toBe(200);
  const [row] = await web.deps.db.query<{ secret: Buffer }>(
    "select totp_secret as secret from accounts where id = $1",
    [id],
  );
  const step = Math.floor(web.deps.clock.wallMs() / 30_000);
  const codeAt = (steps: number) => totpCode(row!.secret, step + steps);
  expect((await call("POST account/totp/confirm", { by, cookie, body: { code: codeAt(-1) } })).status).toBe(200);
  return codeAt;
}

const signIn = (name: string, code?: string, by = strict) =>
  call("POST sign-in", { by, body: { name, password: PASSWORD, ...(code && { code }) } });

const NEEDED = { status: 403, body: { code: "second-factor-needed", detail: expect.stringContaining("add one") } };
const reads = async (asking: Asking) => (await call("GET events", asking)).status;

describe("a second factor that is demanded", () => {
  test("restricts sessions and tokens at once, ends none, and frees them once it is confirmed", async () => {
    const ada = await setUp();
    const bob = await person(ada.cookie, "bob", "operator");
    const tokens = { ada: await tokenOf(ada.cookie), bob: await tokenOf(bob.cookie) };

    expect(await call("GET events", { cookie: ada.cookie })).toMatchObject(NEEDED);
    const byToken = await call("GET events", { token: tokens.ada });
    expect(byToken).toMatchObject({
      ...NEEDED,
      body: { detail: expect.stringMatching(/^The owner of the token .* adds one/) },
    });
    const me = await call("GET me", { cookie: ada.cookie });
    expect(me.body).toMatchObject({ name: "Ada", actions: [], sources: [], secondFactorNeeded: true });
    // Of another role.
    expect(await reads({ cookie: bob.cookie })).toBe(200);
    expect(await reads({ token: tokens.bob })).toBe(200);
    // The process that demands none.
    expect(await reads({ by: web.deps, cookie: ada.cookie })).toBe(200);
    expect(await reads({ by: web.deps, token: tokens.ada })).toBe(200);

    await addSecondFactor(ada);
    expect(await reads({ cookie: ada.cookie })).toBe(200);
    expect(await reads({ token: tokens.ada })).toBe(200);
    expect((await call("GET me", { cookie: ada.cookie })).body).toMatchObject({
      actions: "all",
      secondFactorNeeded: false,
    });
  });

  test("is asked of the first administrator, and of whoever signs in by a password or a link", async () => {
    const secret = (await makeSetupLink(web.deps, "http://localhost:3000"))!.split("#")[1]!;
    const { cookie } = await call("POST account-links/use", { body: { secret, name: "Ada", password: PASSWORD } });
    expect(await call("GET events", { cookie })).toMatchObject(NEEDED);
    const { account: id } = (await call<{ account: string }>("GET me", { cookie })).body;
    await giveCheapPassword(web.deps.db, id);
    const again = await signIn("ada");
    expect(again.status).toBe(204);
    expect(await call("GET events", { cookie: again.cookie })).toMatchObject(NEEDED);
    await addSecondFactor({ id, cookie: again.cookie! });
    expect(await reads({ cookie: again.cookie })).toBe(200);
    expect(await signIn("ada")).toMatchObject({ status: 401, body: { code: "code-required" } });
  });

  test.each([
    ["its role demands it", () => strict],
    ["it is not demanded yet", () => web.deps],
  ])(
    "when it is confirmed while %s, ends the other sessions that the password alone has opened",
    async (_, process) => {
      const ada = await setUp();
      const other = (await signIn("ada")).cookie!;
      const provided = (await signIn("ada")).cookie!;
      await web.deps.db.run("update sessions set means = 'oidc' where secret_hash = sha256($1::bytea)", [
        Buffer.from(provided.split("=")[1]!),
      ]);
      const codeAt = await addSecondFactor(ada, process());
      expect(await reads({ cookie: ada.cookie })).toBe(200);
      expect(await reads({ cookie: other })).toBe(401);
      const [entry] = await web.deps.db.query(
        "select actor, after from audit_entries where action = 'account.second-factor-added'",
      );
      expect(entry).toEqual({ actor: "Ada", after: { account: "Ada", sessions: 1 } });
      expect(await reads({ cookie: provided })).toBe(200);
      expect(await reads({ cookie: (await signIn("ada", codeAt(0))).cookie })).toBe(200);
    },
  );

  test("leaves the own password, sessions and the sign-out to whoever has none yet", async () => {
    const { cookie } = await setUp();
    const other = (await signIn("ada")).cookie!;
    const list = await call<{ items: { id: string; current: boolean }[] }>("GET account/sessions", { cookie });
    const ended = list.body.items.find(({ current }) => !current)!;
    expect((await call("DELETE account/sessions/{id}", { cookie, params: { id: ended.id } })).status).toBe(204);
    expect((await call("GET account/sessions", { cookie: other })).status).toBe(401);
    const offered = await call("POST account/totp", { cookie, body: { password: PASSWORD } });
    expect(offered.status).toBe(200);
    const body = { password: PASSWORD, newPassword: NEW_PASSWORD };
    expect((await call("POST account/password", { cookie, body })).status).toBe(204);
    // Whoever knew the old password may have read the secret that was offered.
    const none = await call("POST account/totp/confirm", { cookie, body: { code: "123456" } });
    expect(none.body).toMatchObject({ code: "illegal-transition" });
    expect(await call("POST tokens", { cookie, body: { name: "x", days: 1 } })).toMatchObject(NEEDED);
    expect(await call("GET account", { cookie })).toMatchObject(NEEDED);
    expect((await call("POST sign-out", { cookie })).status).toBe(200);
    expect((await call("GET account/sessions", { cookie })).status).toBe(401);
  });

  test("is asked of whoever gets such a role while signed in, and not of whoever loses it", async () => {
    const ada = await setUp();
    const bob = await person(ada.cookie, "bob", "operator");
    const change = (role: string, version: number) =>
      call("PATCH accounts/{id}", {
        by: web.deps,
        cookie: ada.cookie,
        params: { id: bob.id },
        body: { role, version },
      });
    expect(await reads({ cookie: bob.cookie })).toBe(200);
    await change("admin", 1);
    expect(await call("GET events", { cookie: bob.cookie })).toMatchObject(NEEDED);
    await change("operator", 2);
    expect(await reads({ cookie: bob.cookie })).toBe(200);
    // Single actions do not count, the role does.
    const body = { actions: ["approve", "change-settings"], version: 3 };
    await call("PATCH accounts/{id}", { by: web.deps, cookie: ada.cookie, params: { id: bob.id }, body });
    expect(await reads({ cookie: bob.cookie })).toBe(200);
  });

  test("is not asked of services, and not of a session or a person of the OpenID provider", async () => {
    const ada = await setUp();
    const bob = await person(ada.cookie, "bob", "admin");
    const token = await tokenOf(bob.cookie);
    const body = { kind: "service", name: "shop", role: "operator" };
    const { account } = (await call<Made>("POST accounts", { by: web.deps, cookie: ada.cookie, body })).body;
    const made = await call<{ secret: string }>("POST accounts/{id}/tokens", {
      ...{ by: web.deps, cookie: ada.cookie, params: { id: account.id } },
      body: { name: "production", days: 7 },
    });
    // What no way leads to: a service has the roles that its kind may have.
    await web.deps.db.run("update accounts set role = 'admin' where kind = 'service'");
    expect(await reads({ token: made.body.secret })).toBe(200);

    await web.deps.db.run("update sessions set means = 'oidc' where account_id = $1", [bob.id]);
    expect(await reads({ cookie: bob.cookie })).toBe(200);
    // The account has a password as well, by which its token was made.
    expect(await reads({ token })).toBe(403);
    expect(await call("POST tokens", { cookie: bob.cookie, body: { name: "x", days: 1 } })).toMatchObject(NEEDED);
    await web.deps.db.run("update accounts set password = null where id = $1", [bob.id]);
    expect(await reads({ token })).toBe(200);
    expect((await call("POST tokens", { cookie: bob.cookie, body: { name: "x", days: 1 } })).status).toBe(201);
  });

  test("is replaced by its owner, removed by an administrator, and asked for at once both times", async () => {
    const ada = await setUp();
    const bob = await person(ada.cookie, "bob", "approver");
    const codeAt = await addSecondFactor(bob);
    expect((await call("GET account", { cookie: bob.cookie })).body).toMatchObject({
      account: { secondFactorNeeded: false },
      totp: { demanded: true },
    });
    const proof = { password: PASSWORD, code: codeAt(0) };
    expect((await call("DELETE account/totp", { cookie: bob.cookie, body: proof })).status).toBe(204);
    expect(await call("GET events", { cookie: bob.cookie })).toMatchObject(NEEDED);
    await addSecondFactor(bob);
    expect(await reads({ cookie: bob.cookie })).toBe(200);

    await addSecondFactor(ada);
    const removed = await call("DELETE accounts/{id}/totp", { cookie: ada.cookie, params: { id: bob.id } });
    expect(removed.status).toBe(204);
    expect(await call("GET events", { cookie: bob.cookie })).toMatchObject(NEEDED);
    type Listed = { items: { name: string; secondFactorNeeded: boolean }[] };
    const { items } = (await call<Listed>("GET accounts", { cookie: ada.cookie })).body;
    expect(items.map(({ name, secondFactorNeeded }) => [name, secondFactorNeeded])).toEqual([
      ["Ada", false],
      ["bob", true],
    ]);
  });

  test("holds back the token of a program that was confirmed before, and gives it once the factor is there", async () => {
    const ada = await setUp();
    type Started = { deviceSecret: string; userCode: string };
    const started = (await call<Started>("POST device-sign-ins", { body: { name: "parkade on laptop" } })).body;
    const decision = { code: started.userCode, decision: "confirm" };
    expect(await call("POST device-sign-ins/decide", { cookie: ada.cookie, body: decision })).toMatchObject(NEEDED);
    const decided = await call("POST device-sign-ins/decide", { by: web.deps, cookie: ada.cookie, body: decision });
    expect(decided.status).toBe(204);
    const take = () =>
      call<{ state: string; secret: string }>("POST device-sign-ins/take", {
        body: { deviceSecret: started.deviceSecret },
      });
    expect(await take()).toMatchObject(NEEDED);
    await addSecondFactor(ada);
    const taken = await take();
    expect(taken.body).toMatchObject({ state: "confirmed" });
    expect(await reads({ token: taken.body.secret })).toBe(200);
  });
});
