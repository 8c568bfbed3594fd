import { expect, holdLong, test } from "./support/parkade.ts";

test("a later version is not sent alone by one press: what becomes of the earlier ones is asked", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("order");
  const aggregateId = `order-${source.name}`;
  for (const version of [1, 2, 3]) {
    await source.park([{ eventId: `v-${version}`, aggregateId, version }]);
  }
  const { id } = await source.event("v-3");
  await page.goto(`/events/${id}?tab=aggregate`);
  await expect(page.getByRole("tabpanel")).toContainText("An earlier version is parked");
  await page.getByRole("button", { name: "Redrive", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("region", { name: "Earlier versions" })).toBeVisible();

  // The key that redrives asks the same in the list.
  await page.goto(source.href);
  await page.getByRole("row").filter({ hasText: "v-3" }).click();
  await page.keyboard.press("r");
  await expect(page.getByRole("dialog", { name: "Redrive v-3?" })).toBeFocused();
  await page.keyboard.press("Enter");
  const earlier = dialog.getByRole("region", { name: "Earlier versions" });
  await expect(earlier).toContainText("1 of the events is behind 2 earlier versions");
  await expect(earlier).toContainText(`${aggregateId} v3 is behind v1, v2`);
  await expect(earlier.getByRole("radio", { name: /^Send only what can go now/ })).toBeChecked();
  expect(await downstream.deliveries(source.path)).toEqual([]);

  // Sending ahead of the earlier versions needs a typed word.
  await earlier.getByRole("radio", { name: /^Send all the same/ }).check();
  await dialog.getByRole("button", { name: "Redrive 1 event", exact: true }).click();
  await expect(dialog).toContainText("Type strand 2 to confirm.");

  await earlier.getByRole("radio", { name: /^Send only what can go now/ }).check();
  await expect(dialog.getByRole("button", { name: "Redrive 0 events" })).toBeDisabled();

  await earlier.getByRole("radio", { name: /^Take the 2 earlier versions along/ }).check();
  await dialog.getByRole("button", { name: "Redrive 3 events" }).click();
  await expect(dialog).toBeHidden();
  await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 3 });
  const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
  expect(keys).toEqual([1, 2, 3].map((version) => `${source.name}:v-${version}`));
});

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
  const tail = page.getByRole("region", { name: "Held tail" });
  await expect(tail).toContainText("v1 holds 2 later events: it is parked and was not sent yet.");
  await expect(tail).toContainText("In this order: v2, v3.");
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
  const release = tail.getByRole("button", { name: "Release 2 later events" });
  await release.click();
  const held = page.getByRole("region", { name: "Redrives that can be undone" });
  await held.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 3 });
  expect(asked).toEqual([5_000]);
  await letGo();
  await release.click();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 1, REDRIVEN: 2 });
  const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
  expect(keys).toEqual([2, 3].map((version) => `${source.name}:t-${version}`));
});
