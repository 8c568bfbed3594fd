import { violations } from "./support/axe.ts";
import { because, expect, openBeside, openMore, test, toast } from "./support/parkade.ts";

test("a rule is written, tried, switched on, and the redrive asks for its confirmation", async ({
  page,
  parkade,
  request,
  downstream,
}) => {
  test.slow();
  const source = await parkade.source("admission");
  const name = `stock is gone for ${source.name}`;
  const failure = { errorCode: "UNKNOWN", error: { type: "com.acme.SoldOutException", message: "no stock left" } };
  await source.park([{ eventId: "old-1", ...failure }, { eventId: "old-2" }]);

  // Written: the preview follows each change of the form.
  await page.goto("/admission");
  await page.getByRole("button", { name: "New rule…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New rule" });
  await dialog.getByRole("textbox", { name: "Name" }).fill(name);
  await dialog.getByRole("combobox", { name: "Source" }).selectOption(source.name);
  const condition = dialog.getByRole("group", { name: "Condition 1" });
  await condition.getByRole("combobox", { name: "Test" }).selectOption("ends with");
  await condition.getByRole("textbox", { name: "Value" }).fill("NoSuchException");
  await dialog.getByRole("radio", { name: /require confirmation/ }).check();
  const would = dialog.getByRole("region", { name: "What it would do" });
  await expect(would).toContainText("None of the newest 2 events matches.");
  await condition.getByRole("textbox", { name: "Value" }).fill("SoldOutException");
  await dialog.getByRole("combobox", { name: "Error code" }).selectOption("set to");
  await dialog.getByRole("textbox", { name: "New error code" }).fill("NO_STOCK");
  await dialog.getByRole("textbox", { name: "Group" }).fill("stock is gone");
  await expect(would).toContainText("1 of the newest 2 events matches: 1 would change.");
  await expect(would).toContainText(/UNKNOWN →\s*becomes NO_STOCK · “stock is gone” · needs confirmation/);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Save without switching on" }).click();
  await expect(dialog.getByRole("textbox", { name: "Reason" })).toBeFocused();
  await because(dialog, "a redrive without stock fails again", "Save without switching on");
  await expect(toast(page, `Saved ${name}`)).toBeVisible();
  const rule = page.getByRole("listitem", { name });
  await expect(rule).toContainText("OFF");
  await expect(rule).toContainText("when exception type ends with SoldOutException");

  // Off: nothing happens to what arrives.
  await source.park([{ eventId: "off", ...failure }]);
  expect((await source.detail("off")).admission).toBeNull();

  // Tried once more as it is switched on.
  await rule.getByRole("button", { name: "Switch on…" }).click();
  const switching = page.getByRole("dialog", { name: `Switch on: ${name}` });
  await expect(switching.getByRole("region", { name: "What it would do" })).toContainText(
    "2 of the newest 3 events match",
  );
  await because(switching, "tried on what is parked", "Switch on");
  await expect(rule).toContainText("ON");
  await source.park([{ eventId: "new-1", ...failure }, { eventId: "new-2" }]);
  await expect(rule).toContainText("matched 1 in the last hour, 1 message in 24 hours");

  // The event names the rule, and its redrive asks.
  await page.goto(source.href);
  const panel = await openBeside(page, "new-1");
  await expect(panel).toContainText("Needs confirmation.");
  // From the event to its rule alone, from there to the events that look as the rule leaves them, and back.
  await panel.getByRole("link", { name: `by the rule ${name}` }).click();
  await expect(page.getByRole("list", { name: "Rules" }).getByRole("listitem")).toHaveCount(1);
  await rule.getByRole("link", { name: "events that need confirmation, of NO_STOCK" }).click();
  await expect(page.getByRole("link", { name: "new-1" }).or(page.getByText("new-1"))).not.toHaveCount(0);
  await expect(page.getByText("new-2")).toHaveCount(0);
  await page.goBack();
  await page.goto(`/sources/${source.name}`);
  await page.getByRole("link", { name: "Admission rules" }).click();
  await expect(page.getByRole("main")).toContainText(`The rules that apply to the source ${source.name}.`);
  await expect(rule).toBeVisible();
  await page.getByRole("link", { name: "Show all rules" }).click();
  await expect(page.getByRole("region", { name: "Always" })).toBeVisible();
  await page.goto(source.href);
  await openBeside(page, "new-1");
  await panel.getByRole("button", { name: "Redrive", exact: true }).click();
  const redriving = page.getByRole("dialog");
  await expect(redriving).toContainText("need confirmation 1");
  await expect(redriving.getByRole("button", { name: "Redrive 0 events" })).toBeDisabled();
  await redriving.getByRole("checkbox", { name: "Send the event that needs confirmation" }).check();
  await openMore(redriving);
  await because(redriving, "stock is back", "Redrive 1 event");
  await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
  const [redrive] = await parkade.redrives();
  expect(redrive).toMatchObject({ reason: "stock is back", despite: ["needs-confirmation"] });
  const { id } = await source.event("new-1");
  await page.goto(`/events/${id}`);
  await expect(page.getByRole("complementary", { name: "Facts" })).toContainText("arrived as UNKNOWN");

  // It drops from now on: counted, with samples.
  await page.goto("/admission");
  await rule.getByRole("button", { name: "Edit…" }).click();
  const editing = page.getByRole("dialog", { name: `Edit ${name}` });
  await editing.getByRole("radio", { name: "drop and count the message" }).check();
  await expect(editing.getByRole("region", { name: "What it would do" })).toContainText("3 would be dropped");
  await because(editing, "it is noise by now", "Save");
  await expect(rule).toContainText("dropped and counted");
  const noise = { source: source.name, eventId: "noise-1", payload: {}, ...failure };
  expect(await (await request.post("/api/v1/events", { data: [noise] })).json()).toMatchObject({
    accepted: 0,
    dropped: 1,
  });
  await rule.getByRole("button", { name: "Show samples" }).click();
  await expect(rule.getByRole("list", { name: "Samples" })).toContainText("noise-1");

  await rule.getByRole("button", { name: "Switch off…" }).click();
  const off = page.getByRole("dialog", { name: `Switch off: ${name}` });
  await because(off, "done", "Switch off");
  await expect(rule).toContainText("OFF");
  await rule.getByRole("button", { name: "Delete…" }).click();
  const deleting = page.getByRole("dialog", { name: `Delete ${name}?` });
  await deleting.getByRole("textbox", { name: "Reason" }).fill("done");
  await deleting.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(rule).toBeHidden();
  // The event still names it.
  await page.goto(`/events/${id}`);
  await page.getByRole("complementary", { name: "Facts" }).getByRole("link", { name }).click();
  await expect(page.getByRole("main")).toContainText("This rule no longer exists");
  await page.getByRole("main").getByRole("link", { name: "Its audit log entries" }).click();
  await expect(page.getByRole("main")).toContainText("done");
});
