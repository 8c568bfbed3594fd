import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as testRoute from "@/app/(observe)/api/v1/channels/[name]/test/route";
import * as channelsRoute from "@/app/(observe)/api/v1/channels/route";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { OutboxPublisher } from "@/lib/kit/outbox/publisher";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { addAlertRule } from "@/lib/observe/alerts/rules/alert-rules";
import { alertRuleRequestSchema } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { createLog } from "@/lib/platform/log";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { describeWith } from "@/lib/testing/describe-with";
import { freePort } from "@/lib/testing/free-port";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { type HookReceiver, type Received, startHookReceiver, startMailReceiver } from "@/lib/testing/receivers";
import { TEST_PACES } from "@/lib/testing/redrive-world";
import { answersHttp, testServer } from "@/lib/testing/server-process";
import { startAlertPublisher } from "./alert-publisher";

/**
 * The commands of docs/channels.md, as they stand there: each channel gets a test, an alert and its end. The receivers
 * refuse what their documentation refuses.
 */

// biome-ignore lint/suspicious/noExplicitAny: the receivers' documents say its shape.
type Json = any;
type Fault = string | false;
const PUBLIC_URL = "https://parkade.example.com";
const ADA = localViewer("ada");
const DOC = readFileSync(join(import.meta.dirname, "../docs/channels.md"), "utf8");
const SECRET = "s3cret-value-of-the-channel";

let parkade: TestConsole;
let receiver: HookReceiver;
let publisher: OutboxPublisher;
let variables: Record<string, string>;
let logged: string;

beforeEach(async () => {
  parkade = await testConsole({ PARKADE_PUBLIC_URL: PUBLIC_URL, PARKADE_SIGN_IN: "elsewhere" });
  receiver = await startHookReceiver();
  receiver.says = `{"echo":"${SECRET}"}`;
  logged = "";
  const write = (line: string) => {
    logged += line;
  };
  const log = createLog({ level: "trace", process: "test", destination: { write } });
  variables = {};
  publisher = startAlertPublisher({
    paces: TEST_PACES,
    ...{ db: parkade.deps.db, clock: parkade.deps.clock, random: Math.random, log },
    ...{ addresses: DEFAULT_ADDRESSES, secrets: { variables, listed: [] } },
  });
});
afterEach(async () => {
  await publisher.stop();
  await receiver.stop();
  await parkade.close();
});

/** The body of the command under a heading. */
function recipeOf(kind: string): Json {
  const section = DOC.split(/^## /m).find((part) => part.startsWith(`${kind}\n`))!;
  return JSON.parse(/api\/v1\/channels -H 'content-type: application\/json' -d '([^']+)'/.exec(section)![1]!);
}

/** Runs the recipe. `at`: where the receiver listens here, in place of the address of the page. */
async function follow(kind: string, at: object): Promise<string> {
  const recipe = recipeOf(kind);
  const named = Object.values<unknown>(recipe.config).flatMap((value) => /^env:(\w+)$/.exec(String(value))?.[1] ?? []);
  for (const name of named) variables[name] = name.match(/SLACK|TEAMS/) ? `${receiver.url}/hook/${SECRET}` : SECRET;
  if (kind === "webhook") variables[named[0]!] = `whsec_${Buffer.from(SECRET.padEnd(32, ".")).toString("base64")}`;
  const body = { ...recipe, config: { ...recipe.config, ...at } };
  expect(body.config.kind).toBe(kind);
  expect((await parkade.call(channelsRoute.POST, { body })).status).toBe(201);
  return recipe.name;
}

const HOSTILE = "txt \u202egnp.exe\u200b <script>alert(1)</script> *b* [a](http://evil.example) & | \u2066";

/** Says a test, an alert with hostile texts, and its end. */
async function tellAll(name: string, whileFiring = async () => {}): Promise<void> {
  const { deps } = parkade;
  const evaluate = () => evaluateAlerts({ ...deps, publicUrl: PUBLIC_URL });
  await addSource(deps.db, "orders");
  await deps.db.run("delete from alert_rules");
  const links = [
    { label: "Trace [all]", kind: "traces", url: "https://jaeger.example/trace/{traceId}?a=(x|y)" },
    { label: "Order", kind: "other", url: "https://shop.example/orders/{aggregateId}" },
  ];
  await deps.db.run("update sources set links = $1::jsonb", [JSON.stringify(links)]);
  const runbookUrl = "https://runbooks.example.com/x";
  const watch = { kind: "new-group", atLeast: 3, quietMs: 3_600_000, clearMs: 0, runbookUrl };
  await addAlertRule(
    { ...deps, expires: false },
    alertRuleRequestSchema.parse({ name: "New", severity: "critical", watch }),
    ADA,
  );
  expect((await parkade.call(testRoute.POST, { method: "POST", params: { name } })).status).toBe(202);
  // Messages of different records are sent in any order.
  await allSent();
  const error = { type: null, message: HOSTILE, stack: null };
  const letter = (index: number) =>
    deadLetter({ eventId: `e-\u202e${index}`, aggregateId: null, errorCode: `C\u202e${"x".repeat(10_000)}`, error });
  await parkEvents(
    deps,
    [0, 1, 2].map((index) => ({ source: "orders", letter: letter(index) })),
    ADA,
  );
  expect(await evaluate()).toMatchObject({ fired: 1, messages: 1 });
  await allSent();
  await whileFiring();
  await ignoreEvents(deps, { select: { filter: {} }, reason: "fixed" }, ADA);
  expect(await evaluate()).toMatchObject({ resolved: 1, messages: 1 });
  await allSent();
}

async function allSent(): Promise<void> {
  const open = () => parkade.deps.db.query("select status, last_error from alert_outbox where status <> 'SENT'");
  await expect.poll(open, { timeout: 20_000 }).toEqual([]);
}

const got = (): Json[] => receiver.got.map(({ body }) => JSON.parse(body));
/** These events have no aggregate, which the second link of the source would need. */
const TRACE_URL = "https://jaeger.example/trace/0af7651916cd43dd8448eb211c80319c?a=(x%7Cy)";
const EVENT_LINK = /https:\/\/parkade\.example\.com\/events\/[0-9a-f-]{36}/;

/** What holds for each format: no character that turns or hides text, sample and runbook linked, the secret nowhere. */
async function expectSafe(fired: string): Promise<void> {
  expect(fired).not.toMatch(/[\u202a-\u202e\u2066-\u2069\ufeff]/);
  expect(fired).toContain("⟨202E⟩");
  expect(fired).toMatch(EVENT_LINK);
  expect(fired).toContain(`${PUBLIC_URL}/`);
  expect(fired).toMatch(/runbook/i);
  expect(fired.length).toBeLessThan(20_000);
  const { db } = parkade.deps;
  const tables = await db.query<{ text: string }>(
    `select coalesce(convert_from(payload, 'UTF8'), '') || coalesce(last_error, '') || headers::text as text from alert_outbox
      union all select config::text from alert_channels union all select evidence::text || sentence from alerts
      union all select coalesce(before::text, '') || coalesce(after::text, '') from audit_entries`,
  );
  expect(tables.length).toBeGreaterThan(4);
  expect(tables.map(({ text }) => text).join("")).not.toContain(SECRET);
  expect(logged).not.toContain(SECRET);
}

/** Answers 400 with the first thing that a request gets wrong, as the real receiver does. */
function refusing(faults: (json: Json, request: Received) => Fault[]): void {
  receiver.answer = (request) => {
    const found = faults(JSON.parse(request.body), request).filter((fault) => fault !== false);
    if (found.length > 0) receiver.says = found.join("; ");
    return found.length > 0 ? 400 : 202;
  };
}
const characters = (text: unknown) => [...String(text)].length;
const card = (message: Json): Json[] => message.attachments[0].content.body;
const lacks = (json: Json, ...names: string[]): Fault[] =>
  names.map((name) => (json?.[name] === undefined || json[name] === "") && `${name} is missing`);

test("webhook: Standard Webhooks", async () => {
  refusing((json, { headers }) => [
    ...lacks(json, "type", "timestamp", "data"),
    ...lacks(headers, "webhook-id", "webhook-timestamp", "webhook-signature"),
  ]);
  await tellAll(await follow("webhook", { url: `${receiver.url}/alerts` }));
  const [, { data }] = got();
  expect(got().map(({ type }) => type)).toEqual(["alert.test", "alert.fired", "alert.resolved"]);
  expect(data).toMatchObject({ rule: "New", severity: "critical", firing: 1 });
  expect(data.alerts[0].samples).toHaveLength(3);
  expect(data.alerts[0].samples[0].links).toEqual([{ label: "Trace [all]", url: TRACE_URL }]);
  const { headers, body } = receiver.got[1]!;
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const signature = createHmac("sha256", SECRET.padEnd(32, ".")).update(signed).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
  await expectSafe(body);
});

test("Slack: blocks within the limits of Block Kit", async () => {
  // https://docs.slack.dev/reference/block-kit/blocks
  refusing((json) => [
    ...lacks(json, "text", "blocks"),
    json.blocks.length > 50 && "more than 50 blocks",
    ...json.blocks.flatMap(({ type, text, elements }: Json): Fault[] => [
      !["section", "context"].includes(type) && `no such block here: ${type}`,
      type === "section" &&
        !(text.type === "mrkdwn" && characters(text.text) <= 3_000 && text.text !== "") &&
        "section",
      type === "context" && !(elements.length >= 1 && elements.length <= 10) && "context",
    ]),
  ]);
  await tellAll(await follow("slack", {}));
  expect(got()[2].text).toMatch(/^Resolved: /);
  await expectSafe(receiver.got[1]!.body);
  expect(receiver.got[1]!.body).not.toContain("<script>");
});

test("Teams: an Adaptive Card", async () => {
  // https://adaptivecards.io/explorer/AdaptiveCard.html, and 28 KB for a message
  refusing((json, { body }) => {
    const [attachment] = json.attachments ?? [];
    const card = attachment?.content;
    return [
      json.type !== "message" && "type",
      attachment?.contentType !== "application/vnd.microsoft.card.adaptive" && "contentType",
      ...lacks(card, "type", "version", "body"),
      Buffer.byteLength(body) > 28 * 1024 && "larger than 28 KB",
      ...(card?.body ?? []).flatMap((item: Json): Fault[] => [
        item.type !== "TextBlock" && "item",
        ...lacks(item, "text"),
      ]),
      ...(card?.actions ?? []).flatMap((action: Json): Fault[] => [
        action.type !== "Action.OpenUrl" && "action",
        ...lacks(action, "title", "url"),
      ]),
    ];
  });
  await tellAll(await follow("teams", {}));
  expect(JSON.stringify(got()[2])).toContain("Resolved: ");
  await expectSafe(receiver.got[1]!.body);
  expect(receiver.got[1]!.body).not.toContain("[a](http");
  expect(
    card(got()[1])
      .map(({ text }: Json) => text)
      .join("\n"),
  ).toContain(`[Trace \\[all\\]](${TRACE_URL.replace(")", "%29")})`);
});

test("PagerDuty: trigger and resolve of the Events API v2", async () => {
  // https://developer.pagerduty.com/docs/send-alert-event
  refusing((json) => [
    ...lacks(json, "routing_key", "event_action"),
    json.event_action !== "trigger" && !json.dedup_key && "dedup_key is missing",
    characters(json.dedup_key ?? "") > 255 && "dedup_key is too long",
    ...(json.event_action === "trigger" ? lacks(json.payload, "summary", "source", "severity") : []),
    json.payload !== undefined && characters(json.payload.summary) > 1_024 && "summary is too long",
    json.payload !== undefined &&
      !["critical", "error", "warning", "info"].includes(json.payload.severity) &&
      "severity is unknown",
  ]);
  await tellAll(await follow("pagerduty", { url: `${receiver.url}/v2/enqueue` }));
  const [tested, fired, resolved] = got();
  expect([tested.event_action, fired.event_action, resolved.event_action]).toEqual(["trigger", "trigger", "resolve"]);
  expect(resolved.dedup_key).toBe(fired.dedup_key);
  expect(tested.dedup_key).not.toBe(fired.dedup_key);
  expect(fired).toMatchObject({
    routing_key: SECRET,
    client: "Parkade",
    payload: { source: "orders", severity: "critical" },
  });
  expect(fired.links.map(({ href }: Json) => href)).toContain(TRACE_URL);
  await expectSafe(receiver.got[1]!.body);
});

test("e-mail: to a real SMTP server, as one thread", async () => {
  const mailbox = await startMailReceiver();
  try {
    await tellAll(await follow("email", { server: mailbox.server }));
    const decoded = mailbox.mails.map((mail) =>
      Buffer.from(
        mail
          .replace(/=\r?\n/g, "")
          .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
        "latin1",
      ).toString("utf8"),
    );
    expect(decoded).toHaveLength(3);
    const threads = mailbox.mails.slice(1).map((mail) => /^In-Reply-To:\s*(\S+)/im.exec(mail)![1]);
    expect(new Set(threads).size).toBe(1);
    expect(decoded[2]).toContain("Resolved");
    await expectSafe(decoded[1]!);
    expect(decoded[1]).toContain("&lt;script&gt;");
    expect(decoded[1]).toContain(`<a href="${TRACE_URL}">Trace [all]</a>`);
    expect(mailbox.mails[1]).toMatch(/^Auto-Submitted: auto-generated\r?$/im);
  } finally {
    await mailbox.stop();
  }
});

const command = ["prometheus-alertmanager", "alertmanager"].find((name) => spawnSync(name, ["--version"]).status === 0);

describeWith(command === undefined ? "Alertmanager is not installed" : null, "a real Alertmanager", () => {
  test("takes the alert, and drops it when it is resolved", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = await testServer("alertmanager", async (folder) => {
      const config = join(folder, "alertmanager.yml");
      writeFileSync(config, "route: { receiver: none }\nreceivers: [{ name: none }]\n");
      const listen = [`--web.listen-address=127.0.0.1:${port}`, "--cluster.listen-address="];
      return {
        ...{ command: command!, args: [`--config.file=${config}`, `--storage.path=${folder}`, ...listen] },
        ready: () => answersHttp(`${url}/-/ready`),
      };
    });
    try {
      const active = async (): Promise<Json[]> => {
        const alerts: Json[] = await (await fetch(`${url}/api/v2/alerts`)).json();
        return alerts.filter(({ labels }) => labels.alertname === "New");
      };
      await tellAll(await follow("alertmanager", { url }), async () => {
        await expect.poll(async () => (await active()).length).toBe(1);
        const [alert] = await active();
        expect(alert.labels).toMatchObject({ severity: "critical", kind: "new-group", job: "parkade" });
        expect(alert.status.state).toMatch(/active|unprocessed/);
        await expectSafe(JSON.stringify(alert));
      });
      await expect.poll(active).toEqual([]);
    } finally {
      await server.stop();
    }
  });
});
