import { expect, holdLong, numbered, pick, startedBy, test, toast } from "./support/parkade.ts";

const holds = "Redrives that can be undone";

test("a selection goes with one click; Undo in its bar sends nothing and gives the selection back, also after a reload", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("oneclick");
  await source.park([{ eventId: "u-1" }, { eventId: "u-2" }, { eventId: "u-3" }]);
  await page.goto(source.href);
  const { asked } = await holdLong(page);
  const selection = await pick(page, "u-1", "u-3");
  const id = await startedBy(page, () => selection.getByRole("button", { name: "Redrive 2 events" }).click());
  const bar = page.getByRole("region", { name: holds });
  await expect(bar).toContainText("Redrive of 2 selected events");
  await expect(bar.getByRole("link")).toHaveAttribute("href", `/redrives/${id}`);
  expect(asked).toEqual([5_000]);
  await expect(bar.getByRole("progressbar", { name: "Time left to undo" })).toBeVisible();
  await expect(selection).toBeHidden();
  // One lost poll makes the data old and disables changes. Stopping a send stays possible.
  const lost = page.waitForEvent("requestfailed", (request) => request.url().endsWith("/api/v1/status"));
  await page.route("**/api/v1/status", (route) => route.abort());
  await lost;
  await bar.getByRole("button", { name: "Undo" }).click();
  await expect(toast(page, "Undone: nothing was sent")).toContainText("2 events stay parked.");
  await page.unroute("**/api/v1/status");
  await expect(bar).toBeHidden();
  await expect(selection).toContainText("2 selected");
  await expect.poll(async () => await source.statuses()).toEqual({ PENDING: 3 });
  expect(await parkade.redrive(id)).toMatchObject({ state: "CANCELLED", cancelled: 2 });
  await selection.getByRole("button", { name: "Redrive 2 events" }).click();
  await expect(bar).toBeVisible();
  await page.reload({ waitUntil: "commit" });
  await bar.getByRole("button", { name: "Undo" }).click();
  await expect(toast(page, "Undone: nothing was sent")).toBeVisible();
  await expect.poll(async () => await source.statuses()).toEqual({ PENDING: 3 });
  expect(await downstream.deliveries(source.path)).toEqual([]);
});

test("one click on a group sends its number, and asks when some wait behind earlier events", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("behind");
  const aggregateId = `order-${source.name}`;
  await source.park([{ eventId: "b-1", errorCode: "TIMEOUT", aggregateId, version: 1 }]);
  await source.park(
    [2, 3].map((version) => ({ eventId: `b-${version}`, errorCode: "UPSTREAM_5XX", aggregateId, version })),
  );
  await source.park([{ eventId: "b-4", errorCode: "UPSTREAM_5XX" }]);
  await page.goto(`/groups?source=${source.name}&errorCode=UPSTREAM_5XX`);
  await page.getByRole("grid", { name: "Groups" }).getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1, name: "UPSTREAM_5XX" })).toBeVisible();
  await page.getByRole("button", { name: "Redrive 1 of 3" }).click();
  const dialog = page.getByRole("dialog");
  const earlier = dialog.getByRole("region", { name: "Earlier versions" });
  await expect(earlier.getByRole("button", { name: "Mend the earliest version first…" })).toBeEnabled();
  // The number that was clicked stays until another choice is made.
  await expect(earlier.getByRole("radio", { name: /^Send only the 1 that can be sent now/ })).toBeChecked();
  await expect(dialog.getByRole("button", { name: "Redrive 1 event", exact: true })).toBeVisible();
  await earlier.getByRole("radio", { name: /^Include the 1 earlier version/ }).check();
  await expect(dialog).toContainText("Checked all 4: no problems found.");
  expect(await downstream.deliveries(source.path)).toEqual([]);
  await dialog.getByRole("button", { name: "Redrive 4 events" }).click();
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 4 });
  const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
  expect(keys.filter((key) => key !== `${source.name}:b-4`)).toEqual([1, 2, 3].map((n) => `${source.name}:b-${n}`));
});

test("a canary that the brake has paused goes on slower, to its confirmed end", async ({
  page,
  parkade,
  downstream,
}) => {
  test.slow();
  const source = await parkade.source("braked");
  await source.park(numbered("b", 40));
  await downstream.rules([{ path: source.path, status: 422, body: `unknown article ${"x".repeat(300)}` }]);
  await page.goto(source.href);
  await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
  const redrive = page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Redrive 40 events" });
  const id = await startedBy(page, () => redrive.click());
  await page.goto(`/redrives/${id}`);
  const main = page.getByRole("main");
  const braked = main.getByRole("region", { name: "Paused by the brake" });
  await expect(braked).toContainText(/Of the last \d+ events \d+ failed and 0 bounced: 100%, above the limit of 20%/);
  await expect(braked).toContainText("unknown article");
  expect(await braked.evaluate((panel) => panel.scrollWidth - panel.clientWidth)).toBe(0);
  const { failed } = await parkade.redrive(id);
  expect(failed).toBeLessThan(40);
  await downstream.rules([]);
  const rate = braked.getByRole("textbox", { name: "rate, events per second" });
  await rate.fill("0");
  await rate.press("Enter");
  await expect(braked.getByRole("alert")).toContainText("above 0, and at most 100,000; to stop a redrive, pause it");
  await rate.fill("30");
  await rate.press("Enter");
  await braked.getByRole("button", { name: "Resume at 30/s" }).click();
  await expect(braked).toBeHidden();
  await expect(main).toContainText("40 of 40 finished");
  const done = await parkade.redrive(id);
  expect(done).toMatchObject({ state: "DONE", ratePerSecond: 30, failed, sent: 40 - failed });
  await main.getByRole("button", { name: /^not confirmed yet/ }).click();
  const sent = (await downstream.deliveries(source.path)).filter(({ status }) => status === 200);
  await parkade.confirm(
    source.name,
    sent.map(({ key }) => key!.slice(source.name.length + 1)),
  );
  await page.reload();
  await expect(main).toContainText(`${40 - failed} confirmed`);
});
