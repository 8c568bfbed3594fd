import { expect, numbered, rowOf, test } from "./support/parkade.ts";

test.describe("the list of events", () => {
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
});

test("an open menu moves nothing of the header that it belongs to", async ({ page, parkade }) => {
  const source = await parkade.source("menu");
  await source.park([{ eventId: "m-1" }]);
  await page.goto(`/events/${(await source.event("m-1")).id}`);
  const more = page.getByRole("button", { name: "More actions" });
  const at = await more.boundingBox();
  await more.click();
  await expect(page.getByRole("menu")).toBeVisible();
  expect(await more.boundingBox()).toEqual(at);
});

test("the palette opens what was named, and searches for what is no command", async ({ page, request }) => {
  const view = { name: "night shift", filter: { errorCode: ["NIGHT"] } };
  expect((await request.post("/api/v1/saved-views", { data: view })).ok()).toBe(true);
  const refused: string[] = [];
  page.on("console", (message) => message.text().includes("Content Security Policy") && refused.push(message.text()));
  await page.goto("/events");
  const input = page
    .getByRole("combobox", { name: "Commands" })
    .or(page.getByPlaceholder("Run a command, go to a page, search, or paste an id"));
  await expect(async () => {
    await page.keyboard.press("Control+k");
    await expect(input.first()).toBeVisible({ timeout: 1_000 });
  }).toPass();
  await input.first().fill("contr");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/controls$/);
  await page.keyboard.press("Control+k");
  await input.first().fill("night");
  await expect(page.getByRole("option", { name: "View: night shift" })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/events\?errorCode=NIGHT$/);
  await page.keyboard.press("Control+k");
  await expect(input.first()).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(input.first()).toBeHidden();
  await page.keyboard.press("Control+k");
  await input.first().fill("no such words anywhere");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/events\?q=no\+such/);
  expect(refused).toEqual([]);
});
