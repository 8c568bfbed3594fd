import { expect, openBeside, rowOf, test, toast } from "./support/parkade.ts";

test.describe("one key alone", () => {
  test("sends nothing: words typed with no field focused change nothing, and r asks first", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("keys");
    await source.park([{ eventId: "k-1" }, { eventId: "k-2" }]);
    await page.goto(source.href);
    const dialog = page.getByRole("dialog");

    // A row is active, as after a few steps with j; then the person types as if the search box had the focus.
    await expect(async () => {
      await page.keyboard.press("j");
      await expect(page.getByRole("grid", { name: "Events" })).toHaveAttribute("aria-activedescendant", /event-/);
    }).toPass();
    // A screen reader reads the active row of the focused grid.
    await expect(page.getByRole("grid", { name: "Events" })).toBeFocused();
    await page.keyboard.type("order", { delay: 90 });
    await page.keyboard.type("maria", { delay: 90 });
    await expect(page.getByRole("region", { name: "Selection" })).toHaveCount(0);
    await page.keyboard.type("river invoice", { delay: 40 });
    await openBeside(page, "k-1");
    await page.keyboard.type("error", { delay: 120 });
    // Enter opens the page of the event; the keys of that page ask as well.
    await page.keyboard.press("Enter");
    await expect(page.getByRole("tab", { name: "Payload" })).toBeVisible();
    await page.keyboard.type("retry", { delay: 90 });
    await page.goBack();

    const panel = await openBeside(page, "k-1");
    // A letter pressed alone is a command, and it asks first.
    await expect(async () => {
      await page.keyboard.press("r");
      await expect(dialog).toBeVisible({ timeout: 2_000 });
    }).toPass();
    expect(await source.statuses()).toEqual({ PENDING: 2 });
    expect((await parkade.redrives()).filter(({ selection }) => JSON.stringify(selection).includes("k-"))).toEqual([]);
    await expect(page.getByRole("dialog", { name: "Redrive k-1?" })).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    expect(await source.statuses()).toEqual({ PENDING: 2 });

    await page.keyboard.press("r");
    await expect(dialog).toBeFocused();
    await page.keyboard.press("Enter");
    await expect(dialog).toBeHidden();
    await expect(toast(page, "k-1 was sent")).toBeVisible({ timeout: 30_000 });
    await expect(rowOf(page, "k-1")).toContainText("REDRIVEN");
    await expect(panel).toContainText("REDRIVEN");
    expect(await downstream.deliveries(source.path)).toHaveLength(1);
  });
});
