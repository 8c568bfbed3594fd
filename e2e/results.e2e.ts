import { type HookReceiver, startHookReceiver } from "../lib/testing/receivers.ts";
import { expect, numbered, openMore, test } from "./support/parkade.ts";

let receiver: HookReceiver;
test.beforeEach(async () => {
  receiver = await startHookReceiver();
});
test.afterEach(() => receiver.stop());

/** A redrive is told of within one round of the worker, and a send. */
const TOLD = { timeout: 40_000 };

test("a redrive is followed on other pages and after a reload to its end, and a channel is told once", async ({
  page,
  parkade,
  request,
}) => {
  test.slow();
  const source = await parkade.source("results");
  await source.park(numbered("r", 3));
  const name = `results-${source.name}`;
  const channel = {
    name,
    severities: ["critical"],
    sources: [source.name],
    config: { kind: "webhook", url: receiver.url },
  };
  expect((await request.post("/api/v1/channels", { data: channel })).ok()).toBe(true);

  await page.goto(source.href);
  await page
    .getByRole("checkbox", { name: /^Select all/ })
    .first()
    .check();
  await page.getByRole("button", { name: "Redrive…" }).click();
  const dialog = page.getByRole("dialog");
  await openMore(dialog);
  await dialog.getByRole("checkbox", { name }).check();
  await dialog.getByRole("textbox", { name: /reason/i }).fill("stock is back");
  await dialog.getByRole("button", { name: "Redrive 3 events" }).click();
  await expect(dialog).toBeHidden();

  await page.goto("/audit");
  const results = page.getByRole("region", { name: "Results" });
  await expect(results).toContainText("stock is back", TOLD);
  await page.reload();
  await expect(results).toContainText("Ended: 3 delivered", TOLD);
  await expect(results.getByRole("link", { name: "stock is back" })).toHaveAttribute("href", /^\/redrives\//);
  // It has ended: no notification is offered.
  await expect(results.getByRole("button", { name: "Notify me" })).toHaveCount(0);
  await results.getByRole("button", { name: /^Dismiss the result/ }).click();
  await expect(results).toBeHidden();

  const types = () => receiver.got.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  await expect.poll(types, TOLD).toEqual(["operation.ended"]);
  const told = JSON.parse(receiver.got[0]!.body) as { data: { sentence: string } };
  expect(told.data.sentence).toBe("Redrive ended: 3 delivered of 3");
});

test("the page of a redrive that has ended loads without moving what it shows", async ({ page, parkade }) => {
  const source = await parkade.source("still");
  await source.park(numbered("s", 30));
  await parkade.redriveAll(source.name);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 30 });
  const [redrive] = await parkade.redrives();
  await page.addInitScript(() => {
    const moved = Object.assign(window, { moved: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) moved.moved += (entry as PerformanceEntry & { value: number }).value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(`/redrives/${redrive!.id}`);
  await expect(page.getByRole("link", { name: "s-29", exact: true })).toBeVisible();
  await expect(page.getByRole("figure", { name: /^Sends per second/ }).getByRole("application")).toBeVisible();
  expect(await page.evaluate(() => (window as unknown as { moved: number }).moved)).toBeLessThan(0.01);
});
