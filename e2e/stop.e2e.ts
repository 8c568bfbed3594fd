import type { APIRequestContext } from "@playwright/test";
import { violations } from "./support/axe.ts";
import { expect, numbered, type Source, test, toast } from "./support/parkade.ts";

test.afterEach(async ({ request }) => {
  await request.delete("/api/v1/stops/everything");
});

/** A dry run of what this source has parked, from its request to its end: meanwhile the worker works. */
async function dryRun(request: APIRequestContext, { name }: Source): Promise<void> {
  const data = { select: { filter: { source: [name] } }, mode: "verify", reason: "the worker works" };
  const { id } = await (await request.post("/api/v1/redrives", { data })).json();
  const state = async () => (await (await request.get(`/api/v1/redrives/${id}`)).json()).state;
  await expect.poll(state).toBe("DONE");
}

test("the red button stops all sends, the band outlives a reload, nothing begins after it, and resuming sends each once", async ({
  page,
  parkade,
  downstream,
  request,
}) => {
  // 100 s under way: longer than a machine takes to stop it.
  const source = await parkade.source("stop", { ratePerSecond: 2 });
  const other = await parkade.source("checked");
  await other.park([{ eventId: "c-1" }]);
  await source.park(numbered("s", 200));
  await parkade.redriveAll(source.name);
  const sent = () => downstream.deliveries(source.path);
  await expect.poll(async () => (await sent()).length).toBeGreaterThan(0);
  const [redrive] = await parkade.redrives();

  await page.goto("/targets");
  await page.getByRole("button", { name: "Stop all sends" }).click();
  const dialog = page.getByRole("dialog", { name: "Stop all sends?" });
  await expect(dialog).toContainText("parking, consumers, dry runs and confirmations continue");
  await dialog.getByRole("button", { name: "Stop all sends" }).click();
  await expect(dialog.getByRole("textbox", { name: "Reason" })).toBeFocused();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("wrong prices arrive");
  const answer = page.waitForResponse((response) => response.url().endsWith("/api/v1/stops/everything"));
  await dialog.getByRole("button", { name: "Stop all sends" }).click();
  await expect(toast(page, "All sends stopped")).toBeVisible();
  const { underWay } = (await (await answer).json()) as { underWay: number };
  const stopped = (await sent()).length;

  const band = page.getByRole("region", { name: "Stopped sends" });
  await expect(band).toContainText("All sends are stopped by local");
  await expect(band).toContainText("wrong prices arrive");
  await expect(page.getByRole("button", { name: "Stop all sends" })).toHaveCount(0);
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await expect(band.getByRole("button", { name: "Resume all sends" })).toBeInViewport();
  await dryRun(request, other);
  expect((await sent()).length).toBeLessThanOrEqual(stopped + underWay);
  await page.goto(`/redrives/${redrive!.id}`);
  await expect(page.getByRole("main")).toContainText("local stopped everything: wrong prices arrive");
  await expect(band).toContainText("wrong prices arrive");
  expect((await sent()).length).toBeLessThanOrEqual(stopped + underWay);

  await source.setRate(null);
  // The palette resumes, by the keyboard alone.
  await page.keyboard.press("Control+k");
  const palette = page.getByPlaceholder("Run a command, go to a page, search, or paste an id");
  await palette.fill("resume");
  await expect(page.getByRole("option", { name: "Resume all sends…" })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  const resume = page.getByRole("dialog", { name: "Resume all sends?" });
  await resume.getByRole("textbox", { name: "Reason" }).fill("prices are right again");
  await page.keyboard.press("Control+Enter");
  await expect(band).toHaveCount(0);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 200 });
  expect(new Set((await sent()).map(({ headers }) => headers["idempotency-key"])).size).toBe(200);
});

test("one target is stopped and resumed in its row, and the others go on", async ({ page, parkade, downstream }) => {
  const [held, free] = [await parkade.source("held"), await parkade.source("free")];
  for (const source of [held, free]) await source.park([{ eventId: `${source.name}-1` }]);
  await page.goto("/targets");
  await page.getByRole("button", { name: `Stop sends to ${held.name}`, exact: true }).click();
  const dialog = page.getByRole("dialog", { name: `Stop sends to ${held.name}?` });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("it is being moved");
  await page.keyboard.press("Control+Enter");
  const band = page.getByRole("region", { name: "Stopped sends" });
  await expect(band).toContainText(`Sends to ${held.name} are stopped by local`);
  for (const source of [held, free]) await parkade.redriveAll(source.name);
  await expect.poll(() => downstream.deliveries(free.path)).toHaveLength(1);
  expect(await downstream.deliveries(held.path)).toHaveLength(0);
  await band.getByRole("button", { name: `Resume sends to ${held.name}` }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("it was moved");
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => downstream.deliveries(held.path)).toHaveLength(1);
});

test("a running redrive is steered by its sends at once and its lane, says what they change, and the worker follows", async ({
  page,
  parkade,
  downstream,
  request,
}) => {
  // 40 s under way at the rates below, of which 8 are under way at once.
  const EVENTS = 400;
  const source = await parkade.source("pace");
  const [main, slow] = [`${source.path}/main`, `${source.path}/slow`];
  const config = { redriveUrl: downstream.url + main, slowLaneUrl: downstream.url + slow };
  const changed = await request.patch(`/api/v1/sources/${source.name}`, { data: { config, reason: "two addresses" } });
  expect(changed.ok(), await changed.text()).toBe(true);
  for (const [target, ratePerSecond] of [
    [source.name, 10],
    [`${source.name}.slow`, 5],
  ]) {
    await request.patch(`/api/v1/targets/${target}`, { data: { ratePerSecond, reason: "a journey sets its pace" } });
  }
  await downstream.rules([{ path: source.path, status: 200, delayMs: 800 }]);
  await source.park(numbered("p", EVENTS));
  await parkade.redriveAll(source.name);
  const atOnce = async (path: string, of: number) =>
    Math.max(0, ...(await downstream.deliveries(path)).slice(-of).map((delivery) => delivery.atOnce));
  await expect.poll(() => atOnce(main, 20)).toBeGreaterThan(4);

  const redrive = (await parkade.redrives()).find(({ selection }) => JSON.stringify(selection).includes(source.name))!;
  await page.goto(`/redrives/${redrive.id}`);
  const pace = page.getByRole("region", { name: "Pace" });
  const sends = pace.getByRole("slider", { name: /^parallel sends per worker/ });
  await expect(pace).toContainText("10/s, takes about");
  await expect(pace).toContainText("5/s, takes about");
  await sends.focus();
  // The time of the rest is shown while the slider is held, and asked of nobody.
  await page.keyboard.down("Home");
  await expect(pace).toContainText(/the rest takes about .*, limited by parallel sends/);
  expect((await parkade.redrive(redrive.id)).concurrency).toBeNull();
  await page.keyboard.up("Home");
  await expect.poll(async () => (await parkade.redrive(redrive.id)).concurrency).toBe(1);
  await expect.poll(() => atOnce(main, 3)).toBe(1);
  await expect(sends).toHaveValue("1");
  expect(await violations(page)).toEqual([]);

  await pace.getByRole("radio", { name: /^slow lane/ }).check();
  await expect.poll(async () => (await downstream.deliveries(slow)).length).toBeGreaterThan(2);
  const last = (await downstream.deliveries(main)).length;
  await expect.poll(async () => (await downstream.deliveries(slow)).length).toBeGreaterThan(5);
  expect(await downstream.deliveries(main)).toHaveLength(last);
  expect(await atOnce(slow, EVENTS)).toBe(1);
  await expect(pace.getByRole("radio", { name: /^slow lane/ })).toBeChecked();

  await downstream.rules([]);
  await source.setRate(null);
  await sends.focus();
  await page.keyboard.press("End");
  await expect.poll(async () => (await parkade.redrive(redrive.id)).delivered).toBe(EVENTS);
  const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
  // An attempt that a busy machine cuts off is made again with the same key.
  expect(new Set(keys).size).toBe(EVENTS);
});

test("while no events are taken in, each page says why and what goes on", async ({ page }) => {
  const detail = "The disk of the store has 512 MB free of the 1 GB that PARKADE_DISK_FREE_MIN keeps";
  await page.route("**/api/v1/status", async (route) => {
    const status = await (await route.fetch()).json();
    const stop = { measure: "disk", since: new Date(Date.now() - 120_000).toISOString(), detail };
    await route.fulfill({ json: { ...status, intakeStops: [stop] } });
  });
  const band = page.getByRole("status", { name: "Stopped intake" });
  for (const path of ["/", "/events", "/sources"]) {
    await page.goto(path);
    await expect(band).toContainText(/No events are accepted, since 20\d\d-/);
    await expect(band).toContainText(detail);
    await expect(band).toContainText("redrives, search, removal and the archive continue");
  }
  // The page asks for its status until it is closed.
  await page.unrouteAll({ behavior: "ignoreErrors" });
});
