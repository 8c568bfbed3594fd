import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import type { AlertRuleList } from "../lib/observe/alerts/rules/alert-rules.shapes.ts";
import { violations } from "./support/axe.ts";
import { expect, numbered, test, toast } from "./support/parkade.ts";

type Told = { type: string; data: { sentence: string; alerts: { url: string; source: string }[] } };

let hooks: Told[];
let mails: string[];
let receiver: Server;
let smtp: SMTPServer;

test.beforeEach(async () => {
  [hooks, mails] = [[], []];
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      hooks.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200).end();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"] },
    onData: (stream, _, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve));
});
test.afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await new Promise<void>((resolve) => smtp.close(resolve));
});

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
/** More than one evaluation and one send take, on a busy machine. */
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
  await page.getByRole("button", { name: "Add a channel…" }).first().click();
  const adding = page.getByRole("dialog", { name: "Add a channel" });
  await adding.getByRole("button", { name: "Add the channel" }).click();
  await expect(adding.getByText("must not be empty").first()).toBeVisible();
  await adding.getByRole("textbox", { name: "name" }).fill(`hook-${source.name}`);
  await adding.getByRole("textbox", { name: "address" }).fill(`http://127.0.0.1:${portOf(receiver)}/alerts`);
  await adding.getByRole("textbox", { name: "of the sources" }).fill(source.name);
  expect(await violations(page)).toEqual([]);
  await adding.getByRole("button", { name: "Add the channel" }).click();
  await expect(toast(page, `Added hook-${source.name}`)).toBeVisible();
  const channel = page
    .getByRole("listitem")
    .filter({ has: page.getByRole("heading", { name: `hook-${source.name}` }) });
  await channel.getByRole("button", { name: "Send a test" }).click();
  await expect(channel.getByRole("list", { name: `Messages to hook-${source.name}` })).toContainText("sent", TOLD);
  expect(hooks.map(({ type }) => type)).toEqual(["alert.test"]);
  const mail = {
    kind: "email",
    server: `smtp://127.0.0.1:${portOf(smtp.server)}`,
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
    hooks.filter(({ type, data }) => type === "alert.fired" && data.alerts[0]!.source === source.name);
  await expect.poll(() => fired().length, TOLD).toBe(1);
  await expect.poll(() => mails.length, TOLD).toBe(1);
  expect(fired()[0]!.data.sentence).toContain(`New group in ${source.name}: CONFIG_ERROR`);
  expect(mails[0]).toMatch(/^From: parkade@example\.com/m);

  await page.goto(new URL(fired()[0]!.data.alerts[0]!.url).pathname);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(`New group in ${source.name}`);
  await expect(page.getByRole("region", { name: "Sample events" }).getByRole("link", { name: /^p-/ })).toHaveCount(3);
  await expect(page.getByRole("link", { name: /^Alerts: \d+ fires?, / })).toBeVisible();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Acknowledge…" }).click();
  const acknowledging = page.getByRole("dialog", { name: "Acknowledge 1 alert?" });
  await acknowledging.getByRole("textbox", { name: "Reason" }).fill("asked the pricing team");
  await acknowledging.getByRole("button", { name: "Acknowledge" }).click();
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("asked the pricing team");

  await parkade.redriveAll(source.name);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 6 });
  const ended = () =>
    hooks.filter(({ type, data }) => type === "alert.resolved" && data.sentence.includes(source.name));
  await expect.poll(() => ended().length, TOLD).toBe(1);
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("its cause has ended");
  expect(fired()).toHaveLength(1);
  await expect.poll(() => mails.length, TOLD).toBe(2);
});

test("a rule is tried against the past while it is typed, added, switched off and deleted", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("ruled");
  await source.park(numbered("r", 4));
  await page.goto("/alerts/rules");
  await page.getByRole("button", { name: "Add a rule…" }).first().click();
  const adding = page.getByRole("dialog", { name: "Add a rule" });
  await adding.getByRole("combobox", { name: "watches" }).selectOption("Parked events above a number");
  await adding.getByRole("textbox", { name: "more than (events)" }).fill("3");
  await adding.getByRole("textbox", { name: "sources" }).fill(`${source.name}x`);
  await expect(adding).toContainText(`is ${source.name} meant?`);
  await adding.getByRole("textbox", { name: "sources" }).fill(source.name);
  await expect(adding).toContainText("1 alert of it would fire now");
  await expect(adding).toContainText(`${source.name}: 4 events are parked, the limit is 3`);
  expect(await violations(page)).toEqual([]);
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
  await deleting.getByRole("textbox", { name: "Reason" }).fill("tried");
  await deleting.getByRole("button", { name: "Delete" }).click();
  await expect(rule).toBeHidden();
});
