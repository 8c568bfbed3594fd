import type { Page } from "@playwright/test";
import { violations } from "./support/axe.ts";
import { because, chooseMore, expect, keepToasts, test, toast } from "./support/parkade.ts";

/** More events than one request changes by itself. */
const MANY = 2_105;

async function ask(page: Page, verb: "Ignore" | "Confirm") {
  const dialog = page.getByRole("dialog", { name: `${verb} 2,105 events` });
  await page
    .getByRole("checkbox", { name: /^Select event/ })
    .locator("visible=true")
    .first()
    .check();
  const selection = page.getByRole("region", { name: "Selection" });
  await selection.getByRole("button", { name: /^select all 2,105/ }).click();
  if (verb === "Confirm") await chooseMore(selection, verb);
  else await selection.getByRole("button", { name: `${verb}…` }).click();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("a load test parked them");
  await expect(dialog.getByRole("button", { name: `${verb} 2,105 events` })).toBeDisabled();
  await dialog.getByRole("textbox", { name: "Type 2,105 to confirm" }).fill("2105");
  return dialog;
}

const listedOperation = (page: Page, name: string | RegExp) =>
  page.getByRole("main").getByRole("link", { name }).locator("visible=true").first();

test.use({ contextOptions: { reducedMotion: "reduce" } });

test("a large set is ignored by a worker, shown below every page, and stopped; another one ends, is said anywhere, taken back, and confirmed without a send", async ({
  page,
  parkade,
  product,
  downstream,
}) => {
  const source = await parkade.source("bulk");
  for (let from = 0; from < MANY; from += 500) {
    const count = Math.min(500, MANY - from);
    await source.park(Array.from({ length: count }, (_, index) => ({ eventId: `b-${from + index}` })));
  }
  await keepToasts(page);
  const running = page.getByRole("region", { name: "Running bulk changes" }).getByRole("listitem");
  process.kill(product.workerPid, "SIGSTOP");
  try {
    await page.goto(source.href);
    const dialog = await ask(page, "Ignore");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Ignore 2,105 events" }).click();
    await expect(toast(page, "Ignoring events")).toBeVisible();
    await expect(running).toContainText(/Ignoring .* events/);

    await page.goto("/operations");
    await expect(running).toContainText("0%");
    await expect(listedOperation(page, /^Ignoring/)).toBeVisible();
    await running.getByRole("button", { name: "Cancel…" }).click();
    const cancelling = page.getByRole("dialog", { name: "Cancel this ignore?" });
    await expect(cancelling).toContainText("0 events already changed stay changed.");
    await because(cancelling, "the wrong source", "Cancel this ignore");
    await expect(toast(page, "Cancelled")).toBeVisible();
    await expect(running).toHaveCount(0);
  } finally {
    process.kill(product.workerPid, "SIGCONT");
  }
  await listedOperation(page, /^Ignored 0 of/).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Ignored 0 of");
  await expect(page.getByRole("main")).toContainText("CANCELLED");
  expect(await source.statuses()).toEqual({ PENDING: 500 });

  await page.goto(source.href);
  const dialog = await ask(page, "Ignore");
  await dialog.getByRole("button", { name: "Ignore 2,105 events" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("link", { name: "Groups" }).locator("visible=true").first().click();
  await expect(toast(page, "Ignored 2,105 events").getByRole("button", { name: "Undo" })).toBeVisible();
  expect(await source.statuses()).toEqual({ IGNORED: 500 });

  await page.goto("/operations");
  await listedOperation(page, "Ignored 2,105 events").click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Ignored 2,105 events");
  await page.getByRole("link", { name: "who changed which events" }).click();
  const entry = page.getByRole("main").getByRole("listitem").filter({ hasText: "Event ignored" });
  await expect(entry).toHaveCount(1);
  await expect(entry).toContainText("2,105 events");
  await entry.getByRole("link", { name: "2,105 events" }).click();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(toast(page, "Released 2,105 events")).toBeVisible();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 500 });

  await page.goto(source.href);
  const confirming = await ask(page, "Confirm");
  // It arrives before the number is typed, unseen.
  await source.park([{ eventId: "b-later" }]);
  await confirming.getByRole("button", { name: "Confirm 2,105 events" }).dblclick();
  await expect(toast(page, "Confirmed 2,105 events")).toBeVisible();
  expect(await source.statuses()).toEqual({ PENDING: 1, REDRIVEN: 499 });
  expect(await downstream.deliveries(source.path)).toEqual([]);
});
