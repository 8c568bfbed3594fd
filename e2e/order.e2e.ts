import { expect, holdLong, listed, test } from "./support/parkade.ts";

test("a held tail is shown with its head, which is skipped and taken back, and the tail is released in its order", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("tail");
  for (const version of [1, 2, 3]) {
    await source.park([{ eventId: `t-${version}`, aggregateId: `tail-${source.name}`, version }]);
  }
  const { id } = await source.event("t-3");
  await page.goto(`/events/${id}?tab=aggregate`);
  const tail = page.getByRole("region", { name: "Held events" });
  await expect(tail).toContainText("v1 holds 2 later events: it is parked and has not been sent yet.");
  await expect(tail).toContainText("In this order: v2, v3.");
  await tail.getByRole("link", { name: "2 later events" }).click();
  await expect.poll(() => listed(page)).toEqual(["t-3", "t-2"]);
  await page.goBack();
  await expect(tail.getByRole("link", { name: "Mend v1" })).toHaveAttribute("href", /\?edit=1$/);

  await tail.getByRole("button", { name: "Skip v1…" }).click();
  const dialog = page.getByRole("dialog", { name: "Skip v1?" });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("corrected by hand");
  await page.keyboard.press("Control+Enter");
  await expect(tail).toContainText("v1 was skipped by local");
  await expect(tail).toContainText("v2 holds 1 later event");
  await tail.getByRole("button", { name: "Undo the skip of v1" }).click();
  await expect(tail).toContainText("v1 holds 2 later events");

  const { asked, release: letGo } = await holdLong(page);
  const release = async () => {
    await tail.getByRole("button", { name: "Send out of order: 2 later events…" }).click();
    const sure = page.getByRole("dialog", { name: "Send 2 later events ahead of v1?" });
    await expect(sure).toContainText("v1 can no longer be sent");
    await sure.getByRole("textbox", { name: "Reason" }).fill("v1 is not needed");
    await sure.getByRole("button", { name: "Send out of order" }).click();
  };
  await release();
  const held = page.getByRole("region", { name: "Redrives that can be undone" });
  await held.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 3 });
  expect(asked).toEqual([5_000]);
  await letGo();
  await release();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 1, REDRIVEN: 2 });
  // The bar counts down once, and is gone when the hold is over.
  await expect(held).toHaveCount(0);
  const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
  expect(keys).toEqual([2, 3].map((version) => `${source.name}:t-${version}`));
});
