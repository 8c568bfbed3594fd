import type { Page } from "@playwright/test";
import type { ConfirmChannel } from "amqplib";
import { rabbitmqMissing, type TestRabbitmq, testRabbitmq } from "../lib/testing/rabbitmq.ts";
import { violations } from "./support/axe.ts";
import { expect, test, toast } from "./support/parkade.ts";

const dialog = (page: Page) => page.getByRole("dialog");

/** The state of the source as its page heads it. */
const state = (page: Page) =>
  page
    .getByRole("banner")
    .or(page.locator("header"))
    .filter({ has: page.getByRole("heading", { level: 1 }) });

async function choose(page: Page, name: string, entry: string): Promise<void> {
  await page.getByRole("button", { name: `More for ${name}` }).click();
  await page.getByRole("menuitem", { name: entry }).click();
}

test.describe("a source of a real broker", () => {
  test.skip(rabbitmqMissing !== null, rabbitmqMissing ?? "");
  let rabbit: TestRabbitmq;
  test.beforeAll(async () => {
    test.setTimeout(180_000);
    rabbit = await testRabbitmq();
  });
  test.afterAll(() => rabbit?.stop());

  // Takes 30 to 40 s: a real broker starts in 5 s, and workers follow each of five changes of state within 2 s.
  test("is connected, corrected, mapped, read, paused, drained and stopped", async ({ page }) => {
    test.slow();
    const queue = `orders.dlq.${Date.now()}`;
    const name = `rabbit-${Date.now() % 1e8}`;
    const connection = await rabbit.connect();
    const channel: ConfirmChannel = await connection.createConfirmChannel();
    await channel.assertQueue(queue, { durable: true });
    const publish = async (number: number) => {
      const body = JSON.stringify({ order: { number: `order-${number}` }, password: "hunter2" });
      const headers = { "x-error-code": "TIMEOUT", "x-tenant": "north" };
      channel.sendToQueue(queue, Buffer.from(body), { messageId: `m-${number}`, headers, persistent: true });
      await channel.waitForConfirms();
    };
    for (const number of [1, 2, 3]) await publish(number);

    // A kind, its connection with a wrong password, and what the probe says of it.
    await page.goto("/sources");
    await page.getByRole("button", { name: "Connect a source…" }).first().click();
    await dialog(page)
      .getByRole("button", { name: /^RabbitMQ/ })
      .click();
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await expect(dialog(page).getByText("Required.").first()).toBeVisible();
    const address = new URL(rabbit.url);
    address.username = "guest";
    address.password = "wrong-password";
    await dialog(page).getByLabel("Broker URL").fill(address.href);
    await dialog(page).getByLabel("Dead-letter queue").fill(queue);
    await dialog(page).getByRole("button", { name: "Probe" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("not reached");
    await expect(dialog(page).getByRole("status")).toContainText(/check the user and the password/);
    // The answer belongs to the address, and stands beside it.
    await expect(dialog(page).getByLabel("Broker URL")).toBeInViewport();
    await expect(dialog(page).getByRole("status")).toBeInViewport();
    await dialog(page).getByRole("button", { name: "Continue anyway" }).click();
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByLabel("Name").fill(name);
    await dialog(page)
      .getByRole("radio", { name: /^Yes: it honours/ })
      .check();
    await dialog(page).getByRole("button", { name: "Connect", exact: true }).click();
    await expect(toast(page, `Connected ${name}`)).toBeVisible();

    // It fails, says why and when it is tried again, and shows no password.
    await expect(page).toHaveURL(new RegExp(`/sources/${name}$`));
    await expect(state(page)).toContainText("FAILING");
    await expect(page.getByText(/refuses the login: check the user and the password/).first()).toBeVisible();
    await expect(page.getByText(/retrying/).first()).toBeVisible();
    await expect(page.getByText("wrong-password")).toHaveCount(0);
    await page.getByRole("button", { name: "Try now" }).click();
    await expect(page.getByText("workers retry within 2 s")).toBeVisible();

    // Paused, so that the probe may look at the head of the queue.
    await choose(page, name, "Pause…");
    await dialog(page).getByLabel("Reason").fill("the password is wrong");
    await dialog(page).getByRole("button", { name: "Pause", exact: true }).click();
    await expect(state(page)).toContainText("PAUSED");
    await expect(page.getByText(/paused by .*: the password is wrong/)).toBeVisible();

    // Corrected, probed, mapped.
    await page.getByRole("button", { name: "Edit…" }).click();
    address.password = "guest";
    await dialog(page).getByLabel("Broker URL").fill(address.href);
    await dialog(page).getByRole("button", { name: "Probe" }).click();
    await expect(dialog(page).getByRole("status")).toContainText("reached; 3 messages; 3 samples mapped like this");
    const found = dialog(page).getByRole("list", { name: "aggregateId of the samples" });
    await expect(found.getByRole("listitem")).toHaveText(["none", "none", "none"]);
    await dialog(page).getByLabel("Aggregate id").fill("/order/number");
    await expect(found.getByRole("listitem")).toHaveText(["order-1", "order-2", "order-3"]);
    await dialog(page).getByRole("button", { name: "Add tags" }).click();
    await dialog(page).getByLabel("Tags: name").fill("tenant");
    await dialog(page).getByLabel("Tags: value of tenant").fill("x-tenant");
    await expect(dialog(page).getByRole("list", { name: "tags of the samples" })).toContainText("tenant=north");
    expect(await violations(page)).toEqual([]);
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await expect(toast(page, `Saved ${name}`)).toBeVisible();

    // Read: the events are there, as they were previewed.
    await page.getByRole("button", { name: "Resume" }).click();
    await expect(state(page)).toContainText("RUNNING");
    await expect.poll(async () => (await eventsOf(page, name)).length).toBe(3);
    expect((await eventsOf(page, name)).map(({ aggregateId, tags }) => [aggregateId, tags]).sort()).toEqual(
      [1, 2, 3].map((number) => [`order-${number}`, { tenant: "north" }]),
    );

    // Paused: what arrives stays at the broker. Drained: it is read, and the source pauses by itself.
    await choose(page, name, "Pause…");
    await dialog(page).getByRole("button", { name: "Pause", exact: true }).click();
    await expect(state(page)).toContainText("PAUSED");
    await publish(4);
    expect(await rabbit.messages(queue)).toEqual({ ready: 1, unacknowledged: 0 });
    await choose(page, name, "Drain…");
    await dialog(page).getByLabel("Reason").fill("moves to another broker");
    await dialog(page).getByRole("button", { name: "Drain", exact: true }).click();
    await expect.poll(async () => (await eventsOf(page, name)).length).toBe(4);
    await expect(page.getByText("paused by worker: empty after a drain")).toBeVisible();
    await publish(5);
    await choose(page, name, "Stop…");
    await dialog(page).getByRole("button", { name: "Stop", exact: true }).click();
    await expect(state(page)).toContainText("STOPPED");
    await expect(page.getByText("The source is stopped: no worker reads it.")).toBeVisible();
    expect(await rabbit.messages(queue)).toEqual({ ready: 1, unacknowledged: 0 });
    expect(await eventsOf(page, name)).toHaveLength(4);

    // It has events: it cannot be deleted, and says so.
    await choose(page, name, "Delete…");
    await dialog(page).getByRole("textbox").fill(name);
    await dialog(page).getByRole("button", { name: "Delete the source" }).click();
    await expect(dialog(page).getByRole("alert")).toContainText("still has events");
    await connection.close();
  });
});

type Listed = { aggregateId: string | null; tags: Record<string, string> };

async function eventsOf(page: Page, source: string): Promise<Listed[]> {
  const answer = await page.request.get(`/api/v1/events?source=${source}`);
  return ((await answer.json()) as { items: Listed[] }).items;
}
