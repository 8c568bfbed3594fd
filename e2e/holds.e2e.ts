import { expect, test, toast } from "./support/parkade.ts";

test("a legal hold keeps an event from its removal until it is lifted", async ({ page, parkade, request }) => {
  const source = await parkade.source("held");
  const aggregateId = `order-of-${source.name}`;
  await source.park([{ eventId: "h-1", aggregateId }, { eventId: "h-2" }]);
  const ignore = { select: { filter: { source: [source.name] } }, reason: "test orders" };
  expect((await request.post("/api/v1/events/ignore", { data: ignore })).ok()).toBe(true);

  await page.goto("/archive");
  await page.getByRole("link", { name: "Legal holds" }).click();
  await page.getByRole("button", { name: "Place a hold…" }).first().click();
  const placing = page.getByRole("dialog", { name: "Place a legal hold" });
  await placing.getByRole("textbox", { name: "Reason" }).fill("claim 2026/118");
  await placing.getByRole("button", { name: "Place the hold" }).click();
  await expect(placing).toContainText("Name what it covers.");
  await placing.getByRole("combobox", { name: "Scope" }).selectOption("tag");
  await expect(placing.getByRole("textbox", { name: "tag name" })).toBeVisible();
  await placing.getByRole("combobox", { name: "Scope" }).selectOption("aggregate");
  await placing.getByRole("textbox", { name: "aggregate", exact: true }).fill(aggregateId);
  await expect(placing).toContainText("Covers 1 in the store now, those in the archive, and what comes.");
  await placing.getByRole("button", { name: "Place the hold" }).click();
  await expect(toast(page, `Under a legal hold: ${aggregateId}`)).toBeVisible();
  const hold = page
    .getByRole("list", { name: "Legal holds in force" })
    .getByRole("listitem")
    .filter({ hasText: aggregateId });
  await expect(hold).toContainText("claim 2026/118");
  await expect(hold).toContainText("in all sources");

  await page.goto(`${source.href}&status=IGNORED`);
  await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Remove…" }).click();
  const removing = page.getByRole("dialog", { name: "Remove 1 of 2 events" });
  await expect(removing).toContainText("One is under a legal hold.");
  await removing.getByRole("textbox", { name: "Reason" }).fill("the disk fills up");
  await removing.getByRole("button", { name: "Remove 1 event" }).click();
  await expect(toast(page, "Removed 1 event into the archive")).toContainText("Not changed: 1 under a legal hold");

  await page.goto("/archive/holds");
  await hold.getByRole("button", { name: "Lift…" }).click();
  const lifting = page.getByRole("dialog", { name: "Lift this legal hold?" });
  await lifting.getByRole("textbox", { name: "Reason" }).fill("the claim is settled");
  await lifting.getByRole("button", { name: "Lift", exact: true }).click();
  await expect(toast(page, "Lifted the legal hold")).toBeVisible();
  await page.getByRole("button", { name: "Show lifted holds" }).click();
  await expect(page.getByRole("main")).toContainText("lifted because: the claim is settled");
  const preview = await request.post("/api/v1/events/remove/preview", { data: { select: ignore.select } });
  expect(await preview.json()).toMatchObject({ removable: 1, keptByReason: {} });
});
