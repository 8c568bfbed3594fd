import type { Page } from "@playwright/test";
import { violations } from "./support/axe.ts";
import { actAs, expect, openMore, pick, test } from "./support/parkade.ts";

/** Holds the script of the list of approvals until the status was answered; collects what the page throws. */
async function withLatePage(page: Page): Promise<{ held: number; faults: string[] }> {
  const late = { held: 0, faults: [] as string[] };
  page.on("pageerror", ({ message }) => late.faults.push(message));
  const status = page.waitForResponse((response) => response.url().endsWith("/api/v1/status") && response.ok());
  await page.route("**/_next/static/chunks/**", async (route) => {
    const response = await route.fetch();
    if ((await response.text()).includes("Nothing is waiting for approval")) {
      late.held += 1;
      await status;
    }
    await route.fulfill({ response });
  });
  return late;
}

test("a redrive of a marked source waits for a second viewer, who sees what is sent and approves it", async ({
  page,
  context,
  request,
  parkade,
  downstream,
}) => {
  test.slow();
  const source = await parkade.source("approved");
  await request.patch(`/api/v1/sources/${source.name}`, { data: { needsApproval: true, reason: "pays money" } });
  await source.park([{ eventId: "pay-1" }, { eventId: "pay-2" }, { eventId: "pay-3" }]);

  await actAs(page, "Ada");
  await page.goto(source.href);
  await (await pick(page, "pay-1", "pay-2")).getByRole("button", { name: "Redrive…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(
    `A second person must approve it before anything is sent: source ${source.name} is marked.`,
  );
  await dialog.getByRole("button", { name: "Request approval for 2 events" }).click();
  await expect(page.getByText("Redrive is waiting for a second person to approve it: 2 events")).toBeVisible();
  expect(await source.statuses()).toEqual({ QUEUED: 2, PENDING: 1 });

  // Who asked sees it in the queue, and that another person answers. The page hydrates after the frame has the status.
  const late = await withLatePage(page);
  await page.goto("/approvals");
  await expect(page.getByRole("navigation", { name: "Pages of Redrives" })).toContainText("waiting");
  await page.unrouteAll({ behavior: "wait" });
  await page.getByRole("listitem").filter({ hasText: source.name }).getByRole("link").click();
  const panel = page.getByRole("region", { name: "Approval" });
  await expect(panel).toContainText("Ada asked for it: another person approves or rejects it.");
  await expect(panel.getByRole("button")).toHaveCount(0);
  expect(await violations(page)).toEqual([]);
  expect(late).toEqual({ held: expect.any(Number), faults: [] });
  expect(late.held).toBeGreaterThan(0);

  // Who asked is told what waits, and not that it is for that person to answer.
  await page.goto("/redrives");
  const waiting = page.getByRole("navigation", { name: "Redrives that wait" });
  await waiting.getByRole("link", { name: /^\d+ for approval$/ }).click();
  await expect(page).toHaveURL(/waitsFor=approval$/);
  await expect(page.getByRole("main").getByRole("link", { name: "Redrive of 2 selected events" })).toBeVisible();
  await expect(waiting.getByRole("link", { name: /your approval/ })).toHaveCount(0);

  const second = await context.newPage();
  await actAs(second, "bob");
  await second.goto("/");
  await expect(second.getByRole("main").getByRole("link", { name: /waits? for your approval$/ })).toBeVisible();
  await second
    .getByRole("region", { name: "Status" })
    .getByRole("link", { name: /for your approval$/ })
    .click();
  // The overview has items that name the source, too.
  await expect(second).toHaveURL(/\/approvals$/);
  await second.getByRole("listitem").filter({ hasText: source.name }).getByRole("link").click();
  const offered = second.getByRole("region", { name: "Approval" });
  await expect(offered).toContainText(`source ${source.name} is marked`);
  await expect(offered).toContainText("pay-1");
  const id = second.url().split("/").at(-1)!;
  expect(await downstream.deliveries(source.path)).toEqual([]);
  await offered.getByRole("button", { name: "Approve…" }).click();
  const decision = second.getByRole("dialog");
  await decision.getByRole("textbox", { name: /Reason/ }).fill(`looked at both ${"n".repeat(400)}`);
  await decision.getByRole("button", { name: "Approve 2 events" }).click();
  await expect(offered).toContainText(/approved by bob/i);
  expect(await offered.evaluate((panel) => panel.scrollWidth - panel.clientWidth)).toBe(0);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 2, PENDING: 1 });
  expect((await downstream.deliveries(source.path)).map(({ key }) => key).sort()).toEqual(
    ["pay-1", "pay-2"].map((event) => `${source.name}:${event}`),
  );
  expect(await parkade.redrive(id)).toMatchObject({ state: "DONE", approval: { state: "given", askedBy: "Ada" } });
  await second.close();
});

test("a redrive at a time waits, says so, and is started now", async ({ page, parkade, downstream }) => {
  const source = await parkade.source("later");
  await source.park([{ eventId: "l-1" }, { eventId: "l-2" }]);
  await page.goto(source.href);
  for (const event of ["l-1", "l-2"]) {
    await page.getByRole("checkbox", { name: `Select event ${event}`, exact: true }).check();
  }
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Redrive…" }).click();
  const dialog = page.getByRole("dialog");
  await openMore(dialog);
  await dialog.getByRole("radio", { name: "at a set time" }).check();
  await dialog.getByRole("button", { name: "Redrive 2 events" }).click();
  await expect(dialog).toContainText("Choose a day and a time.");
  // The browser of a journey is in UTC.
  const at = new Date(Date.now() + 3_600_000).toISOString().slice(0, 16);
  await dialog.getByLabel("Start at, in this browser's time zone").fill(at);
  await dialog.getByRole("button", { name: "Redrive 2 events" }).click();
  await page.getByRole("button", { name: "View", exact: true }).click();
  await expect(page.getByRole("main").getByText("Starts at")).toContainText(at.slice(11));
  expect(await source.statuses()).toEqual({ QUEUED: 2 });
  await page.getByRole("button", { name: "Start now" }).click();
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 2 });
  expect(await downstream.deliveries(source.path)).toHaveLength(2);
});
