import { because, expect, test } from "./support/parkade.ts";

test("personal data is masked on the page, revealed with a reason, and the audit says so", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("masking");
  const payload = { customer: { email: "ada@example.com", street: "Canary Lane 7" }, amount: 12 };
  await source.park([{ eventId: "m-1", payload }]);
  const { id } = await source.event("m-1");

  // Masked by a detector from the start; by a rule once there is one.
  await page.goto("/masking");
  await page.getByRole("button", { name: "Add a rule…" }).click();
  const rule = page.getByRole("dialog", { name: "Add a mask rule" });
  await rule.getByRole("textbox", { name: "Pattern" }).fill("street");
  await rule.getByRole("textbox", { name: "Source" }).fill(source.name);
  await rule.getByRole("button", { name: "Add rule" }).click();
  await expect(rule).toBeHidden();
  await expect(
    page.getByRole("table", { name: "Rules" }).getByRole("row").filter({ hasText: source.name }),
  ).toContainText("street");

  await page.goto(`/events?source=${source.name}&open=${id}`);
  const panel = page.getByRole("complementary", { name: "Event" });
  await expect(panel).toContainText("2 values of the payload are masked.");
  await expect(panel).not.toContainText(/Canary Lane|ada@example/);

  await panel.getByRole("button", { name: "Reveal…" }).click();
  const dialog = page.getByRole("dialog", { name: "Show what is masked" });
  const reason = `she asked what we hold, see ${source.name}`;
  await because(dialog, reason, "Reveal");
  await expect(dialog).toBeHidden();
  await expect(panel).toContainText("Canary Lane 7");
  await expect(panel).toContainText("ada@example.com");

  // In this tab the reason is known now; each look is on record.
  await panel.getByRole("button", { name: "Mask again" }).click();
  await expect(panel).not.toContainText("Canary Lane");
  await panel.getByRole("button", { name: "Reveal…" }).click();
  await expect(panel).toContainText("Canary Lane 7");
  await page.goto("/audit?action=event.revealed");
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: reason })).toHaveCount(2);

  // The tester says which rule masks what.
  await page.goto("/masking");
  await page.getByRole("textbox", { name: "A payload, or the id of an event" }).fill('{"to":"eve@example.com","n":1}');
  await page.getByRole("button", { name: "Show what is masked" }).click();
  await expect(page.getByRole("status").filter({ hasText: "1 value masked" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Masked positions" }).getByRole("row").last()).toContainText("/toemail");
});
