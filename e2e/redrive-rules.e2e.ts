import { because, expect, test, toast } from "./support/parkade.ts";

const timeouts = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ eventId: `late-${from + index}`, errorCode: "TIMEOUT" }));

test("a rule is tried against the past, switched on, redrives, and switches itself off when its events fail", async ({
  page,
  parkade,
  downstream,
}) => {
  test.slow();
  const source = await parkade.source("rules");
  const name = `timeouts of ${source.name}`;
  // The past: three timeouts, of which two were redriven by hand and succeeded.
  await source.park(timeouts(1, 2));
  await parkade.redriveAll(source.name);
  await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(2);
  await expect.poll(async () => (await source.statuses()).REDRIVEN).toBe(2);
  await parkade.confirm(source.name, ["late-1", "late-2"]);
  await source.park(timeouts(3, 1));

  await page.goto("/redrive-rules");
  await page.getByRole("button", { name: "New redrive rule…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New redrive rule" });
  await dialog.getByRole("textbox", { name: "Name" }).fill(name);
  await dialog.getByRole("textbox", { name: "Delay after parking, minutes" }).fill("0");
  await dialog.getByRole("textbox", { name: "Seconds between runs" }).fill("1");
  await dialog.getByRole("checkbox", { name: "only if the same group succeeded since" }).uncheck();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("timeouts pass");
  // A filter that matches everything is refused, at its field.
  await dialog.getByRole("button", { name: "Save without switching on" }).click();
  await expect(dialog.getByRole("textbox", { name: "Events", exact: true })).toBeFocused();
  await dialog.getByRole("textbox", { name: "Events", exact: true }).fill(`source:${source.name} errorCode:TIMEOUT`);
  await dialog.getByRole("button", { name: "Save without switching on" }).click();
  await expect(toast(page, `Saved ${name}`)).toBeVisible();
  const rule = page.getByRole("listitem", { name });
  await expect(rule).toContainText("OFF");
  await expect(rule).toContainText("as soon as they are parked, at most twice each, slow lane");
  await expect(rule).toContainText("not tested");

  // Tried, then switched on with that trial.
  await rule.getByRole("button", { name: "Switch on…" }).click();
  const switching = page.getByRole("dialog", { name: `Switch on: ${name}` });
  const would = switching.getByRole("region", { name: "What it would have done" });
  await expect(would).toContainText(
    "Would have redriven 3 events from the last 7 days: 2 succeeded, 1 was never redriven",
  );
  await expect(would).toContainText("Parked now and matching: 1.");
  await because(switching, "two of three succeeded", "Switch on");
  await expect(rule).toContainText("ON");
  await expect(rule).toContainText("would have redriven 3, of which 2 succeeded");

  // A worker redrives what is parked, as the rule.
  await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(3);
  await expect(rule).toContainText("1 event redriven in 24 hours");
  await rule
    .getByRole("link", { name: /redrive/ })
    .last()
    .click();
  await expect(page.getByRole("main")).toContainText(`rule:${name}`);

  // The downstream fails: the rule stops, and says why, here and in the audit.
  await downstream.rules([{ path: source.path, status: 422 }]);
  await source.park(timeouts(10, 30));
  await page.goto("/redrive-rules");
  await expect(rule).toContainText("STOPPED");
  await expect(rule).toContainText(/Switched itself off .*failed/);
  await rule.getByRole("link", { name: "audit" }).click();
  await expect(page.getByRole("main")).toContainText("Redrive rule stopped");
  const sent = (await downstream.deliveries(source.path)).length;
  expect(sent).toBeLessThan(3 + 30 + 1);

  await page.goto("/redrive-rules");
  await rule.getByRole("button", { name: "Delete…" }).click();
  const deleting = page.getByRole("dialog", { name: `Delete ${name}?` });
  await deleting.getByRole("textbox", { name: "Reason" }).fill("done");
  await deleting.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(rule).toBeHidden();
});
