import type { Page } from "@playwright/test";
import { expect, openBeside, pick, rowOf, test, toast } from "./support/parkade.ts";

const strip = (page: Page) => page.locator("[data-offline]");

test.describe("a browser that loses its network", () => {
  test("says so with the age of what it shows, offers no action, keeps what is open, and heals by itself", async ({
    page,
    context,
    parkade,
    downstream,
  }) => {
    const broken: string[] = [];
    page.on("pageerror", (error) => broken.push(error.message));
    const source = await parkade.source("offline");
    await source.park([{ eventId: "n-1" }, { eventId: "n-2" }]);
    await page.goto(source.href);
    await expect(rowOf(page, "n-1")).toBeVisible();
    // The answer to a click shows that the page is hydrated; it registers the code of its dialogs and panels before.
    await pick(page, "n-2");
    await expect(page.getByRole("region", { name: "Selection" })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.locator("html[data-code=loaded]")).toBeAttached();
    let loads = 0;
    page.on("load", () => {
      loads += 1;
    });

    await context.setOffline(true);
    await expect(strip(page)).toContainText("This browser is offline. This data is from");
    const selection = await pick(page, "n-1");
    const redrive = selection.getByRole("button", { name: "Redrive…" });
    await expect(redrive).toHaveAttribute("aria-disabled", "true");
    await expect(redrive).toHaveAttribute("data-tip", /does not answer/);
    await page.keyboard.press("Escape");
    // Opened for the first time without a network: its code is loaded, its data is not.
    await rowOf(page, "n-2").getByRole("gridcell").nth(3).click();
    await expect(page.getByRole("complementary", { name: "Event" })).toContainText("This browser is offline");
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog", { name: "Keyboard" })).toBeVisible();
    await page.keyboard.press("Escape");
    // A navigation waits until the network is back.
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Controls" }).first().click();
    await expect(page.getByRole("grid", { name: "Events" })).toBeVisible();

    await context.setOffline(false);
    await expect(strip(page)).toHaveCount(0);
    await expect(page).toHaveURL(/\/controls$/);
    await expect(page.getByRole("heading", { level: 1, name: "Controls" })).toBeVisible();
    await page.goBack();
    const panel = await openBeside(page, "n-2");
    await panel.getByRole("button", { name: "Redrive", exact: true }).click();
    await expect(toast(page, "n-2 was sent")).toBeVisible({ timeout: 30_000 });
    expect(await downstream.deliveries(source.path)).toHaveLength(1);
    expect(loads).toBe(0);
    expect(broken).toEqual([]);
  });
});
