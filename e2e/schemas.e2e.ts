import { violations } from "./support/axe.ts";
import { expect, pickLoaded, test, toast } from "./support/parkade.ts";

test("a schema is inferred from what went through; a broken event is refused with its place, and passes once it is mended", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("schemas");
  await source.park([
    { eventId: "good-1", payload: { amount: 1, note: "x" } },
    { eventId: "good-2", payload: { amount: 2 } },
  ]);
  await parkade.redriveAll(source.name);
  await expect.poll(async () => (await source.statuses()).REDRIVEN ?? 0).toBe(2);
  await source.park([
    { eventId: "text", payload: { amount: "12" } },
    { eventId: "fine", payload: { amount: 12 } },
  ]);

  await page.goto(`/sources/${source.name}`);
  const panel = page.getByRole("region", { name: "Schemas" });
  await panel.getByRole("button", { name: "Add a schema…" }).click();
  const dialog = page.getByRole("dialog", { name: `Add a schema to ${source.name}` });
  await dialog.getByLabel(/^Event type/).fill("OrderCreated");
  await dialog.getByRole("button", { name: "Infer from redriven events" }).click();
  await expect(dialog).toContainText("Read from 2 redriven events, 0 of them confirmed. Optional: /note.");
  await expect(dialog.getByLabel("JSON Schema", { exact: true })).toHaveValue(/"amount": \{\s+"type": "integer"/);
  await dialog.getByRole("button", { name: "Test on events" }).click();
  await expect(dialog).toContainText("1 of the newest 2 parked events would pass.");
  await expect(dialog).toContainText("2 of the newest 2 redriven events would pass.");
  await expect(dialog).toContainText("text: /amount must be integer. To do: make /amount integer");
  expect(await violations(page)).toEqual([]);
  await dialog.getByLabel(/^Reason/).fill("what billing takes");
  await dialog.getByRole("button", { name: "Save version" }).click();
  await expect(toast(page, "Version 1 of OrderCreated is now current")).toBeVisible();
  await expect(panel).toContainText("version 1, inferred from 2 events");

  const verify = async () => {
    await page.goto(`${source.href}&status=PENDING`);
    await (await pickLoaded(page)).getByRole("button", { name: "Verify" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Verify 2 events" }).click();
    await toast(page, "Dry run started: 2 events").getByRole("button", { name: "View" }).click();
    await expect(page.getByRole("main")).toContainText("2 of 2 finished");
  };
  await verify();
  const main = page.getByRole("main");
  const row = main.getByRole("row").filter({ hasText: "schema-mismatch" });
  await row.getByRole("button", { name: /of \d+ checks failed$/ }).click();
  await expect(main).toContainText("/amount must be integer (version 1 of the schema of OrderCreated)");
  await expect(main).toContainText("To do: make /amount integer");

  const { id } = await source.event("text");
  const edited = await page.request.post(`/api/v1/events/${id}/revisions`, {
    data: { base: 1, text: '{"amount": 12}', reason: "a number by contract" },
  });
  expect(edited.ok()).toBe(true);
  await verify();
  await expect(page.getByRole("main")).not.toContainText("schema-mismatch");

  await page.goto(`/sources/${source.name}`);
  await panel.getByRole("button", { name: "OrderCreated: Versions…" }).click();
  const versions = page.getByRole("dialog", { name: "Versions of the schema of OrderCreated" });
  await expect(versions.getByRole("textbox", { name: "JSON Schema" })).toHaveValue(/"integer"/);
  await versions.getByLabel(/^Reason/).fill("too strict");
  await versions.getByRole("button", { name: "Retire this schema" }).click();
  await expect(toast(page, "The schema is retired")).toBeVisible();
  await expect(panel).toContainText("retired, had 1 version");
});
