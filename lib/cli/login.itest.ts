import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { testCommandLine } from "@/lib/testing/command-line";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { callerOf, setUpAda } from "@/lib/testing/signed-in";

const web = consoleOfFile();
const commandLine = commandLineOfFile({ address: "192.0.2.7" });
let ada: string;
let home: string;
const call = callerOf(() => web);

beforeAll(async () => {
  ada = await setUpAda(web, call);
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parkade-home-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const file = () => join(home, "parkade", "credentials.json");
const begin = (words: string[], env: Record<string, string> = {}) =>
  commandLine.begin(words, { XDG_CONFIG_HOME: home, PARKADE_TOKEN: "", ...env });
const run = (...words: string[]) => begin(words).ended;

/** Logs in, and decides in the console as Ada. */
async function login(decision: "confirm" | "deny", words: string[] = [], env: Record<string, string> = {}) {
  const program = begin(["login", ...words], env);
  await expect.poll(program.said, { timeout: 10_000 }).toMatch(/shows the code/);
  const code = /\?code=(\S+)/.exec(program.said())![1]!;
  expect(program.said()).toContain(`shows the code ${code}.`);
  const decided = await call("POST device-sign-ins/decide", { cookie: ada, body: { code, decision, days: 3 } });
  expect(decided.status).toBe(204);
  return program.ended;
}

test("login keeps a token that only its user may read, every command uses it, and logout revokes it", async () => {
  expect(await run("search")).toMatchObject({ code: 1, said: expect.stringContaining("unauthenticated") });
  expect(await run("whoami")).toMatchObject({ code: 1, out: expect.stringContaining("nobody") });
  const { code, out, said } = await login("confirm", ["--name", "maria's laptop"]);
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^Signed in as Ada until 20/) });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(statSync(join(home, "parkade")).mode & 0o777).toBe(0o700);
  const { servers } = JSON.parse(readFileSync(file(), "utf8"));
  const { token } = servers[commandLine.url];
  expect(token).toMatch(/^pk_/);
  expect(out + said).not.toContain(token);

  expect(await run("search")).toMatchObject({ code: 0 });
  expect(await run("whoami")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/name +Ada\nby +token\nmay +everything but approve/),
  });
  expect(JSON.parse((await run("whoami", "--json")).out)).toMatchObject({ name: "Ada", means: "token" });
  // A slash at the end is the same Parkade, and another address is none.
  expect(await run("whoami", "--url", `${commandLine.url}/`)).toMatchObject({ code: 0 });
  expect(await run("whoami", "--url", commandLine.url.replace("127.0.0.1", "localhost"))).toMatchObject({ code: 1 });
  const list = await call<{ items: { name: string }[] }>("GET tokens", { cookie: ada });
  expect(list.body.items[0]).toMatchObject({ name: "maria's laptop", usedAddress: "192.0.2.7", revokedAt: null });

  expect(await run("logout")).toMatchObject({ code: 0, out: `Ada is signed out at ${commandLine.url}\n` });
  expect(await run("whoami")).toMatchObject({ code: 1 });
  expect(readFileSync(file(), "utf8")).not.toContain("pk_");
  const copied = begin(["search"], { PARKADE_TOKEN: token }).ended;
  expect(await copied).toMatchObject({ code: 1, said: expect.stringContaining("revoked") });
  expect(await run("logout")).toMatchObject({ code: 0, out: expect.stringContaining("You were not signed in") });
});

test("login again replaces the token and revokes the former; PARKADE_TOKEN goes before it", async () => {
  await login("confirm");
  const read = () => JSON.parse(readFileSync(file(), "utf8")).servers[commandLine.url].token as string;
  const former = read();
  const again = await login("confirm", [], { PARKADE_TOKEN: former });
  expect(again).toMatchObject({ code: 0, said: expect.stringContaining("PARKADE_TOKEN is set, and takes precedence") });
  expect(read()).not.toBe(former);
  expect(await run("whoami")).toMatchObject({ code: 0 });
  const other = await begin(["whoami"], { PARKADE_TOKEN: former }).ended;
  expect(other).toMatchObject({ code: 1, out: expect.stringContaining("nobody") });
});

test("login that is denied, or whose code has ended, keeps nothing", async () => {
  const denied = await login("deny");
  expect(denied).toMatchObject({ code: 1, out: "", said: expect.stringContaining("denied") });
  const program = begin(["login"]);
  await expect.poll(program.said, { timeout: 10_000 }).toMatch(/shows the code/);
  await web.deps.db.run("update device_sign_ins set expires_at = now()");
  expect(await program.ended).toMatchObject({ code: 1, said: expect.stringContaining("unknown-device-sign-in") });
  expect(() => statSync(file())).toThrow();
});

test("login waits for the second factor that is demanded, and logout says that it ended no token without one", async () => {
  const demand = (roles: ["admin"] | []) => {
    web.deps.env.secondFactorRoles = roles;
  };
  onTestFinished(() => demand([]));
  const program = begin(["login"]);
  await expect.poll(program.said, { timeout: 10_000 }).toMatch(/shows the code/);
  demand(["admin"]);
  // As if she had confirmed before it was demanded.
  await web.deps.db.run(
    "update device_sign_ins set decision = 'confirmed', days = 3, account_id = (select id from accounts where name = 'Ada')",
  );
  await expect.poll(program.said, { timeout: 20_000 }).toContain("Your role needs a second factor");
  demand([]);
  expect(await program.ended).toMatchObject({ code: 0, out: expect.stringMatching(/^Signed in as Ada/) });
  demand(["admin"]);
  expect(await run("logout")).toMatchObject({ code: 0, said: expect.stringContaining("The token was not revoked") });
  expect(readFileSync(file(), "utf8")).not.toContain("pk_");
});

test("login says that no sign-in is needed, or that nobody has an account yet", async () => {
  const here = await testCommandLine();
  try {
    const open = here.begin(["login"], { XDG_CONFIG_HOME: home, PARKADE_TOKEN: "" }).ended;
    expect(await open).toMatchObject({ code: 0, out: `No sign-in is needed at ${here.url}\n` });
    // Her name is that of an account: there she has to sign in.
    const taken = here.begin(["login"], { XDG_CONFIG_HOME: home, PARKADE_TOKEN: "", PARKADE_ACTOR: "ada" });
    await expect.poll(taken.said, { timeout: 10_000 }).toMatch(/shows the code/);
    taken.stop();
    expect((await taken.ended).code).toBe(130);
  } finally {
    await here.close();
  }
  await web.deps.db.run("update accounts set disabled_at = now()");
  const nobody = await run("login");
  await web.deps.db.run("update accounts set disabled_at = null");
  expect(nobody).toMatchObject({ code: 1, said: expect.stringContaining("There are no accounts at") });
});

test("credentials that others may read, or that are something else, are not used", async () => {
  await login("confirm");
  chmodSync(file(), 0o644);
  expect(await run("search")).toMatchObject({ code: 2, said: expect.stringContaining("chmod 600") });
  writeFileSync(file(), "{", { mode: 0o600 });
  chmodSync(file(), 0o600);
  expect(await run("search")).toMatchObject({ code: 2, said: expect.stringContaining("delete it") });
  // A token in the environment needs no file.
  expect(await begin(["whoami"], { PARKADE_TOKEN: "pk_none" }).ended).toMatchObject({ code: 1 });
});

test("no token is asked for or sent over plain http to another machine", async () => {
  for (const words of [["login"], ["logout"]]) {
    const refused = await run(...words, "--url", "http://parkade.example.com");
    expect(refused).toMatchObject({ code: 2, said: expect.stringContaining("https") });
  }
});
