import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { OutboxPublisher } from "@/lib/kit/outbox/publisher";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { addChannel, CHANNELS, listDeliveries, removeChannel, testChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { addressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { parseNetworks } from "@/lib/platform/networks";
import { freePort } from "@/lib/testing/free-port";
import {
  type HookReceiver,
  type Received,
  startHookReceiver,
  startMailReceiver,
  startTokenServer,
} from "@/lib/testing/receivers";
import { TEST_PACES, worldOfEachTest } from "@/lib/testing/redrive-world";
import { startAlertPublisher } from "./alert-publisher";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const OAUTH = { url: "https://login.example/token", clientId: "parkade", clientSecret: "env:PARKADE_SECRET_A" };
const SECRET = `whsec_${Buffer.from("a secret of thirty-two bytes....").toString("base64")}`;

/** What a receiver is sent, as it reads it. */
// biome-ignore lint/suspicious/noExplicitAny: the receivers' documents say its shape.
type Json = any;
let receiver: HookReceiver;
let publisher: OutboxPublisher | null;
let variables: Record<string, string>;

beforeEach(async () => {
  publisher = null;
  receiver = await startHookReceiver();
  receiver.says = "no entry, password=super-secret-answer";
  const hook = `${receiver.url}/hook/T0/B0/xyz`;
  variables = { PARKADE_SECRET_SIGN: SECRET, PARKADE_SECRET_HOOK: hook, PARKADE_SECRET_KEY: "k-123" };
});
afterEach(async () => {
  await publisher?.stop();
  await receiver.stop();
});

function start(addresses = DEFAULT_ADDRESSES) {
  publisher = startAlertPublisher({
    paces: TEST_PACES,
    ...{ db: world.db, clock: world.deps.clock, random: Math.random, log: world.deps.log },
    ...{ addresses, secrets: { variables, listed: [] } },
  });
}

async function channel(name: string, config: object): Promise<void> {
  const request = channelRequestSchema.parse({ name, severities: ["critical", "warning", "info"], config });
  await addChannel({ ...world.deps, limits: world.deps.env }, request, ADA);
}
const send = (name: string) => testChannel(world.deps, { name, publicUrl: "https://parkade.example.com" }, ADA);
const deliveries = async (name: string) =>
  (await listDeliveries(world.db, ADA, { name, limit: 10, cursor: null })).items;

/** A rule that fires for three events of an error text full of markup, sent to all channels. */
async function fire(): Promise<void> {
  await world.db.run("delete from alert_rules");
  const links = [
    { label: "Logs [all]", kind: "logs", url: "https://kibana.example/app/discover#/?q={eventId}&a=(x|y)" },
    { label: "Trace", kind: "traces", url: "https://jaeger.example/trace/{traceId}" },
    { label: "Order", kind: "other", url: "https://shop.example/orders/{aggregateId}" },
  ];
  await world.db.run("update sources set links = $1::jsonb where name = 'orders'", [JSON.stringify(links)]);
  const watch = { kind: "new-group", atLeast: 3, quietMs: 3_600_000, runbookUrl: "https://runbooks.example.com/x" };
  await addAlertRule({ ...world.deps, expires: false }, alertRuleRequestSchema.parse({ name: "New", watch }), ADA);
  const error = { type: null, message: "<script>alert(1)</script> *bold* [a](http://evil.example) & |", stack: null };
  await world.park(3, (index) => ({ eventId: `e-${index}`, errorCode: "TIMEOUT", error }));
  await evaluateAlerts({ ...world.deps, publicUrl: "https://parkade.example.com" });
}

const one = async (): Promise<Received & { json: Json }> => {
  await expect.poll(() => receiver.got.length, { timeout: 10_000 }).toBeGreaterThan(0);
  return { ...receiver.got[0]!, json: JSON.parse(receiver.got[0]!.body) };
};
const TRACE_URL = "https://jaeger.example/trace/0af7651916cd43dd8448eb211c80319c";
const LOG_URL = "https://kibana.example/app/discover#/?q=e-2&a=(x%7Cy)";
const EVENT_LINK = /https:\/\/parkade\.example\.com\/events\/[0-9a-f-]{36}/;

describe("a message is what the receiver documents", () => {
  test("Slack: blocks in which nothing of an error text is markup", async () => {
    await channel("chat", { kind: "slack", url: "env:PARKADE_SECRET_HOOK" });
    await fire();
    start();
    const { url, json } = await one();
    expect(url).toBe("/hook/T0/B0/xyz");
    const text = JSON.stringify(json.blocks);
    expect(json.text).toMatch(/^New group in orders/);
    expect(text).not.toMatch(/<script>|<\/script>|[^\u200b]\*bold\*[^\u200b]/);
    expect(text).toContain("&lt;script&gt;");
    expect(text).toMatch(EVENT_LINK);
    expect(text).toContain("|What to do>");
    expect(text).toContain(`<${TRACE_URL}|Trace> · <${LOG_URL.replace("&", "&amp;")}|Logs [all]>`);
    for (const { type, text: of } of json.blocks)
      if (type === "section") expect([...of.text].length).toBeLessThanOrEqual(3_000);
  });

  test("Alertmanager: labels that stay, and an end in the future", async () => {
    await channel("am", {
      kind: "alertmanager",
      url: `${receiver.url}/`,
      username: "parkade",
      password: "env:PARKADE_SECRET_KEY",
    });
    await fire();
    start();
    const { url, headers, json } = await one();
    expect(url).toBe("/api/v2/alerts");
    expect(headers.authorization).toBe(`Basic ${Buffer.from("parkade:k-123").toString("base64")}`);
    expect(json[0].labels).toMatchObject({ alertname: "New", severity: "warning", kind: "new-group", job: "parkade" });
    expect(json[0].annotations.description).toContain(`\n  Trace: ${TRACE_URL}\n`);
    expect(Date.parse(json[0].endsAt)).toBeGreaterThan(Date.now());
  });
});

describe("a receiver", () => {
  test("that is away is tried until it is back, and a message arrives with the id of its first try", async () => {
    let down = true;
    receiver.answer = () => (down ? 503 : 200);
    await channel("ops", { kind: "webhook", url: receiver.url });
    const id = await send("ops");
    start();
    await one();
    expect((await deliveries("ops"))[0]).toMatchObject({ state: "waiting", event: "test" });
    down = false;
    await expect.poll(async () => (await deliveries("ops"))[0]!.state, { timeout: 30_000 }).toBe("sent");
    expect(new Set(receiver.got.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([id]));
  });

  test("that never answers holds up no other", async () => {
    receiver.answer = ({ url }) => (url === "/hangs" ? null : 200);
    await channel("hangs", { kind: "webhook", url: `${receiver.url}/hangs` });
    await channel("well", { kind: "webhook", url: `${receiver.url}/well` });
    await send("hangs");
    await send("well");
    start();
    await expect
      .poll(() => receiver.got.map(({ url }) => url), { timeout: 10_000 })
      .toEqual(expect.arrayContaining(["/hangs", "/well"]));
    await send("well");
    await expect.poll(() => receiver.got.filter(({ url }) => url === "/well").length, { timeout: 20_000 }).toBe(2);
  });

  test("that is away keeps no turn from another, however many messages wait for it, and is named in its own log alone", async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    await channel("away", { kind: "webhook", url: away });
    await channel("also-away", { kind: "webhook", url: receiver.url });
    receiver.answer = ({ url }) => (url === "/well" ? 200 : 503);
    await channel("well", { kind: "webhook", url: `${receiver.url}/well` });
    // More than one claim holds.
    for (let count = 0; count < 60; count++) await send("away");
    await send("also-away");
    start();
    const errorOf = async (name: string) =>
      (await deliveries(name)).find(({ lastError }) => lastError)?.lastError ?? "";
    await expect.poll(() => errorOf("away"), { timeout: 10_000 }).toContain("fetch failed");
    await expect.poll(() => errorOf("also-away"), { timeout: 10_000 }).toContain("answered 503");
    await send("well");
    await expect.poll(async () => (await deliveries("well"))[0]!.state, { timeout: 10_000 }).toBe("sent");
  });

  test("of mail that is not there is named, tried again, and holds up no other", async () => {
    const gone = await startMailReceiver();
    await gone.stop();
    const mail = { kind: "email", server: gone.server, from: "parkade@example.com", to: ["ada@example.com"] };
    await channel("mail", mail);
    await channel("ops", { kind: "webhook", url: receiver.url });
    await send("mail");
    await send("ops");
    start();
    await one();
    await expect
      .poll(async () => (await deliveries("mail"))[0]!.lastError, { timeout: 10_000 })
      .toMatch(/127\.0\.0\.1:\d+/);
    expect((await deliveries("mail"))[0]!.state).toBe("waiting");
  });

  test("that refuses for good is named with what it said, and no address that is a secret", async () => {
    receiver.answer = () => 404;
    await channel("chat", { kind: "slack", url: "env:PARKADE_SECRET_HOOK" });
    await send("chat");
    start();
    await expect.poll(async () => (await deliveries("chat"))[0]!.state, { timeout: 10_000 }).toBe("failed");
    const [failed] = await deliveries("chat");
    expect(failed!.lastError).toMatch(/127\.0\.0\.1:\d+ answered 404/);
    expect(failed!.lastError).not.toMatch(/xyz|super-secret-answer/);
    expect(await CHANNELS.read(world.db, ADA, "chat")).toMatchObject({
      failed: 1,
      waiting: 0,
      lastError: failed!.lastError,
    });
  });

  test("whose secret is not set says which one, and waits for a worker that has it", async () => {
    delete variables.PARKADE_SECRET_HOOK;
    await channel("chat", { kind: "slack", url: "env:PARKADE_SECRET_HOOK" });
    await send("chat");
    start();
    await expect
      .poll(async () => (await deliveries("chat"))[0]!.lastError, { timeout: 10_000 })
      .toBe("PARKADE_SECRET_HOOK is not set for the worker");
    expect((await deliveries("chat"))[0]!.state).toBe("waiting");
    expect(receiver.got).toEqual([]);
  });

  test("whose variable holds no address to send to is told which one, and never the value", async () => {
    variables.PARKADE_SECRET_HOOK = "https://maria:xyz@ops.example.com/hook";
    await channel("chat", { kind: "slack", url: "env:PARKADE_SECRET_HOOK" });
    await send("chat");
    start();
    await expect.poll(async () => (await deliveries("chat"))[0]!.lastError, { timeout: 10_000 }).not.toBeNull();
    const { lastError } = (await deliveries("chat"))[0]!;
    expect(lastError).toContain(
      "PARKADE_SECRET_HOOK is not an address that messages can be sent to: it must not contain a user or",
    );
    expect(lastError).not.toContain("xyz");
  });

  test("gets no secret that is bound to another host, and no message, until it is let go there", async () => {
    variables.PARKADE_SECRET_KEY__HOSTS = "events.pagerduty.com";
    await channel("duty", { kind: "pagerduty", routingKey: "env:PARKADE_SECRET_KEY", url: receiver.url });
    await send("duty");
    start();
    await expect
      .poll(async () => (await deliveries("duty"))[0]!.lastError, { timeout: 10_000 })
      .toBe("PARKADE_SECRET_KEY may be sent only to events.pagerduty.com");
    expect(receiver.got).toEqual([]);
    variables.PARKADE_SECRET_KEY__HOSTS = "127.0.0.1";
    expect((await one()).json.routing_key).toBe("k-123");
  });

  test("at an address that may not be reached gets nothing, and no repeats", async () => {
    await channel("ops", { kind: "webhook", url: receiver.url });
    await send("ops");
    start(addressFilter({ refused: parseNetworks("127.0.0.0/8")!, allowed: null }));
    await expect.poll(async () => (await deliveries("ops"))[0]!.state, { timeout: 10_000 }).toBe("failed");
    expect((await deliveries("ops"))[0]!.lastError).toContain("PARKADE_REFUSED_ADDRESSES");
    expect(receiver.got).toEqual([]);
  });

  test("that takes a token has one with each message, and a refused one is replaced under the same id", async () => {
    const tokens = await startTokenServer();
    try {
      variables.PARKADE_SECRET_CLIENT = "s3cret";
      const oauth = { url: `${tokens.url}/token`, clientId: "parkade", clientSecret: "env:PARKADE_SECRET_CLIENT" };
      const give = tokens.answer;
      tokens.answer = () => 503;
      await channel("ops", { kind: "webhook", url: receiver.url, oauth });
      await channel("am", { kind: "alertmanager", url: `${receiver.url}/am`, oauth });
      const id = await send("ops");
      await send("am");
      start();
      const errorOf = async (name: string) => (await deliveries(name))[0]!.lastError;
      await expect.poll(() => errorOf("ops"), { timeout: 10_000 }).toMatch(/^no access token: .* answered 503$/);
      expect((await deliveries("ops"))[0]).toMatchObject({ state: "waiting", refusals: 0 });
      tokens.answer = () => {
        tokens.says = '{"error":"invalid_client"}';
        return 401;
      };
      // It waits: settings that are corrected in time lose no message.
      await expect.poll(() => errorOf("am"), { timeout: 10_000 }).toMatch(/oauth\.clientSecret/);
      expect((await deliveries("am"))[0]!.state).toBe("waiting");
      tokens.answer = give;
      receiver.answer = ({ headers }) => (headers.authorization === "Bearer token-1" ? 401 : 200);
      for (const name of ["ops", "am"])
        await expect.poll(async () => (await deliveries(name))[0]!.state, { timeout: 20_000 }).toBe("sent");
      const sent = receiver.got.filter(({ headers }) => headers["webhook-id"] === id);
      expect(sent.at(-1)!.headers.authorization).toBe("Bearer token-2");
      expect(receiver.got.map(({ headers }) => headers.authorization)).toContain("Bearer token-1");
      // Both channels are one client.
      expect(tokens.tokens).toEqual(["token-1", "token-2"]);

      receiver.answer = ({ headers }) => {
        receiver.says = `you sent ${headers.authorization}, that is ${headers.authorization!.slice(7)}`;
        return 403;
      };
      await send("ops");
      await expect.poll(async () => (await deliveries("ops"))[0]!.state, { timeout: 10_000 }).toBe("failed");
      expect(await errorOf("ops")).toMatch(/answered 403: you sent/);
      expect(await errorOf("ops")).not.toMatch(/token-\d/);
    } finally {
      await tokens.stop();
    }
  });

  test("of a deleted channel gets nothing of what waits", async () => {
    await channel("ops", { kind: "webhook", url: receiver.url });
    await send("ops");
    await removeChannel(world.deps, { name: "ops", reason: "gone" }, ADA);
    start();
    expect(await world.db.query("select 1 from alert_outbox")).toEqual([]);
  });
});

describe("a channel", () => {
  test("that holds a secret or no address is refused, and the value not repeated", async () => {
    for (const [config, field, words] of [
      [{ kind: "slack", url: "https://hooks.slack.com/services/T0/B0/xyz" }, "config.url", /env:NAME/],
      [{ kind: "webhook", url: "https://maria:pw@ops.example.com" }, "config.url", /a user or password/],
      [{ kind: "webhook", url: "ftp://ops.example.com" }, "config.url", /https:\/\//],
      [{ kind: "alertmanager", url: "http://am:9093", username: "a", password: "xyz" }, "config.password", /env:NAME/],
      [{ kind: "email", server: "mail.example.com", from: "a@b.c", to: ["a@b.c"] }, "config.server", /smtp:\/\//],
      [{ kind: "pagerduty", routingKey: "env:HOME" }, "config.routingKey", /./],
      [{ kind: "pagerduty", routingKey: "env:DATABASE_URL" }, "config.routingKey", /./],
      [
        { kind: "webhook", url: "http://ops", oauth: { ...OAUTH, clientSecret: "xyz" } },
        "config.oauth.clientSecret",
        /env:NAME/,
      ],
      [
        { kind: "webhook", url: "http://ops", oauth: { ...OAUTH, url: "http://169.254.169.254/" } },
        "config.oauth.url",
        /PARKADE_/,
      ],
      [
        { kind: "webhook", url: "http://ops", oauth: { ...OAUTH, url: "http://h/?token=xyz" } },
        "config.oauth.url",
        /env:/,
      ],
      [{ kind: "alertmanager", url: "http://am", username: "a", oauth: OAUTH }, "config.username", /remove one/],
      [{ kind: "webhook", url: "http://169.254.169.254/latest" }, "config.url", /./],
      [
        { kind: "email", server: "smtp://mail.example.com", username: "a", from: "a@b.c", to: ["a@b.c"] },
        "config.password",
        /./,
      ],
    ] as const) {
      const refused = await channel("x", config).catch((error: unknown) => error);
      expect(refused, JSON.stringify(config)).toMatchObject({
        code: "invalid-config",
        fields: [{ field, detail: expect.stringMatching(words) }],
      });
      expect((refused as Error).message).not.toMatch(/xyz|pw@/);
    }
  });

  test("takes no line break in an address, and no other kind", () => {
    const mail = { kind: "email", server: "smtp://mail.example.com", from: "a@b.c\r\nBcc: x@y.z", to: ["a@b.c"] };
    for (const config of [mail, { kind: "fax", number: "1" }])
      expect(channelRequestSchema.safeParse({ name: "x", config }).success).toBe(false);
  });
});
