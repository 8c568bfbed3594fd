import type { Page } from "@playwright/test";
import { expect, listed, rowOf, test } from "./support/parkade.ts";

const PAGES = [
  "/",
  "/events",
  "/groups",
  "/redrives",
  "/controls",
  "/targets",
  "/sources",
  "/admission",
  "/alerts",
  "/alerts/rules",
  "/alerts/channels",
  "/archive",
  "/archive/holds",
  "/archive/forget",
  "/audit",
  "/masking",
];

/** No page may be wider than the window of a phone. */
async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(width, `${page.url()} is wider than the window, pixels`).toBeLessThanOrEqual(0);
}

test.describe("on a phone @phone", () => {
  test("an event is found, looked at and redriven", async ({ page, parkade, downstream }) => {
    const source = await parkade.source("phone");
    await source.park([{ eventId: "p-1", aggregateId: "order-1" }, { eventId: "p-2" }]);
    await page.goto(source.href);
    await expect.poll(() => listed(page)).toEqual(["p-2", "p-1"]);
    await expectNoSidewaysScroll(page);
    await rowOf(page, "p-1").click();
    if (page.viewportSize()!.width < 900) {
      await expect(page.getByRole("heading", { level: 1 })).toContainText("p-1");
    }
    await expectNoSidewaysScroll(page);
    await page.getByRole("button", { name: "Redrive", exact: true }).click();
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
  });

  test("a batch is previewed and started with the thumb", async ({ page, parkade, downstream }) => {
    const source = await parkade.source("thumb");
    await source.park([{ eventId: "b-1" }, { eventId: "b-2" }, { eventId: "b-3" }]);
    await page.goto(source.href);
    await page.getByRole("checkbox", { name: "Select event b-1", exact: true }).check();
    const selection = page.getByRole("region", { name: "Selection" });
    await selection.getByRole("button", { name: /select all 3 matching/ }).click();
    await selection.getByRole("button", { name: "Redrive…" }).click();
    const dialog = page.getByRole("dialog", { name: "Redrive 3 events" });
    await expectNoSidewaysScroll(page);
    await dialog.getByRole("button", { name: "Redrive 3 events" }).click();
    await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 3 });
    expect(await downstream.deliveries(source.path)).toHaveLength(3);
    await expectNoSidewaysScroll(page);
  });

  test("every page fits the window and is reached from the bar", async ({ page }) => {
    for (const path of PAGES) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expectNoSidewaysScroll(page);
    }
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Redrives" }).click();
    await expect(page).toHaveURL(/\/redrives$/);
  });
});
