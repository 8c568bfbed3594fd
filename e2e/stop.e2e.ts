import { violations } from "./support/axe.ts";
import { expect, test, toast } from "./support/parkade.ts";

test.afterEach(async ({ request }) => {
  await request.delete("/api/v1/stops/everything");
});

test("the red button stops all sends, the band says so on every page, and resuming sends each once @phone", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("stop", { ratePerSecond: 1 });
  await source.park(Array.from({ length: 60 }, (_, index) => ({ eventId: `s-${index}` })));
  await parkade.redriveAll(source.name);
  const sent = () => downstream.deliveries(source.path);
  await expect.poll(async () => (await sent()).length).toBeGreaterThan(0);
  const [redrive] = await parkade.redrives();

  await page.goto("/targets");
  await page.getByRole("button", { name: "Stop all sends" }).click();
  const dialog = page.getByRole("dialog", { name: "Stop all sends?" });
  await expect(dialog).toContainText("parking, consumers, dry runs and confirmations go on");
  await dialog.getByRole("button", { name: "Stop all sends" }).click();
  await expect(dialog.getByRole("textbox", { name: "Reason" })).toBeFocused();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("wrong prices arrive");
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Stop all sends" }).click();
  await expect(toast(page, "All sends stopped")).toBeVisible();
  const stopped = (await sent()).length;

  const band = page.getByRole("region", { name: "Stopped sends" });
  await expect(band).toContainText("All sends are stopped by local");
  await expect(band).toContainText("wrong prices arrive");
  await expect(page.getByRole("button", { name: "Stop all sends" })).toHaveCount(0);
  expect(await violations(page)).toEqual([]);
  await page.goto(`/redrives/${redrive!.id}`);
  await expect(page.getByRole("main")).toContainText("local stopped everything: wrong prices arrive");
  await expect(band).toContainText("wrong prices arrive");
  expect((await sent()).length).toBe(stopped);

  await source.setRate(null);
  // The palette resumes, by the keyboard alone.
  await page.keyboard.press("Control+k");
  const palette = page.getByPlaceholder("Go to a page, search, or paste an id");
  await palette.fill("resume");
  await expect(page.getByRole("option", { name: "Resume all sends…" })).toBeVisible();
  await page.keyboard.press("Enter");
  const resume = page.getByRole("dialog", { name: "Resume all sends?" });
  await resume.getByRole("textbox", { name: "Reason" }).fill("prices are right again");
  await page.keyboard.press("Control+Enter");
  await expect(band).toHaveCount(0);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 60 });
  expect(new Set((await sent()).map(({ headers }) => headers["idempotency-key"])).size).toBe(60);
  expect(await sent()).toHaveLength(60);
});

test("one target is stopped and resumed on its card, and the others go on", async ({ page, parkade, downstream }) => {
  const [held, free] = [await parkade.source("held"), await parkade.source("free")];
  for (const source of [held, free]) await source.park([{ eventId: `${source.name}-1` }]);
  await page.goto("/targets");
  await page.getByRole("button", { name: `Stop the sends to ${held.name}`, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: `Stop the sends to ${held.name}?` });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("it is being moved");
  await page.keyboard.press("Control+Enter");
  const band = page.getByRole("region", { name: "Stopped sends" });
  await expect(band).toContainText(`The sends to ${held.name} are stopped by local`);
  for (const source of [held, free]) await parkade.redriveAll(source.name);
  await expect.poll(() => downstream.deliveries(free.path)).toHaveLength(1);
  expect(await downstream.deliveries(held.path)).toHaveLength(0);
  await band.getByRole("button", { name: `Resume the sends to ${held.name}` }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("it was moved");
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => downstream.deliveries(held.path)).toHaveLength(1);
});
