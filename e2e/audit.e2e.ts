import { because, expect, pick, test } from "./support/parkade.ts";

test("every change is in the audit with who, why, before and after", async ({ page, parkade }) => {
  const source = await parkade.source("audit");
  await source.park([{ eventId: "a-1" }]);

  // The person sets a name once; the browser stores it.
  await page.goto(source.href);
  await page.getByRole("button", { name: "No name set: enter your name" }).click();
  await page.getByRole("textbox", { name: /name/i }).fill("maria");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: /maria/ })).toBeVisible();

  await (await pick(page, "a-1")).getByRole("button", { name: "Ignore…" }).click();
  const dialog = page.getByRole("dialog", { name: "Ignore 1 event" });
  const reason = `a duplicate, see ${source.name}`;
  await because(dialog, reason, "Ignore 1 event");
  await expect(dialog).toBeHidden();

  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("combobox", { name: "Actor" }).fill("maria");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page).toHaveURL(/actor=maria/);
  await page.getByRole("combobox", { name: "Action" }).selectOption("Event ignored");
  await expect(page).toHaveURL(/action=event\.ignored/);
  const entry = page.getByRole("main").getByRole("listitem").filter({ hasText: reason }).first();
  await expect(entry).toContainText("maria");
  await entry.getByRole("button", { name: "Event ignored" }).click();
  await expect(entry.getByRole("deletion")).toHaveText('"PENDING"');
  await expect(entry.getByRole("insertion")).toHaveText('"IGNORED"');

  // The event links to its entry, and the entry links to the event.
  await entry.getByRole("link", { name: /^event/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("a-1");
  await page.getByRole("tab", { name: /^History/ }).click();
  await page.getByRole("tabpanel").getByRole("link", { name: /audit/ }).click();
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: reason })).toHaveCount(1);
});
