import type { Page } from "@playwright/test";
import { violations } from "./support/axe.ts";
import { expect, listed, pick, rowOf, test } from "./support/parkade.ts";

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
  test("an event is found, looked at and redriven, and the others are as a batch", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("phone");
    await source.park([{ eventId: "p-1", aggregateId: "order-1" }, { eventId: "p-2" }, { eventId: "p-3" }]);
    await page.goto(source.href);
    await expect.poll(() => listed(page)).toEqual(["p-3", "p-2", "p-1"]);
    await expectNoSidewaysScroll(page);
    await rowOf(page, "p-1").click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("p-1");
    await expectNoSidewaysScroll(page);
    await page.getByRole("button", { name: "Redrive", exact: true }).click();
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);

    await page.goto(`${source.href}&status=PENDING`);
    const selection = await pick(page, "p-2");
    await selection.getByRole("button", { name: /select all 2 matching/ }).click();
    await selection.getByRole("button", { name: "Redrive…" }).click();
    const dialog = page.getByRole("dialog", { name: "Redrive 2 events" });
    await expectNoSidewaysScroll(page);
    await dialog.getByRole("button", { name: "Redrive 2 events" }).click();
    await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 3 });
    expect(await downstream.deliveries(source.path)).toHaveLength(3);
  });

  test("every page fits the window and is reached from the bar, while sends are stopped, too", async ({
    page,
    request,
  }) => {
    const stopped = "/api/v1/stops/everything";
    expect((await request.put(stopped, { data: { reason: "two consumers disagree" } })).ok()).toBe(true);
    const resume = page
      .getByRole("region", { name: "Stopped sends" })
      .getByRole("button", { name: "Resume all sends" });
    try {
      for (const path of PAGES) {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(resume, path).toBeInViewport();
        await expectNoSidewaysScroll(page);
      }
    } finally {
      await request.delete(stopped);
    }
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Redrives" }).click();
    await expect(page).toHaveURL(/\/redrives$/);
  });

  test("a source without a broker is connected and deleted again", async ({ page }) => {
    const name = `short-lived-${Date.now() % 1e8}`;
    const dialog = page.getByRole("dialog");
    await page.goto("/sources");
    await page.getByRole("button", { name: "Connect a source…" }).click();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: /^HTTP/ }).click();
    await dialog.getByLabel("Redrive URL").fill("no URL");
    await dialog.getByRole("button", { name: "Next" }).click();
    await dialog.getByLabel("Name").fill(name);
    // Whether a send may be repeated is asked, and no answer is chosen beforehand.
    await dialog.getByRole("button", { name: "Connect", exact: true }).click();
    await expect(dialog.getByText("Choose one: only the owner of the target knows.")).toBeVisible();
    await dialog.getByRole("radio", { name: /^Yes: it honours/ }).check();
    await dialog.getByRole("button", { name: "Connect", exact: true }).click();
    // The server's error brings the person back to the field that it is about.
    await expect(dialog.getByLabel("Redrive URL")).toHaveAttribute("aria-invalid", "true");
    await dialog.getByLabel("Redrive URL").fill("http://127.0.0.1:9/redrive");
    await dialog.getByRole("button", { name: "Next" }).click();
    await dialog.getByRole("button", { name: "Connect", exact: true }).click();
    // The page of the source says what comes next, until the first event is there.
    await expect(page.locator("header").filter({ has: page.getByRole("heading", { level: 1 }) })).toContainText(
      "NO EVENTS YET",
    );
    const next = page.getByRole("region", { name: "Next" });
    await expect(next).toContainText("Waiting for the first event");
    await expect(next).toContainText(`"source":"${name}"`);
    await expect(page.getByText("http://127.0.0.1:9/redrive").first()).toBeVisible();
    // The table of targets keeps two columns here: its other numbers unfold.
    await page.goto("/targets");
    const target = page.getByRole("rowgroup", { name, exact: true });
    await target.getByRole("button", { name: `${name}: details` }).click();
    await expect(target.getByRole("link", { name })).toBeVisible();
    for (const number of ["rate", "parallel sends", "retry budget", "latency p50 / p95"])
      await expect(target.getByText(number, { exact: true })).toBeVisible();
    await expectNoSidewaysScroll(page);
    await page.goto(`/sources/${name}`);
    await page.getByRole("button", { name: `More for ${name}` }).click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await dialog.getByRole("textbox").fill(name);
    await dialog.getByRole("button", { name: "Delete the source" }).click();
    await expect(page).toHaveURL(/\/sources$/);
    await page.goto(`/sources/${name}`);
    await expect(page.getByRole("heading", { name: "Source not found" })).toBeVisible();
  });
});
