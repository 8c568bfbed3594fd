import { expect, listed, numbered, rowOf, test, toast } from "./support/parkade.ts";

test.describe("the list of events", () => {
  test("ends a selection with its action, and shows what comes back", async ({ page, parkade, downstream }) => {
    const source = await parkade.source("ends-selection");
    await downstream.rules([{ path: source.path, status: 422, body: "unknown article" }]);
    await source.park(numbered("s", 6));
    await page.goto(`${source.href}&status=PENDING`);
    await page.getByRole("checkbox", { name: "Select event s-1", exact: true }).check();
    const selection = page.getByRole("region", { name: "Selection" });
    await selection.getByRole("button", { name: /select all 6 matching/ }).click();
    await selection.getByRole("button", { name: "Redrive…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("checkbox", { name: /then all/ }).uncheck();
    await dialog.getByRole("button", { name: "Redrive 6 events" }).click();
    await expect(toast(page, "Redrive started")).toBeVisible();
    await expect(selection).toBeHidden();
    await expect.poll(() => source.statuses()).toEqual({ PENDING: 6 });
    // The events failed and are PENDING again: the list shows them or offers them, and nothing is selected.
    const announced = page.getByRole("button", { name: /new — show$/ });
    await expect(async () => {
      if (await announced.isVisible()) await announced.click();
      expect(await listed(page)).toHaveLength(6);
    }).toPass();
    await expect(selection).toBeHidden();
  });

  test("offers no redrive where nothing is PENDING", async ({ page, parkade }) => {
    const source = await parkade.source("none-pending");
    await source.park([{ eventId: "p-1" }, { eventId: "p-2" }]);
    await page.goto(source.href);
    await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
    const selection = page.getByRole("region", { name: "Selection" });
    await selection.getByRole("button", { name: "Ignore…" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("test orders");
    await page.getByRole("dialog").getByRole("button", { name: "Ignore 2 events" }).click();
    await expect(rowOf(page, "p-2")).toContainText("IGNORED");
    await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
    await expect(selection.getByRole("button", { name: "Redrive…" })).toHaveAttribute("aria-disabled", "true");
    await expect(selection.getByRole("button", { name: "Ignore…" })).toHaveAttribute("aria-disabled", "true");
    await expect(selection.getByRole("button", { name: "Release…" })).toBeEnabled();
  });

  test("is where it was when one comes back to it", async ({ page, parkade }) => {
    const source = await parkade.source("place");
    await source.park(numbered("f", 260));
    await page.goto(source.href);
    const grid = page.getByRole("grid", { name: "Events" });
    await expect(rowOf(page, "f-259")).toBeVisible();
    // Newest first: the row of f-20 is the 240th, three pages down.
    await expect(async () => {
      await grid.locator("..").evaluate((scroller) => scroller.scrollBy(0, 1_500));
      await expect(rowOf(page, "f-20")).toBeInViewport({ timeout: 500 });
    }).toPass();
    await rowOf(page, "f-20").getByRole("gridcell").nth(3).click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await panel.getByRole("button", { name: "Close" }).click();
    await expect(panel).toBeHidden();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Open its page" }).click();
    await expect(page.getByRole("tab", { name: "Payload" })).toBeVisible();
    await page.goBack();
    await expect(rowOf(page, "f-20")).toBeInViewport();
  });

  test("shows an event under a control in the state that the control puts it in, with the cause", async ({
    page,
    parkade,
  }) => {
    const source = await parkade.source("held-back");
    await source.park([
      { eventId: "h-1", errorCode: "TIMEOUT" },
      { eventId: "h-2", errorCode: "UPSTREAM_5XX" },
      { eventId: "h-3", errorCode: "TIMEOUT", aggregateId: "order-3" },
    ]);
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    await parkade.impose({
      kind: "cooldown",
      scope: { errorCode: "TIMEOUT", source: source.name },
      reason: "stock restarts",
      expiresAt,
    });
    await parkade.impose({
      kind: "blacklist",
      scope: { aggregateId: "order-3", source: source.name },
      reason: "broken order",
    });
    await page.goto(source.href);
    await expect(rowOf(page, "h-1")).toContainText(/COOLING.*min/);
    await expect(rowOf(page, "h-2")).toContainText("PENDING");
    await expect(rowOf(page, "h-3")).toContainText("BLACKLISTED");
    await page.getByRole("button", { name: "1 blacklisted: show only these" }).click();
    await expect.poll(() => listed(page)).toEqual(["h-3"]);
    await rowOf(page, "h-3").getByRole("gridcell").nth(3).click();
    const panel = page.getByRole("complementary", { name: "Event" });
    await expect(panel).toContainText(/blacklisted by .* \(aggregate order-3 in .*\): broken order/i);
    await expect(panel.getByRole("button", { name: "Redrive", exact: true })).toHaveAttribute("aria-disabled", "true");
    await page.goto(`${source.href}&status=COOLING`);
    await expect.poll(() => listed(page)).toEqual(["h-1"]);
  });

  test("keeps the row of an event that is verified", async ({ page, parkade }) => {
    const source = await parkade.source("verify-row");
    await source.park([{ eventId: "v-1" }, { eventId: "v-2" }]);
    await page.goto(`${source.href}&status=PENDING`);
    await rowOf(page, "v-1").getByRole("gridcell").nth(3).click();
    await page
      .getByRole("complementary", { name: "Event" })
      .getByRole("button", { name: "Verify", exact: true })
      .click();
    await expect(toast(page, "v-1 passed every check")).toBeVisible();
    await expect(rowOf(page, "v-1")).toContainText("PENDING");
    expect(await listed(page)).toEqual(["v-2", "v-1"]);
  });
});

test("the palette opens what was named, and searches for what is no command", async ({ page }) => {
  await page.goto("/events");
  const input = page
    .getByRole("combobox", { name: "Commands" })
    .or(page.getByPlaceholder("Go to a page, search, or paste an id"));
  await expect(async () => {
    await page.keyboard.press("Control+k");
    await expect(input.first()).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await input.first().fill("contr");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/controls$/);
  await page.keyboard.press("Control+k");
  await expect(input.first()).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(input.first()).toBeHidden();
  await page.keyboard.press("Control+k");
  await input.first().fill("no such words anywhere");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/events\?q=no\+such/);
});
