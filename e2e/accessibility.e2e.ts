import type { Page } from "@playwright/test";
import { violations } from "./support/axe.ts";
import { chooseMore, expect, openBeside, openMore, pick, test } from "./support/parkade.ts";

test.use({ contextOptions: { reducedMotion: "reduce" } });

/** The colours of a theme are there two frames later, and no element is on its way to them: a busy machine takes its time. */
const painted = (page: Page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    const running = document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY);
    await Promise.allSettled(running.map(({ finished }) => finished));
  });

/** What axe finds on the open page, by what is open. */
function looking(page: Page) {
  const found: Record<string, string[]> = {};
  const look = async (what: string, rules?: string[]) => {
    await painted(page);
    const complaints = await violations(page, rules);
    if (complaints.length > 0) found[what] = complaints;
  };
  return { found, look };
}

// Takes 40 to 80 s: 34 page loads, each with a look of 1 s. A phone and the dark theme are looked at on the five densest pages
// alone: ui/theme.test.ts computes the contrast of both themes, and phone.e2e.ts holds every page to the width of a phone.
test("axe finds nothing to complain about on any page @phone", async ({ page, parkade }, { project }) => {
  test.slow();
  const source = await parkade.source("axe", { payloadSchema: { type: "object", required: ["amount"] } });
  await source.park([
    { eventId: "x-1", aggregateId: "order-1", version: 1, payload: { amount: 1 } },
    { eventId: "x-2", aggregateId: "order-1", version: 2, errorCode: "TIMEOUT" },
  ]);
  await parkade.impose({ kind: "blacklist", scope: { aggregateId: `of-${source.name}` }, reason: "for axe to see" });
  await parkade.redriveAll(source.name);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 1, PENDING: 1 });
  const [redrive] = await parkade.redrives();
  const { id } = await source.event("x-2");
  const dense = [
    `/?source=${source.name}`,
    source.href,
    `/events/${id}?tab=payload`,
    `/redrives/${redrive!.id}`,
    "/targets",
  ];
  const others = [
    "/",
    `${source.href}&errorCode=NONE`,
    ...["headers", "error", "history", "revisions", "aggregate"].map((tab) => `/events/${id}?tab=${tab}`),
    `/events/${id}?edit=1`,
    "/mend",
    `/mend?source=${source.name}`,
    "/groups",
    "/redrives",
    "/operations",
    "/approvals",
    "/controls",
    "/sources",
    `/sources/${source.name}`,
    "/admission",
    "/redrive-rules",
    "/alerts",
    "/alerts/rules",
    "/alerts/channels",
    "/archive",
    "/archive/forget",
    "/audit",
    "/glossary",
    "/masking",
    "/no-such-page",
  ];
  const isPhone = project.name === "phone";
  const { found, look } = looking(page);
  for (const path of isPhone ? dense : [...dense, ...others]) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeAttached();
    // While the page loads it shows a skeleton; axe must test the loaded page.
    await expect(page.getByRole("status", { name: /Loading|Counting/ })).toHaveCount(0);
    await look(path);
    if (isPhone || !dense.includes(path)) continue;
    await page.emulateMedia({ colorScheme: "dark" });
    await look(`${path}, dark`, ["color-contrast"]);
  }
  expect(found).toEqual({});
});

test("nor on what opens over a page", async ({ page, parkade }) => {
  test.slow();
  const source = await parkade.source("axe-open");
  await source.park([{ eventId: "y-1" }, { eventId: "y-2" }]);
  const { found, look } = looking(page);
  await page.goto(source.href);
  await pick(page, "y-1");
  await look("a selection");
  const selection = page.getByRole("region", { name: "Selection" });
  for (const name of ["Redrive…", "Verify", "Ignore…", "Cool down", "Blacklist"]) {
    if (name === "Cool down" || name === "Blacklist") await chooseMore(selection, name);
    else await selection.getByRole("button", { name }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toBeVisible();
    await expect(dialog.getByRole("status", { name: "Counting" })).toHaveCount(0);
    if (name === "Redrive…") await openMore(dialog);
    await look(name);
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
  }
  await page.getByRole("button", { name: "Stop all sends" }).click();
  await expect(page.getByRole("dialog", { name: "Stop all sends?" })).toBeVisible();
  await look("the dialog that stops all sends");
  await page.keyboard.press("Escape");
  // Before the dialog is open axe reports its focus guards as hidden content that can take the focus.
  const popup = page.getByRole("menu").or(page.getByRole("dialog"));
  await page.getByRole("button", { name: "+ filter" }).click();
  await expect(popup).toBeVisible();
  await look("the filter menu");
  await page.keyboard.press("Escape");
  await expect(popup).toBeHidden();
  await page.getByRole("button", { name: /^Time window/ }).click();
  await expect(popup).toBeVisible();
  await look("the time window");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Search events" }).fill("errorCode:");
  await expect(page.getByRole("listbox", { name: "Values of errorCode" })).toBeVisible();
  await look("the search suggestions");
  await page.goto(source.href);
  await openBeside(page, "y-2");
  await look("the event beside the list");
  await page.getByRole("button", { name: "Stop all sends" }).hover();
  const tip = page.getByRole("tooltip");
  await expect(tip).toBeInViewport({ ratio: 1 });
  // At the edge of the window its text keeps its lines.
  expect(await tip.evaluate((box) => box.clientWidth / box.clientHeight)).toBeGreaterThan(2);
  await look("the tip over a button");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await look("the keys");
  expect(found).toEqual({});
});
