import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { knownBrowserCookie, sentKnownBrowser } from "@/lib/guard/sessions/session.pure";
import { rememberBrowser } from "@/lib/guard/sign-in/known-browsers";
import { signIn as signInBy } from "@/lib/guard/sign-in/sign-in";
import { addAda, giveCheapPassword, PASSWORD } from "@/lib/guard/sign-in/testing/cheap-password";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addPerson, callerOf } from "@/lib/testing/signed-in";

/** A browser that has signed in to an account before does not wait for what strangers try, and has no other right. */

let web: TestConsole;
let ada: string;
const call = callerOf(() => web);

beforeEach(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  await addAda(web.deps.db);
  ada = (await call("POST sign-in", { body: { name: "ada", password: PASSWORD } })).cookie!;
});
afterEach(() => web.close());

const WRONG = "wrong words here";
type Try = { password?: string; browser?: string | null; address?: string };

/** A try to sign in, by default with the right password, in a browser that is not known. Returns the secret of the browser, too. */
async function tryAs(
  name: string,
  { password = PASSWORD, browser = null, address = "192.0.2.9" }: Try = {},
): Promise<{ status: number; detail: unknown; browser: string | null; waitS: number }> {
  const answer = await call("POST sign-in", {
    body: { name, password },
    ...(browser !== null && { cookie: `parkade-browser=${browser}` }),
    headers: { "x-parkade-address": address },
  });
  const cookies = answer.headers.getSetCookie().map((text) => text.split(";")[0]);
  return {
    ...{ status: answer.status, detail: answer.body?.detail, browser: sentKnownBrowser(cookies.join("; "), false) },
    waitS: Number(answer.headers.get("retry-after")),
  };
}

/** A browser in which the person has signed in. */
const known = async (name: string) => (await tryAs(name)).browser!;

/** The last of fifty wrong tries from many addresses, after which each further one waits. The store says what the others were. */
async function useUpTries(name: string): Promise<void> {
  await web.deps.db.run(
    `insert into sign_in_tries (key, failures, last_at, until_at) values ($1, 49, now(), to_timestamp(0))
     on conflict (key) do update set failures = 49`,
    [`account:${name}`],
  );
  expect((await tryAs(name, { password: WRONG, address: "198.51.100.1" })).status).toBe(401);
  await wait();
}

/** The wait of a second is over before a busy machine sends the next try. */
const wait = () =>
  web.deps.db.run("update sign_in_tries set until_at = until_at + interval '1 minute' where until_at > last_at");
const rows = (name: string) =>
  web.deps.db.query<{ id: string; used: number }>(
    `select b.id, b.used_at as used from known_browsers b join accounts a on a.id = b.account_id
      where a.name = $1 order by b.used_at`,
    [name],
  );

describe("when strangers have used up the tries of an account from many addresses", () => {
  test("its owner signs in at once in a known browser, and waits in a new one", async () => {
    const browser = await known("ada");
    await useUpTries("ada");
    expect((await tryAs("ada")).status).toBe(429);
    const signed = await tryAs("ada", { browser });
    expect(signed.status).toBe(204);
    // The strangers go on to wait.
    expect((await tryAs("ada", { password: WRONG, address: "198.51.100.99" })).status).toBe(429);
    expect((await tryAs("ada", { browser: signed.browser })).status).toBe(204);
  });

  test("the cookie of another account is of no use, and neither is one that was made up or has ended", async () => {
    await addPerson(call, ada, "bob", { role: "viewer" });
    const [mine, bobs] = [await known("ada"), await known("bob")];
    await useUpTries("ada");
    for (const browser of [bobs, "A".repeat(43), ""]) expect((await tryAs("ada", { browser })).status).toBe(429);
    await web.deps.db.run("update known_browsers set expires_at = now()");
    expect((await tryAs("ada", { browser: mine })).status).toBe(429);
  });

  test("a person who has signed in changes the password all the same", async () => {
    await useUpTries("ada");
    // Also behind the address of a stranger.
    await web.deps.db.run("update sign_in_tries set until_at = now() + interval '1 hour'");
    const headers = { "x-parkade-address": "198.51.100.1" };
    const body = { password: WRONG, newPassword: "five large blue whales" };
    const change = (password: string) =>
      call("POST account/password", { cookie: ada, headers, body: { ...body, password } });
    expect((await change(PASSWORD)).status).toBe(204);
    const [{ id }] = (await web.deps.db.query<{ id: string }>("select id from accounts")) as [{ id: string }];
    await giveCheapPassword(web.deps.db, id);
    for (let n = 0; n < 5; n++) expect((await change(WRONG)).status).toBe(422);
    await wait();
    expect((await change(WRONG)).status).toBe(429);
  });

  test("a name that nobody has is answered as one that somebody has, with and without the cookie of a browser", async () => {
    const browser = await known("ada");
    const answers = async (name: string) => {
      const wrong = await tryAs(name, { password: WRONG });
      await useUpTries(name);
      const held = [await tryAs(name), await tryAs(name, { browser: "A".repeat(43) })];
      return { wrong, held: held.map(({ status, waitS }) => [status, waitS > 30]) };
    };
    const [somebody, nobody] = [await answers("ada"), await answers("nobody")];
    expect(nobody).toEqual(somebody);
    expect(somebody.wrong.status).toBe(401);
    expect(somebody.held).toEqual(Array(2).fill([429, true]));
    // A known browser tells of its own account alone.
    expect((await tryAs("nobody", { browser })).status).toBe(429);
  });
});

describe("a known browser", () => {
  test("has ten tries, then waits, and a sign-in forgets them; elsewhere nobody waits for it", async () => {
    const browser = await known("ada");
    for (let n = 0; n < 10; n++)
      expect((await tryAs("ada", { browser, password: WRONG, address: `198.51.100.${n}` })).status).toBe(401);
    await wait();
    expect((await tryAs("ada", { browser })).status).toBe(429);
    const elsewhere = await tryAs("ada", { address: "203.0.113.7" });
    expect(elsewhere.status).toBe(204);
    await web.deps.db.run("update sign_in_tries set until_at = now()");
    expect((await tryAs("ada", { browser })).status).toBe(204);
    expect(await web.deps.db.query("select 1 from sign_in_tries where key like 'browser:%'")).toEqual([]);
  });

  test("gets a new secret with each sign-in, and the former one is worth nothing", async () => {
    const first = await known("ada");
    const { browser: second } = await tryAs("ada", { browser: first });
    expect(second).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
    const [row] = await rows("Ada");
    await tryAs("ada", { browser: first, password: WRONG });
    await tryAs("ada", { browser: second, password: WRONG });
    const keys = await web.deps.db.query<{ key: string }>("select key from sign_in_tries where key like 'browser:%'");
    expect(keys.map(({ key }) => key)).toHaveLength(1);
    expect(row).toBeDefined();
    const stored = await web.deps.db.query("select encode(secret_hash, 'escape') as text from known_browsers");
    expect(JSON.stringify(stored)).not.toContain(second!);
  });

  test("of two persons is known to both", async () => {
    await addPerson(call, ada, "bob", { role: "viewer" });
    const shared = await tryAs("bob", { browser: await known("ada") });
    await tryAs("ada", { browser: shared.browser, password: WRONG });
    await tryAs("bob", { browser: shared.browser, password: WRONG });
    const keys = await web.deps.db.query("select key from sign_in_tries where key like 'browser:%'");
    expect(keys).toHaveLength(2);
  });

  test("is one of twenty: the oldest goes", async () => {
    const [first] = await rows("Ada");
    const { db, clock } = web.deps;
    const [account] = await db.query<{ id: string }>("select id from accounts");
    for (let n = 0; n < 20; n++)
      await db.transaction((tx) =>
        rememberBrowser(tx, { account: account!.id, oldSecret: null, nowMs: clock.wallMs() }),
      );
    const left = await rows("Ada");
    expect(left).toHaveLength(20);
    expect(left.map(({ id }) => id)).not.toContain(first!.id);
  });

  test("opens nothing by itself, and no other right comes with it", async () => {
    const browser = await known("ada");
    for (const cookie of [`parkade-browser=${browser}`, `parkade=${browser}`])
      expect((await call("GET events", { cookie })).status).toBe(401);
  });

  test.each([
    [
      "a new password",
      async () => {
        const body = { password: PASSWORD, newPassword: "five large blue whales" };
        expect((await call("POST account/password", { cookie: ada, body })).status).toBe(204);
      },
    ],
    [
      "the end of its sessions",
      async () => {
        const [account] = await web.deps.db.query<{ id: string }>("select id from accounts");
        const ended = await call("DELETE accounts/{id}/sessions", { cookie: ada, params: { id: account!.id } });
        expect(ended.status).toBe(204);
      },
    ],
  ])("is forgotten with %s", async (_, change) => {
    await known("ada");
    expect(await rows("Ada")).toHaveLength(2);
    await change();
    expect(await rows("Ada")).toEqual([]);
  });

  test("is known by a cookie that only this host gets back, from its own pages alone", async () => {
    const answer = await call("POST sign-in", { body: { name: "ada", password: PASSWORD } });
    expect(answer.headers.getSetCookie()[1]).toMatch(
      /^parkade-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=15552000$/,
    );
    expect(knownBrowserCookie("x", true)).toBe(
      "__Host-parkade-browser=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=15552000; Secure",
    );
    expect(sentKnownBrowser("parkade-browser=x", true)).toBeNull();
  });
});

test("a wrong try under a name that nobody has sends the store the statements of one that somebody has", async () => {
  const statements = async (name: string) => {
    const sent: string[] = [];
    const note = (text: string) => void sent.push(text);
    const noted = <On extends Queryable>(on: On): On => ({
      ...on,
      query: (text: string, ...rest: []) => {
        note(text);
        return on.query(text, ...rest);
      },
      run: (text: string, ...rest: []) => {
        note(text);
        return on.run(text, ...rest);
      },
    });
    const { db, clock, env } = web.deps;
    const transaction: Db["transaction"] = (work, options) => {
      note("begin");
      return db.transaction((tx) => work(noted(tx)), options);
    };
    const notedDb = { ...noted(db), transaction };
    const browser = { address: "192.0.2.9", agent: null, sessionSecret: null, knownBrowserSecret: "A".repeat(43) };
    await expect(signInBy({ db: notedDb, clock, env }, { name, password: WRONG }, browser)).rejects.toMatchObject({
      code: "sign-in-failed",
    });
    return sent;
  };
  const [somebody, nobody] = [await statements("ada"), await statements("nobody")];
  expect(somebody.at(-1)).toBe("release savepoint entry");
  expect(nobody.at(-1)).toBe("rollback to savepoint entry");
  expect(nobody.slice(0, -1)).toEqual(somebody.slice(0, -1));
  expect(nobody.at(-2)).toContain("insert into audit_entries");
  const entries = await web.deps.db.query("select after from audit_entries where action = 'session.refused'");
  expect(entries).toEqual([{ after: { account: "Ada", address: "192.0.2.9" } }]);
  expect(
    await web.deps.db.query("select 1 from audit_pending where ref not in (select id from audit_entries)"),
  ).toEqual([]);
});
