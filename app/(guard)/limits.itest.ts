import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { setDeps } from "@/app/_server/deps";
import { RequestLimits } from "@/app/_server/request-limits";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addPerson, callerOf, setUpAda } from "@/lib/testing/signed-in";

/** Whose requests are counted together, where everybody must sign in. */

const LIMIT = 6;

let web: TestConsole;
let ada: string;
let bob: string;
let token: string;
const call = callerOf(() => web);

beforeAll(async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  ada = await setUpAda(web, call);
  bob = (await addPerson(call, ada, "bob", { role: "viewer" })).cookie;
  token = (await call<{ secret: string }>("POST tokens", { cookie: ada, body: { name: "x", days: 1 } })).body.secret;
});
beforeEach(() => {
  const settings = { clientRequests: LIMIT, sourceRequests: 0, clientBytes: 0 };
  web.deps = { ...web.deps, limits: new RequestLimits(settings) };
  setDeps(web.deps);
});
afterAll(() => web.close());

type Sent = { cookie?: string; headers?: Record<string, string> };

/** Statuses of one request after the other, each as `sent` says. */
async function statuses(count: number, sent: (nth: number) => Sent, route = "GET events"): Promise<number[]> {
  const answers: number[] = [];
  for (let nth = 0; nth < count; nth++) answers.push((await call(route, sent(nth))).status);
  return answers;
}

const from = (address: string, more: Record<string, string> = {}): Sent => ({
  headers: { "x-parkade-address": address, ...more },
});
const times = (count: number, status: number) => Array<number>(count).fill(status);

test("without a session the requests of an address are counted, whatever name, cookie or token each one brings", async () => {
  const sent = (nth: number) =>
    from("192.0.2.7", {
      "x-actor": `name-${nth}`,
      ...(nth % 3 === 1 && { cookie: `parkade=${"A".repeat(42)}${nth % 10}` }),
      ...(nth % 3 === 2 && { authorization: `Bearer pk_${nth}` }),
    });
  expect(await statuses(LIMIT + 2, sent)).toEqual([...times(LIMIT, 401), 429, 429]);
  expect(await statuses(1, () => from("192.0.2.8"))).toEqual([401]);
  // Whoever has signed in is not held by strangers of the same address.
  expect(await statuses(1, () => ({ ...from("192.0.2.7"), cookie: ada }))).toEqual([200]);
});

test("what anybody may ask is counted for the address as well", async () => {
  expect(await statuses(LIMIT + 1, () => from("192.0.2.9"), "GET me")).toEqual([...times(LIMIT, 200), 429]);
});

test("with a session or a token the requests of the account are counted, from wherever they come", async () => {
  const sent = (nth: number): Sent => {
    const { headers } = from(`192.0.2.${nth}`);
    return nth % 2 === 0
      ? { headers: { ...headers }, cookie: ada }
      : { headers: { ...headers, authorization: `Bearer ${token}` } };
  };
  expect(await statuses(LIMIT + 2, sent)).toEqual([...times(LIMIT, 200), 429, 429]);
  const other = await call("GET events", { cookie: bob });
  expect(other.status).toBe(200);
  expect(other.headers.get("ratelimit")).toMatch(/^"client";r=5;/);
});
