import { expect, listed, test } from "./support/parkade.ts";

test("every change is in the audit with who, why, before and after", async ({ page, parkade }) => {
  const source = await parkade.source("audit");
  await source.park([{ eventId: "a-1" }]);

  // The person sets a name once; the browser stores it.
  await page.goto(source.href);
  await page.getByRole("button", { name: "Say who you are" }).click();
  await page.getByRole("textbox", { name: /name/i }).fill("maria");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: /maria/ })).toBeVisible();

  await page.getByRole("checkbox", { name: "Select event a-1", exact: true }).check();
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Ignore…" }).click();
  const dialog = page.getByRole("dialog", { name: "Ignore 1 event" });
  const reason = `a duplicate, see ${source.name}`;
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: "Ignore 1 event" }).click();
  await expect(dialog).toBeHidden();

  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("textbox", { name: "Actor" }).fill("maria");
  await page.getByRole("combobox", { name: "Action" }).fill("event.ignored");
  await page.getByRole("button", { name: "Apply" }).click();
  await expect(page).toHaveURL(/actor=maria/);
  const entry = page.getByRole("main").getByRole("listitem").filter({ hasText: reason }).first();
  await expect(entry).toContainText("maria");
  await entry.getByRole("button", { name: "event.ignored" }).click();
  await expect(entry.getByRole("deletion")).toHaveText('"PENDING"');
  await expect(entry.getByRole("insertion")).toHaveText('"IGNORED"');

  // The event links to its entry, and the entry links to the event.
  await entry.getByRole("link", { name: /^event/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("a-1");
  await page.getByRole("tab", { name: /^History/ }).click();
  await page.getByRole("tabpanel").getByRole("link", { name: /audit/ }).click();
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: reason })).toHaveCount(1);
});

test("an entry over several events leads to exactly these, and one of a changed rate shows the old and the new value", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("several", { ratePerSecond: 7 });
  await source.park([{ eventId: "s-1" }, { eventId: "s-2" }, { eventId: "s-3" }]);
  await page.goto(source.href);
  for (const id of ["s-1", "s-3"]) {
    await page.getByRole("checkbox", { name: `Select event ${id}`, exact: true }).check();
  }
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Ignore…" }).click();
  const dialog = page.getByRole("dialog", { name: "Ignore 2 events" });
  const reason = `two duplicates, see ${source.name}`;
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: "Ignore 2 events" }).click();
  await expect(dialog).toBeHidden();

  await page.goto("/audit?action=event.ignored");
  const entry = page.getByRole("main").getByRole("listitem").filter({ hasText: reason }).first();
  await entry.getByRole("button", { name: "event.ignored" }).click();
  await entry.getByRole("link", { name: "Show them in Events" }).click();
  await expect.poll(() => listed(page)).toEqual(["s-3", "s-1"]);

  await source.setRate(9);
  await page.goto(`/audit?subjectKind=target&subjectId=${source.name}`);
  const rate = page.getByRole("main").getByRole("listitem").filter({ hasText: "ratePerSecond: 7 → 9" });
  await expect(rate).toHaveCount(1);
  await expect(rate).toContainText("a journey sets its pace");
});
