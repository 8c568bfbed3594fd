import type { GroupList } from "../lib/events/events.shapes.ts";
import type { AlertList } from "../lib/observe/alerts/alerts.shapes.ts";
import type { AlertRuleList } from "../lib/observe/alerts/rules/alert-rules.shapes.ts";
import {
  type HookReceiver,
  type MailReceiver,
  startHookReceiver,
  startMailReceiver,
} from "../lib/testing/receivers.ts";
import { violations } from "./support/axe.ts";
import { because, expect, numbered, test, toast } from "./support/parkade.ts";

type Told = { type: string; data: { sentence: string; alerts: { url: string; source: string }[] } };

let receiver: HookReceiver;
let mailbox: MailReceiver;

test.beforeEach(async () => {
  [receiver, mailbox] = [await startHookReceiver(), await startMailReceiver()];
});
test.afterEach(async () => {
  await receiver.stop();
  await mailbox.stop();
});

const told = () => receiver.got.map(({ body }) => JSON.parse(body) as Told);
/** Alerts are evaluated every 10 s, which no setting shortens: a journey waits for two or three evaluations. */
const TOLD = { timeout: 40_000 };

test("a failing consumer makes a group, its alert comes by webhook and mail, and ends with a redrive", async ({
  page,
  parkade,
  request,
}) => {
  test.slow();
  const source = await parkade.source("alarm");
  // The rule of the first start ends an alert after a minute without its cause.
  const rules = (await (await request.get("/api/v1/alert-rules?limit=100")).json()) as AlertRuleList;
  const rule = rules.items.find(({ name }) => name === "New group")!;
  const watch = { ...rule.watch, clearMs: 0 };
  expect((await request.patch(`/api/v1/alert-rules/${rule.id}`, { data: { watch } })).ok()).toBe(true);

  await page.goto("/alerts/channels");
  await page.getByRole("button", { name: "Add a channel…" }).click();
  const adding = page.getByRole("dialog", { name: "Add a channel" });
  await adding.getByRole("button", { name: "Add the channel" }).click();
  await expect(adding.getByText("must not be empty").first()).toBeVisible();
  await adding.getByRole("textbox", { name: "name" }).fill(`hook-${source.name}`);
  await adding.getByRole("textbox", { name: "address" }).fill(`${receiver.url}/alerts`);
  await adding.getByRole("textbox", { name: "Sources" }).fill(source.name);
  await adding.getByRole("button", { name: "Add the channel" }).click();
  await expect(toast(page, `Added hook-${source.name}`)).toBeVisible();
  const channel = page
    .getByRole("listitem")
    .filter({ has: page.getByRole("heading", { name: `hook-${source.name}` }) });
  await channel.getByRole("button", { name: "Send a test" }).click();
  await expect(channel.getByRole("list", { name: `Messages to hook-${source.name}` })).toContainText("sent", TOLD);
  expect(told().map(({ type }) => type)).toEqual(["alert.test"]);
  const mail = {
    kind: "email",
    server: mailbox.server,
    from: "parkade@example.com",
    to: ["ada@example.com"],
  };
  const added = await request.post("/api/v1/channels", {
    data: { name: `mail-${source.name}`, sources: [source.name], config: mail },
  });
  expect(added.status()).toBe(201);

  const error = { type: "CurrencyError", message: `no price in ${source.name} for XAU` };
  await source.park(numbered("p", 6).map((event) => ({ ...event, errorCode: "CONFIG_ERROR", error })));
  const fired = () =>
    told().filter(({ type, data }) => type === "alert.fired" && data.alerts[0]!.source === source.name);
  await expect.poll(() => fired().length, TOLD).toBe(1);
  await expect.poll(() => mailbox.mails.length, TOLD).toBe(1);
  expect(fired()[0]!.data.sentence).toContain(`New group in ${source.name}: CONFIG_ERROR`);
  expect(mailbox.mails[0]).toMatch(/^From: parkade@example\.com/m);

  const { pathname, search } = new URL(fired()[0]!.data.alerts[0]!.url);
  expect([pathname.split("/")[1], search]).toEqual(["groups", `?source=${source.name}`]);
  await page.goto(pathname + search);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("CONFIG_ERROR");
  await expect(page.getByRole("main")).toContainText("new");
  await expect(page.getByRole("region", { name: "Sample event" })).toContainText(`no price in ${source.name} for XAU`);
  await expect(page.getByRole("link", { name: /^Alerts: \d+ firing, / })).toBeVisible();
  expect(await violations(page)).toEqual([]);
  const about = page.getByRole("region", { name: "Alerts" });
  await about.getByRole("link", { name: "New group" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText(`New group in ${source.name}`);
  await expect(page.getByRole("region", { name: "Sample events" }).getByRole("link", { name: /^p-/ })).toHaveCount(3);
  await page.getByRole("link", { name: "view group" }).click();
  // The page of the alert has such a button, too.
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("CONFIG_ERROR");
  await page.getByRole("button", { name: "Acknowledge…" }).click();
  const acknowledging = page.getByRole("dialog", { name: "Acknowledge 1 alert?" });
  await because(acknowledging, "asked the pricing team", "Acknowledge");
  await expect(about).toContainText("firing, acknowledged by");

  await page.getByRole("button", { name: "Redrive 6", exact: true }).click();
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 6 });
  const ended = () =>
    told().filter(({ type, data }) => type === "alert.resolved" && data.sentence.includes(source.name));
  await expect.poll(() => ended().length, TOLD).toBe(1);
  await expect(about).toContainText("resolved, acknowledged by");
  expect(fired()).toHaveLength(1);
  await expect.poll(() => mailbox.mails.length, TOLD).toBe(2);
});

const letters = (count: number, alphabet: string) =>
  Array.from({ length: count }, () => alphabet[Math.floor(Math.random() * alphabet.length)]).join("");

test("1,000 events of one outage are one group and one alert, and one press redrives them", async ({
  page,
  parkade,
  request,
}) => {
  const source = await parkade.source("outage", { ratePerSecond: 1_000 });
  await source.park(
    numbered("o", 1_000).map((event) => {
      const pod = `orders-7d${letters(8, "bcdf456789")}-${letters(4, "bcdfghjk2456789")}7`;
      const reference = `Q${letters(4, "ABCDEFGHJK23456789")}7`;
      const message = `no answer from ${pod}:8080 for ${reference}, /products/${letters(5, "aeioutr")}-${letters(6, "mnopqrstu")}`;
      return { ...event, errorCode: "TIMEOUT", error: { message } };
    }),
  );
  const groups = async () =>
    ((await (await request.get(`/api/v1/groups?source=${source.name}`)).json()) as GroupList).items;
  const alerts = async () =>
    ((await (await request.get(`/api/v1/alerts?source=${source.name}`)).json()) as AlertList).items;
  expect(await groups()).toMatchObject([{ counts: { PENDING: 1_000 } }]);
  await expect.poll(async () => (await alerts()).length, TOLD).toBe(1);

  await page.goto(`/groups/${(await groups())[0]!.fingerprint}`);
  await page.getByRole("button", { name: "Redrive 1,000", exact: true }).click();
  await expect.poll(async () => (await groups())[0]?.counts.REDRIVEN).toBe(1_000);
  expect(await alerts()).toHaveLength(1);
});

test("a rule is tried against the past while it is typed, added, switched off and deleted", async ({
  page,
  request,
  parkade,
}) => {
  const source = await parkade.source("ruled");
  const hook = { kind: "webhook", url: "http://127.0.0.1:9/hook" };
  const channel = { name: `of-${source.name}`, severities: ["warning"], sources: [source.name], config: hook };
  expect((await request.post("/api/v1/channels", { data: channel })).status()).toBe(201);
  await source.park(numbered("r", 4));
  await page.goto("/alerts/rules");
  await page.getByRole("button", { name: "Add a rule…" }).click();
  const adding = page.getByRole("dialog", { name: "Add a rule" });
  await adding.getByRole("combobox", { name: "Watch" }).selectOption("Parked events above a number");
  await adding.getByRole("textbox", { name: "more than (events)" }).fill("3");
  await adding.getByRole("textbox", { name: "sources" }).fill(`${source.name}x`);
  await expect(adding).toContainText(`is ${source.name} meant?`);
  await adding.getByRole("textbox", { name: "sources" }).fill(source.name);
  await expect(adding).toContainText("1 alert would fire now");
  await expect(adding).toContainText(`${source.name}: 4 events are parked, the limit is 3`);
  await expect(adding.getByText(/^Sent to /)).toContainText(`of-${source.name} (${source.name})`);
  await adding.getByRole("button", { name: "Add the rule" }).click();
  await expect(adding).toContainText("must not be empty");
  await adding.getByRole("textbox", { name: "name" }).fill(`Size of ${source.name}`);
  await adding.getByRole("button", { name: "Add the rule" }).click();
  await expect(toast(page, `Added Size of ${source.name}`)).toBeVisible();
  const rule = page
    .getByRole("listitem")
    .filter({ has: page.getByRole("heading", { name: `Size of ${source.name}` }) });
  await expect(rule.getByRole("link", { name: "1 firing" })).toBeVisible(TOLD);

  await rule.getByRole("button", { name: "Switch off…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Switch off" }).click();
  await expect(rule).toContainText("off");
  await expect(rule.getByRole("link", { name: "1 firing" })).toBeHidden();
  await rule.getByRole("button", { name: "Delete…" }).click();
  const deleting = page.getByRole("dialog");
  await because(deleting, "tried", "Delete");
  await expect(rule).toBeHidden();
});
