import type { Page } from "@playwright/test";
import { expect, keepToasts, openBeside, rowOf, test, toast } from "./support/parkade.ts";

/** Types these keys at this pace of the page's own clock: how long the machine takes between two of them counts nothing. */
async function typeAt(page: Page, keys: string, delayMs: number): Promise<void> {
  await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 1_000);
  for (const key of keys) {
    await page.keyboard.press(key === " " ? "Space" : key);
    await page.clock.runFor(delayMs);
  }
  await page.clock.resume();
}

test.describe("one key alone", () => {
  test("sends nothing: words typed with no field focused change nothing, and r asks first", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("keys");
    await source.park([{ eventId: "k-1" }, { eventId: "k-2" }]);
    await page.clock.install();
    await page.addInitScript(() =>
      Object.defineProperty(Event.prototype, "timeStamp", { get: () => performance.now() }),
    );
    await keepToasts(page);
    await page.goto(source.href);
    const dialog = page.getByRole("dialog");

    // A row is active, as after a few steps with j; then the person types as if the search box had the focus.
    await page.keyboard.press("j");
    await expect(page.getByRole("grid", { name: "Events" })).toHaveAttribute("aria-activedescendant", /event-/);
    await typeAt(page, "order", 90);
    await typeAt(page, "river invoice", 40);
    await openBeside(page, "k-1");
    await typeAt(page, "error", 120);
    // Enter opens the page of the event; the keys of that page ask as well.
    await page.keyboard.press("Enter");
    await expect(page.getByRole("tab", { name: "Payload" })).toBeVisible();
    await typeAt(page, "retry", 90);
    await page.goBack();

    const panel = await openBeside(page, "k-1");
    // A letter pressed alone is a command, and it asks first.
    await page.keyboard.press("r");
    await expect(dialog).toBeVisible();
    expect(await source.statuses()).toEqual({ PENDING: 2 });
    expect((await parkade.redrives()).filter(({ selection }) => JSON.stringify(selection).includes("k-"))).toEqual([]);
    await expect(page.getByRole("dialog", { name: "Redrive k-1?" })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    expect(await source.statuses()).toEqual({ PENDING: 2 });

    await page.keyboard.press("r");
    await expect(dialog).toBeVisible();
    await page.keyboard.press("Enter");
    await expect(dialog).toBeHidden();
    await expect(toast(page, "k-1 was sent")).toBeVisible();
    await expect(rowOf(page, "k-1")).toContainText("REDRIVEN");
    await expect(panel).toContainText("REDRIVEN");
    expect(await downstream.deliveries(source.path)).toHaveLength(1);
  });
});
