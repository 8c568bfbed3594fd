import { because, expect, openBeside, pick, rowOf, test, toast } from "./support/parkade.ts";

test("events are ignored with a reason, are not redriven, and are released again", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("ignore");
  await source.park([{ eventId: "i-1" }, { eventId: "i-2" }, { eventId: "i-3" }]);
  await page.goto(source.href);
  const selection = await pick(page, "i-1", "i-2");
  await expect(selection).toContainText("2 selected");
  await selection.getByRole("button", { name: "Ignore…" }).click();
  const ignoring = page.getByRole("dialog", { name: "Ignore 2 events" });
  await expect(ignoring.getByRole("button", { name: "Ignore 2 events" })).toBeDisabled();
  await because(ignoring, "test orders of the load test", "Ignore 2 events");
  await expect(toast(page, "Ignored 2 events")).toBeVisible();
  await expect(rowOf(page, "i-1")).toContainText("IGNORED");
  await expect(rowOf(page, "i-3")).toContainText("PENDING");

  // Ignored events alone are not offered what would be refused.
  await pick(page, "i-1", "i-2");
  await expect(selection.getByRole("button", { name: "Release…" })).toBeVisible();
  await expect(selection.getByRole("button", { name: /^(Redrive|Verify|Ignore)/ })).toHaveCount(0);

  // A redrive of all events leaves the ignored events out, and says so before it starts.
  await page.keyboard.press("Shift+A");
  await selection.getByRole("button", { name: "Redrive…" }).click();
  const redriving = page.getByRole("dialog", { name: "Redrive 1 of 3" });
  await expect(redriving).toContainText("2 will be refused:");
  await expect(redriving).toContainText("ignored 2");
  await page.keyboard.press("Escape");
  await expect(redriving).toBeHidden();

  const panel = await openBeside(page, "i-1");
  await panel.getByRole("button", { name: "Release…" }).click();
  const releasing = page.getByRole("dialog", { name: "Release 1 event" });
  await because(releasing, "this one was real", "Release 1 event");
  await expect(toast(page, "Released 1 event")).toBeVisible();
  await expect(rowOf(page, "i-1")).toContainText("PENDING");
  expect(await source.statuses()).toEqual({ PENDING: 2, IGNORED: 1 });

  await panel.getByRole("button", { name: "Open its page" }).click();
  await page.getByRole("tab", { name: /^History/ }).click();
  const history = page.getByRole("list", { name: "History" }).getByRole("listitem");
  await expect(history).toHaveCount(3);
  await expect(history.nth(0)).toContainText("this one was real");
  await expect(history.nth(1)).toContainText("test orders of the load test");
  expect(await downstream.deliveries(source.path)).toEqual([]);
});
