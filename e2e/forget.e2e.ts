import { expect, test } from "./support/parkade.ts";

test("a person is forgotten by a tag, after the number was typed, and the report names nobody", async ({
  page,
  parkade,
  request,
}) => {
  const source = await parkade.source("forget");
  const who = `ada@${source.name}.example`;
  await source.park([
    { eventId: "f-1", tags: { customer: who }, payload: { email: who } },
    { eventId: "f-2", tags: { customer: who } },
    { eventId: "f-3" },
  ]);
  await page.goto("/archive");
  await page.getByRole("link", { name: "Forget a person", exact: true }).click();
  await page.getByRole("button", { name: "Forget a person…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Forget a person" });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("request 2026/311");
  await dialog.getByRole("button", { name: "Forget", exact: true }).click();
  await expect(dialog).toContainText("Enter the value that identifies the person.");
  await dialog.getByRole("textbox", { name: "tag name" }).fill("customer");
  await dialog.getByRole("textbox", { name: "value" }).fill(who);
  await dialog.getByRole("textbox", { name: "Only in source" }).fill(source.name);
  await expect(dialog).toContainText("2 events in the store");
  const button = dialog.getByRole("button", { name: "Forget 2 events" });
  await expect(button).toBeDisabled();
  await dialog.getByRole("textbox", { name: "Type 2 to confirm" }).fill("2");
  await button.click();
  // The receipt is not stored: it stays until it is dismissed, whatever else is clicked.
  const receipt = page.getByRole("dialog", { name: "Deletion started" });
  await page.keyboard.press("Escape");
  await expect(receipt).toContainText(/[0-9a-f]{64}/);
  await receipt.getByRole("button", { name: "Done" }).click();
  const report = page.getByRole("list", { name: "What was forgotten" }).getByRole("listitem").first();
  await expect(report).toContainText("2 events of the store", { timeout: 30_000 });
  await expect(report).toContainText("Forgotten");
  await expect(report).not.toContainText(who);
  expect(await source.statuses()).toEqual({ PENDING: 1 });
  const list = await request.get(`/api/v1/events?tag.customer=${encodeURIComponent(who)}`);
  expect((await list.json()).items).toEqual([]);
});
