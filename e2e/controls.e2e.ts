import { because, chooseMore, expect, openBeside, pickLoaded, test, toast } from "./support/parkade.ts";

test("a blacklist keeps an aggregate back until it is lifted", async ({ page, parkade, downstream }) => {
  const source = await parkade.source("blacklist");
  const aggregate = `order-of-${source.name}`;
  await source.park([
    { eventId: "k-1", aggregateId: aggregate, version: 1 },
    { eventId: "k-2", aggregateId: aggregate, version: 2 },
    { eventId: "k-3", aggregateId: `${aggregate}-other` },
  ]);
  await page.goto(`${source.href}&aggregateId=${aggregate}`);
  await chooseMore(await pickLoaded(page), "Blacklist");
  // The dialog proposes the scope that the selected events share.
  const dialog = page.getByRole("dialog", { name: "Blacklist" });
  await expect(dialog.getByRole("textbox", { name: "aggregate" })).toHaveValue(aggregate);
  await expect(dialog).toContainText("Matches 2 parked now, and new events.");
  await because(dialog, "its customer is being merged", "Blacklist");
  await expect(toast(page, `Blacklisted ${aggregate}`)).toBeVisible();

  await page.goto(source.href);
  await (await pickLoaded(page)).getByRole("button", { name: "Redrive…" }).click();
  const redriving = page.getByRole("dialog", { name: "Redrive 1 of 3" });
  await expect(redriving).toContainText("blacklisted 2");
  await redriving.getByRole("button", { name: "Redrive 1 event" }).click();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 2, REDRIVEN: 1 });

  await page.getByRole("link", { name: "Controls" }).click();
  const rule = page.getByRole("listitem").filter({ hasText: aggregate }).filter({ hasText: "matches 2 events" });
  await expect(rule).toContainText("blacklist");
  await expect(rule).toContainText("its customer is being merged");
  await expect(rule).toContainText("until lifted");
  await rule.getByRole("button", { name: "Lift…" }).click();
  const lifting = page.getByRole("dialog", { name: "Lift this blacklist?" });
  await lifting.getByRole("textbox", { name: "Reason" }).fill("merged");
  await lifting.getByRole("button", { name: "Lift", exact: true }).click();
  await expect(rule).toBeHidden();
  await page.getByRole("button", { name: "Show lifted and expired controls" }).click();
  await expect(page.getByRole("main")).toContainText("merged");

  await page.goto(source.href);
  const panel = await openBeside(page, "k-1");
  await panel.getByRole("button", { name: "Redrive", exact: true }).click();
  await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(2);
});

test("many are lifted at once, and put back", async ({ page, parkade }) => {
  const [source, other] = [await parkade.source("lifted"), await parkade.source("kept")];
  for (const [at, { name }] of [source, source, source, other].entries()) {
    const scope = { source: name, aggregateId: `${at}-of-${name}` };
    await parkade.impose({ kind: "blacklist", scope, reason: "the consumer fails on them" });
  }
  await page.goto("/controls");
  const inForce = (name: string) => page.getByRole("listitem").filter({ hasText: `of-${name}` });
  await expect(inForce(source.name)).toHaveCount(3);
  await page.getByRole("button", { name: "Lift several…" }).click();
  const dialog = page.getByRole("dialog", { name: "Lift several controls" });
  await dialog.getByRole("combobox", { name: "Source" }).selectOption(source.name);
  await expect(dialog.getByRole("status")).toHaveText("0 controls in force match.");
  await dialog.getByRole("combobox", { name: "Added by" }).selectOption("people");
  await expect(dialog.getByRole("status")).toHaveText("3 controls in force match.");
  await because(dialog, "the consumer is fixed", "Lift 3 controls");
  await expect(inForce(source.name)).toHaveCount(0);
  await expect(inForce(other.name)).toHaveCount(1);
  await toast(page, "Lifted 3 controls").getByRole("button", { name: "Undo" }).click();
  await expect(toast(page, "3 controls in force again")).toBeVisible();
  await expect(inForce(source.name)).toHaveCount(3);
});
