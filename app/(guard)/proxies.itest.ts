import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES } from "@/app/routes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { callerOf, setUpAda, TEST_PASSWORD } from "@/lib/testing/signed-in";
import { dispatchRoutes, type RouteModule } from "@/scripts/api-dispatch";
import { parseTrustedProxies } from "@/scripts/client-address";
import { guarded } from "@/scripts/web-server";

/** The web server in front of the real handlers: one that trusts the proxy on this machine, and one that trusts none. */

let web: TestConsole;
let [trusting, plain] = ["", ""];
const servers: Server[] = [];

beforeAll(async () => {
  web = await testConsole();
  const call = callerOf(() => web);
  await setUpAda(web, call);
  const paths = ["account/sessions", "audit", "events", "me", "sign-in"].map((path) => `/api/v1/${path}` as const);
  const routes = await Promise.all(
    paths.map(async (path) => ({ path, handlers: (await ROUTES[path]!()) as unknown as RouteModule })),
  );
  const serving = async (proxies: string) => {
    const answer = dispatchRoutes(routes, (_, response) => void response.writeHead(404).end());
    const server = createServer(guarded(answer, new Set(), [], parseTrustedProxies(proxies)));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
  };
  [trusting, plain] = [await serving("127.0.0.1 10.0.0.0/8"), await serving("")];
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await web.close();
});

const signIn = (url: string, headers: Record<string, string>, password = TEST_PASSWORD) =>
  fetch(`${url}/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ name: "ada", password }),
  });

/** Further tries from the address wait: longer than a busy machine takes for the next one. */
async function expectHeld(address: string): Promise<void> {
  const held = await web.deps.db.run(
    "update sign_in_tries set until_at = until_at + interval '5 minutes' where key = $1 and until_at > last_at",
    [`account:ada@${address}`],
  );
  expect(held).toBe(1);
}

test("behind a trusted proxy sessions and the audit name the client, and tries are counted for it", async () => {
  // What stands left of the client's address is the client's own.
  const client = { "x-forwarded-for": "127.0.0.1, 203.0.113.9, 10.1.1.1", "x-parkade-address": "127.0.0.1" };
  const signed = await signIn(trusting, client);
  expect(signed.status).toBe(204);
  const headers = { ...client, cookie: signed.headers.getSetCookie()[0]!.split(";")[0]! };
  const sessions = await (await fetch(`${trusting}/account/sessions`, { headers })).json();
  expect(sessions.items[0]).toMatchObject({ current: true, address: "203.0.113.9" });
  const audit = await (await fetch(`${trusting}/audit?action=session.opened`, { headers })).json();
  expect(audit.items[0].after).toMatchObject({ address: "203.0.113.9" });

  const guess = (address: string) => signIn(trusting, { "x-forwarded-for": address }, "wrong words here");
  for (let n = 0; n < 5; n++) expect((await guess(`198.51.100.${n}, 203.0.113.10`)).status).toBe(401);
  await expectHeld("203.0.113.10");
  expect((await guess("198.51.100.9, 203.0.113.10")).status).toBe(429);
  expect((await signIn(trusting, { "x-forwarded-for": "203.0.113.11" })).status).toBe(204);
});

test("where no proxy is trusted this machine is open, and what was passed on is not", async () => {
  expect((await fetch(`${plain}/events`)).status).toBe(200);
  expect((await fetch(`${plain}/events`, { headers: { "x-parkade-address": "192.0.2.7" } })).status).toBe(200);
  for (const [name, value] of [
    ["x-forwarded-for", "127.0.0.1"],
    ["forwarded", "for=127.0.0.1"],
    ["via", "1.1 proxy"],
  ] as const)
    expect((await fetch(`${plain}/events`, { headers: { [name]: value } })).status).toBe(401);
});
