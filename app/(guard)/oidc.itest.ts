import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeSetupLinkAtStart } from "@/app/_server/sign-in/set-up";
import { POST as logOut } from "@/app/(guard)/sign-in/oidc/back-channel-logout/route";
import { GET as callback } from "@/app/(guard)/sign-in/oidc/callback/route";
import { GET as start } from "@/app/(guard)/sign-in/oidc/start/route";
import { makeSetupLink } from "@/lib/guard/accounts/account-links";
import { OidcProvider } from "@/lib/guard/oidc/provider";
import type { SignInStrength } from "@/lib/guard/oidc/sign-in-strength.pure";
import { removeEndedWaysIn } from "@/lib/guard/sessions/ended-ways-in.write";
import { addAda, PASSWORD } from "@/lib/guard/sign-in/testing/cheap-password";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { OPENID_CLIENT, type OpenIdServer, openIdServer, TOLD } from "@/lib/testing/openid";
import { callerOf } from "@/lib/testing/signed-in";

/** Against a real OpenID provider, `oidc-provider`. */

const CONSOLE = "http://localhost:3000";
const ROLES = {
  sre: "admin",
  "orders-team": { role: "operator", sources: ["orders"] },
  "billing-team": { role: "operator", sources: ["billing"], actions: ["forget"] },
  everybody: { role: "viewer", sources: [] },
};

let openid: OpenIdServer;
let web: TestConsole;
/** Where the provider finds the console: it posts logout tokens over HTTP. */
let door: Server;
beforeAll(async () => {
  door = createServer(async (request, response) => {
    const { "content-type": type = "" } = request.headers;
    const { status } = await web.call(logOut, { body: await text(request), headers: { "content-type": type } });
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  openid = await openIdServer({
    redirectUri: `${CONSOLE}/sign-in/oidc/callback`,
    signedOutUri: `${CONSOLE}/sign-in`,
    logoutUri: `http://127.0.0.1:${(door.address() as AddressInfo).port}/sign-in/oidc/back-channel-logout`,
  });
});
afterAll(async () => {
  await openid.down();
  door.closeAllConnections();
  door.close();
});
beforeEach(async () => {
  web = await testConsole({
    PARKADE_SIGN_IN: "always",
    PARKADE_PUBLIC_URL: CONSOLE,
    PARKADE_OIDC_ISSUER: openid.issuer,
    PARKADE_OIDC_CLIENT_ID: OPENID_CLIENT.id,
    PARKADE_OIDC_CLIENT_SECRET: OPENID_CLIENT.secret,
    PARKADE_OIDC_ROLES: JSON.stringify(ROLES),
    PARKADE_OIDC_LABEL: "Acme",
  });
  await addSource(web.deps.db, "orders");
  await addSource(web.deps.db, "billing");
  openid.people = { "s-1": { name: "Maria Rossi", groups: ["orders-team", "everybody", "chess"] } };
  openid.subject = "s-1";
  openid.login = {};
});
afterEach(() => web.close());

const routes = callerOf(() => web);
const call = <T = Record<string, unknown>>(route: string, options: object = {}, cookie?: string) =>
  routes<T>(route, { ...options, ...(cookie && { cookie }) });

/** Begins a sign-in: where the browser is sent, and its cookie. */
async function begin(to = "/events?status=PENDING", cookie?: string) {
  const query = `?to=${encodeURIComponent(to)}`;
  const { status, headers } = await web.call(start, { query, headers: { ...(cookie && { cookie }) } });
  expect(status).toBe(303);
  return { location: headers.get("location")!, cookie: headers.getSetCookie()[0]?.split(";")[0] ?? "" };
}

/** Comes back: where the console sends the browser, and the cookie of its session. */
async function comeBack(answer: URL, cookie: string) {
  const { status, headers } = await web.call(callback, { query: answer.search, headers: { cookie } });
  expect(status).toBe(303);
  const session = headers.getSetCookie().find((set) => set.startsWith("parkade="));
  return { location: headers.get("location")!, session: session?.split(";")[0] };
}

/** Within a limit that a test waits for. */
function limitTo(timeoutS: number) {
  const { env, clock } = web.deps;
  web.deps.oidc = new OidcProvider(env.oidc!, { secretOf: (given) => given, nowMs: () => clock.nowMs(), timeoutS });
}

async function signIn(to?: string) {
  const { location, cookie } = await begin(to);
  return comeBack(await openid.walk(location), cookie);
}

const refused = (reason: string) => ({ location: `${CONSOLE}/sign-in?refused=${reason}`, session: undefined });
const me = async (cookie?: string) => (await call("GET me", {}, cookie)).body;
const accounts = () =>
  web.deps.db.query<{ name: string; role: string; sources: string[] | null; actions: string[] }>(
    "select name, role, sources, actions from accounts order by created_at",
  );
const actionsInAudit = async () =>
  (await web.deps.db.query<{ action: string }>("select action from audit_entries order by id")).map(
    ({ action }) => action,
  );

test("the page says how to sign in, and the provider gets state, nonce and a challenge", async () => {
  expect(await me()).toMatchObject({ means: null, signIn: { oidc: "Acme", accounts: false } });
  const { location, cookie } = await begin();
  const address = new URL(location);
  expect(address.origin).toBe(openid.issuer);
  expect(Object.fromEntries(address.searchParams)).toMatchObject({
    response_type: "code",
    client_id: "parkade",
    redirect_uri: `${CONSOLE}/sign-in/oidc/callback`,
    code_challenge_method: "S256",
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(cookie).toMatch(/^parkade-oidc=[\w-]{43}$/);
  const [flow] = await web.deps.db.query<Record<string, Buffer>>("select state_hash, browser_hash from oidc_flows");
  expect(Object.values(flow!).every((hash) => hash.length === 32)).toBe(true);
});

test("a sign-in makes an account with the rights of its groups, and comes out where it began", async () => {
  const { location, session } = await signIn();
  expect(location).toBe(`${CONSOLE}/events?status=PENDING`);
  expect(await me(session)).toMatchObject({ name: "Maria Rossi", means: "session", sources: ["orders"] });
  expect((await call("GET events", {}, session)).status).toBe(200);
  expect((await call("GET accounts", {}, session)).status).toBe(403);
  expect(await accounts()).toEqual([{ name: "Maria Rossi", role: "operator", sources: ["orders"], actions: [] }]);
  expect(await actionsInAudit()).toEqual(["account.created", "session.opened"]);
  // The second time it is the same account.
  await signIn();
  expect(await accounts()).toHaveLength(1);
});

test("two first sign-ins at once are one account", async () => {
  const both = await Promise.all([signIn(), signIn()]);
  expect(both.every(({ session }) => session !== undefined)).toBe(true);
  expect(await accounts()).toHaveLength(1);
});

test("another console, the sign-in and a script are no places to come out at", async () => {
  for (const to of ["https://evil.example/", "//evil.example", "/sign-in", "javascript:alert(1)"])
    expect((await signIn(to)).location, to).toBe(`${CONSOLE}/`);
});

describe("an answer that is not good leads to no session", () => {
  test("of a state that nobody began", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    answer.searchParams.set("state", "x".repeat(43));
    expect(await comeBack(answer, cookie)).toEqual(refused("late"));
  });

  test("in a browser that did not begin it", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    expect(await comeBack(answer, "")).toEqual(refused("late"));
    // Whoever tried has used it up.
    expect(await comeBack(answer, cookie)).toEqual(refused("late"));
    const other = await begin();
    expect(await comeBack(await openid.walk((await begin()).location), other.cookie)).toEqual(refused("late"));
  });

  test("a second time", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    expect((await comeBack(answer, cookie)).session).toBeDefined();
    expect(await comeBack(answer, cookie)).toEqual(refused("late"));
  });

  test("with the code of another sign-in", async () => {
    const [one, two] = [await begin(), await begin()];
    const [code, answer] = [await openid.walk(one.location), await openid.walk(two.location)];
    answer.searchParams.set("code", code.searchParams.get("code")!);
    expect(await comeBack(answer, two.cookie)).toEqual(refused("invalid"));
  });

  test("with another nonce", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    await web.deps.db.run("update oidc_flows set nonce = 'of another sign-in'");
    expect(await comeBack(answer, cookie)).toEqual(refused("invalid"));
  });

  test("of another provider", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    answer.searchParams.set("iss", "https://evil.example");
    expect(await comeBack(answer, cookie)).toEqual(refused("invalid"));
  });

  test("after ten minutes", async () => {
    const { location, cookie } = await begin();
    const answer = await openid.walk(location);
    await web.deps.db.run("update oidc_flows set expires_at = now() - interval '1 s'");
    expect(await comeBack(answer, cookie)).toEqual(refused("late"));
  });

  test("that says that the person stopped", async () => {
    const { location, cookie } = await begin();
    const state = new URL(location).searchParams.get("state");
    const answer = new URL(`${CONSOLE}/sign-in/oidc/callback?error=access_denied&state=${state}&iss=${openid.issuer}`);
    expect(await comeBack(answer, cookie)).toEqual(refused("refused"));
  });

  test("signed with a key that the provider does not publish", async () => {
    openid.rotateKeys({ published: false });
    try {
      expect(await signIn()).toEqual(refused("invalid"));
    } finally {
      openid.rotateKeys();
    }
    expect(await accounts()).toEqual([]);
  });
});

describe("groups", () => {
  test("that changed count at the next sign-in, for every session", async () => {
    const { session } = await signIn();
    openid.people["s-1"]!.groups = ["billing-team", "orders-team"];
    expect(await me(session)).toMatchObject({ sources: ["orders"] });
    await signIn();
    // `forget` comes with one of the two groups, so it does not reach the sources of the other.
    expect(await accounts()).toEqual([
      { name: "Maria Rossi", role: "operator", sources: ["billing", "orders"], actions: [] },
    ]);
    expect(await me(session)).toMatchObject({ sources: ["billing", "orders"] });
    openid.people["s-1"]!.groups = ["sre", "orders-team"];
    await signIn();
    expect(await me(session)).toMatchObject({ actions: "all", sources: "all" });
    expect((await actionsInAudit()).filter((action) => action === "account.changed")).toHaveLength(2);
  });

  test("that are all lost end every session, and there is no other one", async () => {
    const { session } = await signIn();
    openid.people["s-1"]!.groups = ["chess"];
    expect(await signIn()).toEqual(refused("no-role"));
    expect(await me(session)).toMatchObject({ means: null });
    expect((await actionsInAudit()).at(-1)).toBe("session.refused");
  });

  test("that never named a role make no account", async () => {
    openid.people["s-1"]!.groups = [];
    expect(await signIn()).toEqual(refused("no-role"));
    expect(await accounts()).toEqual([]);
  });

  test("come by userinfo where the token has none", async () => {
    openid.people["by-userinfo"] = { name: "Uma", groups: ["sre"] };
    openid.subject = "by-userinfo";
    openid.rotateKeys();
    expect(await me((await signIn()).session)).toMatchObject({ name: "Uma", actions: "all" });
  });
});

test("somebody at the provider takes over no name, in whatever spelling", async () => {
  await addAda(web.deps.db);
  for (const name of ["Ada", "ＡＤＡ", "a\u200bda", "worker"]) {
    openid.people["s-1"] = { name, groups: ["sre"] };
    expect((await signIn()).location, name).toMatch(/refused=(name-taken|no-name)$/);
  }
  expect(await accounts()).toHaveLength(1);
});

test("an administrator changes no rights that the provider gives, and may disable the account", async () => {
  openid.people["s-2"] = { name: "Root", groups: ["sre"] };
  openid.subject = "s-2";
  const admin = (await signIn()).session;
  openid.subject = "s-1";
  await signIn();
  const [, maria] = (
    await call<{ items: { id: string; version: number }[] }>("GET accounts", {}, admin)
  ).body.items.sort((a, b) => a.id.localeCompare(b.id));
  const change = (body: object) =>
    call("PATCH accounts/{id}", { params: { id: maria!.id }, body: { version: maria!.version, ...body } }, admin);
  expect(await change({ role: "admin" })).toMatchObject({ status: 403, body: { code: "forbidden" } });
  const link = await call("POST accounts/{id}/link", { params: { id: maria!.id } }, admin);
  expect(link).toMatchObject({ status: 409, body: { code: "illegal-transition" } });
  expect((await change({ disabled: true })).status).toBe(200);
});

test("an account that is disabled stays so, and its tries stand in the audit", async () => {
  await signIn();
  await web.deps.db.run("update accounts set disabled_at = now()");
  expect(await signIn()).toEqual(refused("disabled"));
  expect((await actionsInAudit()).at(-1)).toBe("session.refused");
});

test("signing out ends the session here, and that at the provider without a question", async () => {
  const { session } = await signIn();
  const [stored] = await web.deps.db.query<{ token: Buffer }>("select id_token as token from sessions");
  expect(stored!.token.length).toBeGreaterThan(200);
  expect(stored!.token.toString("latin1")).not.toContain("ey");
  const out = await call<{ next: string }>("POST sign-out", {}, session);
  expect(out.status).toBe(200);
  expect(out.headers.getSetCookie()[0]).toMatch(/^parkade=; .*Max-Age=0/);
  const next = new URL(out.body.next);
  expect(next.origin).toBe(openid.issuer);
  expect(next.searchParams.get("post_logout_redirect_uri")).toBe(`${CONSOLE}/sign-in`);
  expect(await me(session)).toMatchObject({ means: null });
  const { asked, at } = await openid.signOut(next.href);
  expect([asked, at.href]).toEqual([false, `${CONSOLE}/sign-in`]);
});

describe("back-channel logout", () => {
  const post = (token: string, type = "application/x-www-form-urlencoded") =>
    web.call(logOut, {
      body: `logout_token=${encodeURIComponent(token)}`,
      headers: { "content-type": type, "x-parkade-address": "192.0.2.7" },
    });
  const claims = (more: Record<string, unknown> = {}): JWTPayload => {
    const nowS = Math.floor(Date.now() / 1000);
    return {
      ...{
        iss: openid.issuer,
        aud: OPENID_CLIENT.id,
        sub: "s-1",
        iat: nowS,
        exp: nowS + 120,
        jti: crypto.randomUUID(),
      },
      events: { "http://schemas.openid.net/event/backchannel-logout": {} },
      ...more,
    };
  };

  test("of a sign-out at the provider ends the session of that browser, and no other one", async () => {
    const here = (await signIn()).session;
    const [{ sid } = { sid: "" }] = await web.deps.db.query<{ sid: string }>("select oidc_sid as sid from sessions");
    await web.deps.db.run("update sessions set oidc_sid = 'of another browser'");
    const there = (await signIn()).session;
    expect(sid).not.toBe("");
    const metadata = await (await fetch(`${openid.issuer}/.well-known/openid-configuration`)).json();
    await openid.signOut(`${metadata.end_session_endpoint}?client_id=${OPENID_CLIENT.id}`);
    expect(await me(there)).toMatchObject({ means: null });
    expect(await me(here)).toMatchObject({ means: "session" });
    const [entry] = await web.deps.db.query<{ actor: string; after: object }>(
      "select actor, after from audit_entries where action = 'session.ended'",
    );
    expect(entry).toEqual({ actor: "web", after: { account: "Maria Rossi", by: "oidc", sessions: 1 } });
  });

  test("of a person ends all its sessions, once for each token", async () => {
    const sessions = [(await signIn()).session, (await signIn()).session];
    openid.people["s-2"] = { name: "Root", groups: ["sre"] };
    openid.subject = "s-2";
    const other = (await signIn()).session;
    const token = await openid.sign(claims());
    const answer = await post(token);
    expect([answer.status, answer.text, answer.headers.get("cache-control")]).toEqual([200, "", "no-store"]);
    for (const session of sessions) expect(await me(session)).toMatchObject({ means: null });
    expect(await me(other)).toMatchObject({ means: "session" });
    openid.subject = "s-1";
    const later = (await signIn()).session;
    expect((await post(token)).status).toBe(200);
    expect(await me(later)).toMatchObject({ means: "session" });
    // Its hash is kept while the token would be taken.
    const kept = async () => (await web.deps.db.query("select from oidc_logouts")).length;
    await removeEndedWaysIn(web.deps.db);
    expect(await kept()).toBe(1);
    await web.deps.db.run("update oidc_logouts set expires_at = now() - interval '1 s'");
    await removeEndedWaysIn(web.deps.db);
    expect(await kept()).toBe(0);
  });

  test("of a session and its person ends a session that the provider gave no sid, too", async () => {
    const { session } = await signIn();
    await web.deps.db.run("update sessions set oidc_sid = null");
    expect((await post(await openid.sign(claims({ sub: undefined, sid: "x" })))).status).toBe(200);
    expect(await me(session)).toMatchObject({ means: "session" });
    expect((await post(await openid.sign(claims({ sid: "x" })))).status).toBe(200);
    expect(await me(session)).toMatchObject({ means: null });
  });

  const hostile: [string, () => string | Promise<string>][] = [
    ["that is no token", () => "nonsense"],
    ["of another provider", () => openid.sign(claims({ iss: "https://evil.example" }))],
    ["for another client", () => openid.sign(claims({ aud: "another" }))],
    ["that is an ID token", () => openid.sign(claims({ nonce: "n" }))],
    ["without the event", () => openid.sign(claims({ events: { other: {} } }))],
    ["without events", () => openid.sign(claims({ events: undefined }))],
    ["of nobody", () => openid.sign(claims({ sub: undefined }))],
    ["of a subject that is no text", () => openid.sign(claims({ sub: "", sid: 7 }))],
    ["without an id", () => openid.sign(claims({ jti: undefined }))],
    ["without an end", () => openid.sign(claims({ exp: undefined }))],
    ["that has expired", () => openid.sign(claims({ exp: Math.floor(Date.now() / 1000) - 300 }))],
    ["that is old", () => openid.sign(claims({ iat: Math.floor(Date.now() / 1000) - 3_600 }))],
    ["that nobody signed", () => new UnsecuredJWT(claims()).encode()],
    [
      "signed with the secret of the client",
      () => new SignJWT(claims()).setProtectedHeader({ alg: "HS256" }).sign(Buffer.from(OPENID_CLIENT.secret)),
    ],
    [
      "signed with another key",
      () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: "RS256" })
          .sign(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey),
    ],
  ];
  test("by a token that is not the provider's own for this end ends nothing", async () => {
    const { session } = await signIn();
    for (const [what, token] of hostile) {
      const answer = await post(await token());
      expect(answer, what).toMatchObject({ status: 400, body: { error: "invalid_request" } });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(await me(session), what).toMatchObject({ means: "session" });
    }
    expect(await actionsInAudit()).not.toContain("session.ended");
  });

  test("by a body that is no form with one token ends nothing", async () => {
    const { session } = await signIn();
    const token = await openid.sign(claims());
    const twice = `logout_token=${token}&logout_token=${token}`;
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const answers = [
      await post(token, "application/json"),
      await web.call(logOut, { body: twice, headers: form }),
      await web.call(logOut, { body: "", headers: form }),
      await web.call(logOut, { body: `logout_token=${"x".repeat(70_000)}`, headers: form }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 413]);
    expect(await me(session)).toMatchObject({ means: "session" });
  });

  test("from a page of another site is refused, and many tokens from one address wait", async () => {
    const origin = { origin: "https://evil.example" };
    const answer = await web.call(logOut, { body: "logout_token=x", headers: origin });
    expect(answer).toMatchObject({ status: 403, body: { code: "not-local" } });
    expect((await post(await openid.sign(claims()))).status).toBe(200);
    const counted = "select failures from sign_in_tries where key = 'logout:192.0.2.7'";
    expect(await web.deps.db.query(counted), "a good token is no try").toEqual([{ failures: 0 }]);
    await web.deps.db.run(
      "update sign_in_tries set failures = 300, until_at = now() + interval '1 minute' where key = 'logout:192.0.2.7'",
    );
    expect(await post(await openid.sign(claims()))).toMatchObject({ status: 429, body: { code: "too-many-requests" } });
  });

  test("waits for no provider that does not answer", async () => {
    const { session } = await signIn();
    limitTo(0.3);
    const release = openid.stall("/jwks");
    expect(await post(await openid.sign(claims()))).toMatchObject({
      status: 400,
      body: { error: "temporarily_unavailable" },
    });
    release();
    expect(await me(session)).toMatchObject({ means: "session" });
    limitTo(600);
    expect((await post(await openid.sign(claims()))).status).toBe(200);
    expect(await me(session)).toMatchObject({ means: null });
  });
});

describe("tokens of a person of the provider", () => {
  const made = { name: "laptop", days: 300 };
  type Made = { token: { id: string; signInBy: string | null }; secret: string };
  const asToken = (secret: string) => routes("GET events", { headers: { authorization: `Bearer ${secret}` } });
  const lastSignIn = (days: number) =>
    web.deps.db.run("update accounts set signed_in_at = now() - $1 * interval '1 day' where oidc_subject is not null", [
      days,
    ]);

  test("work until its last sign-in is too old, and again after the next one", async () => {
    const { session } = await signIn();
    const { secret, token } = (await call<Made>("POST tokens", { body: made }, session)).body;
    expect(Date.parse(token.signInBy!) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    await lastSignIn(29.9);
    expect((await asToken(secret)).status).toBe(200);
    await lastSignIn(30.1);
    expect(await asToken(secret)).toMatchObject({
      status: 401,
      body: { detail: expect.stringContaining("works again once the owner signs in to the console") },
    });
    const listed = (await call<{ items: Made["token"][] }>("GET tokens", {}, session)).body.items[0]!;
    expect(Date.parse(listed.signInBy!)).toBeLessThan(Date.now());
    await signIn();
    expect((await asToken(secret)).status).toBe(200);
    web.deps.env.oidcTokensDays = 3;
    await lastSignIn(4);
    expect((await asToken(secret)).status).toBe(401);
  });

  test("have at most the rights of the account as they are now", async () => {
    openid.people["s-1"]!.groups = ["sre"];
    const { session } = await signIn();
    const { secret } = (await call<Made>("POST tokens", { body: { ...made, sources: ["billing"] } }, session)).body;
    openid.people["s-1"]!.groups = ["orders-team"];
    await signIn();
    const { identify } = web.deps;
    const viewer = await identify(new Headers({ authorization: `Bearer ${secret}` }));
    expect(viewer).toMatchObject({ sources: [], actions: expect.not.arrayContaining(["change-accounts"]) });
    openid.people["s-1"]!.groups = [];
    await signIn();
    expect(await asToken(secret)).toMatchObject({ status: 401, body: { detail: expect.stringContaining("revoked") } });
  });

  test("end by no sign-in where the account is a service's, or has a password", async () => {
    openid.people["s-1"]!.groups = ["sre"];
    const { session } = await signIn();
    const service = await call<{ account: { id: string } }>(
      "POST accounts",
      { body: { kind: "service", name: "billing-job", role: "viewer" } },
      session,
    );
    const params = { id: service.body.account.id };
    const { secret, token } = (await call<Made>("POST accounts/{id}/tokens", { params, body: made }, session)).body;
    expect(token.signInBy).toBeNull();
    await web.deps.db.run("update accounts set signed_in_at = now() - interval '300 days'");
    expect((await asToken(secret)).status).toBe(200);
    await web.deps.db.run("update accounts set kind = 'person' where id = $1", [params.id]);
    expect((await asToken(secret)).status).toBe(200);
  });
});

describe("with PARKADE_PASSWORD_SIGN_IN=off", () => {
  const refusal = { status: 403, body: { detail: expect.stringContaining("PARKADE_PASSWORD_SIGN_IN") } };

  test("nobody signs in by a password or gets a link, and everybody at the provider; on again, the password is good", async () => {
    const link = (await makeSetupLink(web.deps, CONSOLE))!.split("#")[1];
    const useLink = { body: { secret: link, name: "Ada", password: PASSWORD } };
    web.deps.env.passwordSignIn = false;
    expect(await makeSetupLinkAtStart(new AbortController().signal)).toBeNull();
    expect(await call("POST account-links/look", { body: { secret: link } })).toMatchObject(refusal);
    expect(await call("POST account-links/use", useLink)).toMatchObject(refusal);
    web.deps.env.passwordSignIn = true;
    const used = await call("POST account-links/use", useLink);
    const ada = used.headers.getSetCookie()[0]!.split(";")[0];
    web.deps.env.passwordSignIn = false;

    const password = { body: { name: "Ada", password: PASSWORD } };
    expect(await me()).toMatchObject({ signIn: { password: false, oidc: "Acme" } });
    expect(await call("POST sign-in", password)).toMatchObject(refusal);
    const change = { password: PASSWORD, newPassword: "five large blue whales" };
    expect(await call("POST account/password", { body: change }, ada)).toMatchObject(refusal);

    openid.people["s-1"]!.groups = ["sre"];
    const { session } = await signIn();
    const person = { kind: "person", name: "bob", role: "viewer" };
    expect(await call("POST accounts", { body: person }, session)).toMatchObject(refusal);
    expect((await call("POST accounts", { body: { ...person, kind: "service" } }, session)).status).toBe(201);
    const [{ id } = { id: "" }] = await web.deps.db.query<{ id: string }>("select id from accounts where name = 'Ada'");
    expect(await call("POST accounts/{id}/link", { params: { id } }, session)).toMatchObject(refusal);
    // Ada could not sign in: Maria is the last who changes accounts.
    const [maria] = await web.deps.db.query<{ id: string; version: number }>(
      "select id, version from accounts where oidc_subject = 's-1'",
    );
    const disable = { params: { id: maria!.id }, body: { disabled: true, version: maria!.version } };
    expect(await call("PATCH accounts/{id}", disable, session)).toMatchObject({ body: { code: "last-admin" } });

    web.deps.env.passwordSignIn = true;
    expect((await call("POST sign-in", password)).status).toBe(204);
  });
});

describe("a sign-in at the provider", () => {
  const demand = (strength: Partial<SignInStrength>) => {
    const oidc = web.deps.env.oidc!;
    web.deps.env.oidc = { ...oidc, strength: { ...oidc.strength, ...strength } };
    limitTo(600);
  };

  type Case = [string, Partial<SignInStrength>, OpenIdServer["login"], string | null];
  const CASES: Case[] = [
    ["the acr that is demanded", { acr: ["phrh", "phr"] }, { acr: "phr" }, null],
    ["another acr", { acr: ["phrh", "phr"] }, { acr: "pwd" }, "weak"],
    ["no acr", { acr: ["phr"] }, {}, "weak"],
    ["the method that is demanded", { amr: ["hwk", "mfa"] }, { amr: ["pwd", "mfa"] }, null],
    ["another method", { amr: ["mfa"] }, { amr: ["pwd"] }, "weak"],
    ["no method", { amr: ["mfa"] }, {}, "weak"],
    ["both", { acr: ["phr"], amr: ["mfa"] }, { acr: "phr", amr: ["mfa"] }, null],
    ["one of two that are demanded", { acr: ["phr"], amr: ["mfa"] }, { acr: "phr", amr: ["pwd"] }, "weak"],
  ];
  test("opens a session with the acr and the method that are demanded, and none without one of them", async () => {
    for (const [what, demanded, login, reason] of CASES) {
      demand({ acr: [], amr: [], ...demanded });
      openid.login = login;
      const { location, cookie } = await begin();
      expect(new URL(location).searchParams.get("acr_values"), what).toBe(demanded.acr?.join(" ") ?? null);
      const end = await comeBack(await openid.walk(location), cookie);
      if (reason === null) expect(await me(end.session), what).toMatchObject({ name: "Maria Rossi" });
      else expect(end, what).toEqual(refused(reason));
    }
  });

  /** The provider is not told how old it may be, and does not ask again. */
  const comeAfter = async (ageS: number) => {
    openid.login = { ts: Math.floor(Date.now() / 1000) - ageS };
    const { location, cookie } = await begin();
    const address = new URL(location);
    expect(address.searchParams.get("max_age")).toBe("420");
    address.searchParams.delete("max_age");
    return comeBack(await openid.walk(address.href), cookie);
  };

  test("that is too old is refused, though the provider does not ask again", async () => {
    demand({ maxAgeS: 420 });
    expect((await comeAfter(300)).session).toBeDefined();
    expect(await comeAfter(600)).toEqual(refused("stale"));
  });

  test("of a time that the provider does not tell is refused in the same words", async () => {
    demand({ maxAgeS: 420 });
    const tell = (...claims: string[]) => {
      openid.told = claims;
      openid.rotateKeys();
    };
    tell("acr");
    onTestFinished(() => tell(...TOLD));
    expect(await comeAfter(300)).toEqual(refused("stale"));
  });
});

describe("a provider that takes minutes", () => {
  test("for its metadata, its token, its keys, or the rest of one is said, and waited for no longer than the limit", async () => {
    for (const path of ["/.well-known/openid-configuration", "/token", "/jwks"])
      for (const half of [false, true]) {
        const { location, cookie } = await begin();
        const answer = await openid.walk(location);
        limitTo(0.3);
        const release = openid.stall(path, { half });
        try {
          expect(await comeBack(answer, cookie), `${path} ${half}`).toEqual(refused("unavailable"));
        } finally {
          release();
        }
        limitTo(600);
        expect((await signIn()).session).toBeDefined();
      }
  });

  test("leads nobody there who begins, and holds up no other sign-in", async () => {
    await addAda(web.deps.db);
    const ada = { name: "Ada", password: PASSWORD };
    limitTo(600);
    const { location, cookie } = await begin();
    const release = openid.stall("/token");
    const waiting = comeBack(await openid.walk(location), cookie);
    // More than the connections to the store.
    const more = await Promise.all(Array.from({ length: 12 }, () => begin()));
    const answers = await Promise.all(more.map(({ location: at }) => openid.walk(at)));
    const others = answers.map((answer, nth) => comeBack(answer, more[nth]!.cookie));
    expect((await call("POST sign-in", { body: ada })).status).toBe(204);
    release();
    for (const { session } of await Promise.all([waiting, ...others])) expect(session).toBeDefined();
    limitTo(0.3);
    const releaseMetadata = openid.stall("/.well-known/openid-configuration");
    expect((await begin()).location).toBe(`${CONSOLE}/sign-in?refused=unavailable`);
    releaseMetadata();
  });
});

test("keys that the provider has replaced are read anew", async () => {
  expect((await signIn()).session).toBeDefined();
  openid.rotateKeys();
  expect((await signIn()).session).toBeDefined();
});

test("a provider that does not answer is said, and nothing waits for it afterwards", async () => {
  await openid.down();
  try {
    const { location } = await begin();
    expect(location).toBe(`${CONSOLE}/sign-in?refused=unavailable`);
  } finally {
    await openid.up();
  }
  expect((await signIn()).session).toBeDefined();
});

test("without a provider the address says so", async () => {
  await web.close();
  web = await testConsole({ PARKADE_SIGN_IN: "always", PARKADE_PUBLIC_URL: CONSOLE });
  expect((await begin()).location).toBe(`${CONSOLE}/sign-in?refused=none`);
});
