import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { callerOf, type SignedInCall, setUpAda } from "@/lib/testing/signed-in";

/** PARKADE_PLAIN_SECRETS: where a person may give a secret as it is, and where by reference alone. */

let web: TestConsole;
const call = callerOf(() => web);
beforeEach(() => {
  process.env.PARKADE_SECRET_PLAIN_TEST = "Bearer fr0m-the-variable";
});
afterEach(async () => {
  Reflect.deleteProperty(process.env, "PARKADE_SECRET_PLAIN_TEST");
  await web.close();
});

const SECRET = "s3cr3t-that-was-typed";
const NAMED = "env:PARKADE_SECRET_PLAIN_TEST";
const URL_ = "http://127.0.0.1:9/events";
const source = (config: object, name = "orders") => ({ body: { name, kind: "http", config } });
const faultsOf = async (route: string, options: SignedInCall) => {
  const answer = await call<{ errors?: FieldError[] }>(route, options);
  expect(answer.text).not.toContain(SECRET);
  return [answer.status, ...(answer.body.errors ?? []).map(({ field }) => field)];
};
const stored = async () =>
  JSON.stringify(
    await Promise.all(
      ["sources", "targets", "alert_channels", "settings", "audit_entries"].map((table) =>
        web.deps.db.query(`select * from ${table}`),
      ),
    ),
  );

/** Each place in which a person gives a secret, with the field that must name it. */
const PLACES: [string, SignedInCall, string][] = [
  ["POST sources", source({ redriveUrl: `http://user:${SECRET}@127.0.0.1:9/` }), "config.redriveUrl"],
  ["POST sources", source({ redriveUrl: URL_, headers: { "x-api-key": SECRET } }), "config.headers.x-api-key"],
  ["POST sources", source({ signing: { scheme: "hmac", secret: SECRET } }), "config.signing.secret"],
  [
    "POST sources",
    source({ signedIntake: { scheme: "hmac", secrets: [NAMED, SECRET] } }),
    "config.signedIntake.secrets.1",
  ],
  ["POST sources", source({ redriveUrl: URL_, tls: { key: SECRET } }), "config.tls.key"],
  ["POST sources", source({ checkCall: { url: `${URL_}?token=${SECRET}` } }), "config.checkCall.url"],
  [
    "POST sources",
    { body: { name: "r", kind: "rabbitmq", config: { url: `amqp://me:${SECRET}@127.0.0.1:9/`, queue: "dlq" } } },
    "config.url",
  ],
  [
    "POST sources/probe",
    { body: { kind: "http", config: { redriveUrl: URL_, headers: { authorization: SECRET } } } },
    "config.headers.authorization",
  ],
  [
    "PATCH sources/{name}",
    { params: { name: "older" }, body: { config: { redriveUrl: URL_, headers: { cookie: SECRET } } } },
    "config.headers.cookie",
  ],
  [
    "POST sources/{name}/probe",
    { params: { name: "older" }, body: { config: { signing: { scheme: "hmac", secret: SECRET } } } },
    "config.signing.secret",
  ],
  [
    "POST sources/{name}/targets",
    {
      params: { name: "older" },
      body: { name: "t", reason: "audit", destination: { redriveUrl: URL_, headers: { "x-token": SECRET } } },
    },
    "destination.headers.x-token",
  ],
  [
    "PATCH targets/{name}",
    { params: { name: "named" }, body: { destination: { redriveUrl: `${URL_}?sig=${SECRET}` }, reason: "moved" } },
    "destination.redriveUrl",
  ],
  [
    "POST channels",
    { body: { name: "ops", config: { kind: "webhook", url: `${URL_}?token=${SECRET}` } } },
    "config.url",
  ],
  ["POST channels", { body: { name: "ops", config: { kind: "slack", url: `${URL_}/${SECRET}` } } }, "config.url"],
  ["PATCH settings", { body: { confirmedUrl: `${URL_}?token=${SECRET}`, reason: "told" } }, "confirmedUrl"],
];

test("a plain secret is refused at its field in every place, and leaves no trace; a reference is taken", async () => {
  web = await testConsole({ PARKADE_PLAIN_SECRETS: "refuse" });
  expect(
    (await call("POST sources", source({ redriveUrl: URL_, headers: { authorization: NAMED } }, "older"))).status,
  ).toBe(201);
  const target = {
    params: { name: "older" },
    body: { name: "named", reason: "audit", destination: { redriveUrl: URL_, headers: { "x-tenant": "acme" } } },
  };
  expect((await call("POST sources/{name}/targets", target)).status).toBe(201);
  for (const [route, options, field] of PLACES)
    expect([route, ...(await faultsOf(route, options))]).toEqual([route, 422, field]);
  expect(await stored()).not.toContain(SECRET);
  const { body } = await call<{ errors: FieldError[] }>("POST sources", PLACES[1]![1]);
  expect(body.errors[0]!.detail).toBe(
    "is a secret: give it as env:PARKADE_SECRET_NAME or file:/..., see docs/hardening.md#secrets",
  );
});

test("is refused from everybody where everybody signs in, unless the operator takes it", async () => {
  web = await testConsole({ PARKADE_SIGN_IN: "always" });
  const cookie = await setUpAda(web, call);
  const plain = { cookie, ...source({ redriveUrl: URL_, headers: { authorization: SECRET } }) };
  expect(await faultsOf("POST sources", plain)).toEqual([422, "config.headers.authorization"]);
  await web.close();
  web = await testConsole({ PARKADE_SIGN_IN: "always", PARKADE_PLAIN_SECRETS: "take" });
  expect(await faultsOf("POST sources", { ...plain, cookie: await setUpAda(web, call) })).toEqual([201]);
});

type Out = { plainSecrets: string[]; config: Record<string, unknown> };

test("one that was stored before is named, masked, sent as before, and survives an edit until a reference takes its place", async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const redriveUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
  // An older version, or an operator who took them.
  web = await testConsole({ PARKADE_PLAIN_SECRETS: "take" });
  const older = { redriveUrl, headers: { authorization: `Bearer ${SECRET}`, "x-tenant": "acme" } };
  const hook = { kind: "webhook", url: `${URL_}?token=${SECRET}` };
  expect(await faultsOf("POST sources", source(older))).toEqual([201]);
  const target = { name: "named", reason: "audit", destination: older };
  expect(await faultsOf("POST sources/{name}/targets", { params: { name: "orders" }, body: target })).toEqual([201]);
  expect(await faultsOf("POST channels", { body: { name: "ops", config: hook } })).toEqual([201]);
  expect(await faultsOf("PATCH settings", { body: { confirmedUrl: hook.url, reason: "told" } })).toEqual([200]);
  web.deps.env.plainSecretMode = "refuse";

  const params = { name: "orders" };
  const shown = (await call<Out>("GET sources/{name}", { params })).body;
  expect(shown.plainSecrets).toEqual(["config.headers.authorization"]);
  expect((await call<{ items: Out[] }>("GET sources")).body.items[0]!.plainSecrets).toEqual(shown.plainSecrets);
  const targets = (await call<{ items: Out[] }>("GET targets")).body.items.map(({ plainSecrets }) => plainSecrets);
  expect(targets.flat()).toEqual(["destination.headers.authorization"]);
  const channel = (await call<Out>("GET channels/{name}", { params: { name: "ops" } })).body;
  expect([channel.plainSecrets, channel.config.url]).toEqual([["config.url"], `${URL_}?token=***`]);

  const edit = (config: object) => faultsOf("PATCH sources/{name}", { params, body: { config } });
  expect(await edit({ ...shown.config, format: "cloudevents-binary" })).toEqual([200]);
  expect(await edit(older)).toEqual([200]);
  expect(
    await faultsOf("PATCH targets/{name}", {
      params: { name: "named" },
      body: { destination: { ...older, headers: shown.config.headers }, reason: "same" },
    }),
  ).toEqual([200]);
  const patch = { params: { name: "ops" }, body: { severities: ["critical"], config: channel.config } };
  expect(await faultsOf("PATCH channels/{name}", patch)).toEqual([200]);
  expect(await faultsOf("PATCH settings", { body: { confirmedUrl: hook.url, reason: "same" } })).toEqual([200]);
  expect(await stored()).toContain(`Bearer ${SECRET}`);
  const rows = await web.deps.db.query("select config from alert_channels union all select value from settings");
  expect(rows.map(({ config }) => config)).toEqual([hook, hook.url]);
  expect(JSON.stringify(await web.deps.db.query("select before, after from audit_entries"))).not.toContain(SECRET);

  const probed = await call<{ reachable: boolean }>("POST sources/{name}/probe", { params, method: "POST" });
  expect([probed.status, probed.body.reachable, seen[0]]).toEqual([200, true, `Bearer ${SECRET}`]);
  expect(await edit({ ...older, headers: { authorization: NAMED } })).toEqual([200]);
  expect((await call<Out>("GET sources/{name}", { params })).body.plainSecrets).toEqual([]);
  expect(await edit(older)).toEqual([422, "config.headers.authorization"]);
  await new Promise((resolve) => server.close(resolve).closeAllConnections());
});
