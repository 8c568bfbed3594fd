import { violations } from "./support/axe.ts";
import { because, chooseMore, expect, pick, rowOf, test, toast } from "./support/parkade.ts";

test("an ignored event is removed into the archive, found there by its aggregate, restored and redriven", async ({
  page,
  parkade,
  downstream,
  request,
}) => {
  const source = await parkade.source("archive");
  const aggregateId = `order-of-${source.name}`;
  await source.park([
    { eventId: "a-1", aggregateId, version: 2 },
    // Without a version it waits for nobody: an IGNORED event stays while later versions wait behind it.
    { eventId: "a-2", aggregateId },
  ]);
  const { id } = await source.event("a-1");
  const ignored = await request.post("/api/v1/events/ignore", {
    data: { select: { ids: [id] }, reason: "a test order" },
  });
  expect(ignored.ok()).toBe(true);

  const list = `${source.href}&aggregateId=${aggregateId}`;
  await page.goto(list);
  await chooseMore(await pick(page, "a-1", "a-2"), "Remove");
  const removing = page.getByRole("dialog", { name: "Remove 1 of 2 events" });
  await expect(removing).toContainText("Not removed1 eventPENDING");
  await expect(removing).toContainText("parkade-e2e-archive-");
  await expect(removing.getByRole("button", { name: "Remove 1 event" })).toBeDisabled();
  await because(removing, "the disk fills up", "Remove 1 event");
  await expect(toast(page, "Moved 1 event to the archive")).toContainText("Not changed: 1 still PENDING");
  expect(await source.statuses()).toEqual({ PENDING: 1 });

  // A page that a person has bookmarked says where the event is.
  await page.goto(`/events/${id}`);
  await expect(page.getByRole("heading", { name: "This event is in the archive" })).toBeVisible();
  await expect(page.getByRole("main")).toContainText("removed it from the store");

  // A word that is searched for may be the name of what was removed.
  await page.goto(`/events?q=${aggregateId}`);
  await expect(page.getByText(`1 event of ${aggregateId} is in the archive`)).toBeVisible();
  await page.goto(list);
  await expect(page.getByText(`1 more of ${aggregateId} is in the archive`)).toBeVisible();
  await expect(rowOf(page, "a-1")).toBeHidden();
  await page.getByRole("link", { name: "in the archive" }).click();
  const archived = page.getByRole("table", { name: "Archived events" }).getByRole("row").filter({ hasText: "a-1" });
  await expect(archived).toContainText("IGNORED");
  await expect(page.getByRole("textbox", { name: "Aggregate" })).toHaveValue(aggregateId);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(archived.getByRole("checkbox", { name: "Select event a-1" })).toBeChecked();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Restore 1 event" }).click();
  await expect(page.getByRole("heading", { name: "No archived event matches" })).toBeVisible();
  await toast(page, "Restored 1 event").getByRole("button", { name: "Show" }).click();
  await expect(rowOf(page, "a-1")).toContainText("IGNORED");
  expect((await source.event("a-1")).id).toBe(id);

  await page.goto(`/events/${id}?tab=history`);
  const history = page.getByRole("list", { name: "History" });
  await expect(history).toContainText("Removed into the archive");
  await expect(history).toContainText("Restored from an export or from the archive");
  await page.getByRole("button", { name: "Release…" }).click();
  await because(page.getByRole("dialog"), "it was a real one", "Release 1 event");
  await expect(toast(page, "Released 1 event")).toBeVisible();
  await parkade.redriveAll(source.name);
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 2 });
  expect((await downstream.deliveries(source.path)).map(({ body }) => JSON.parse(body))).toEqual([
    { orderId: "a-1" },
    { orderId: "a-2" },
  ]);
});
