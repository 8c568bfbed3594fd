import { violations } from "./support/axe.ts";
import { because, expect, test, toast } from "./support/parkade.ts";

test("a policy is edited as fields and as JSON, with a contract beside it", async ({ page, request, parkade }) => {
  const source = await parkade.source("form");
  const name = `form-${source.name.replace(/[^a-z0-9]/g, "").slice(-20)}`;
  await page.goto("/targets");
  await page.getByRole("button", { name: "New policy…" }).click();
  const dialog = page.getByRole("dialog", { name: "New policy" });
  await dialog.getByRole("combobox", { name: "Preset" }).selectOption("interactive");
  await dialog.getByRole("textbox", { name: "Name" }).fill(name);
  // A fault is at its field, and nothing is stored.
  const attempt = dialog.getByRole("textbox", { name: "One attempt, ms" });
  await expect(attempt).toHaveValue("650");
  await attempt.fill("soon");
  await expect(attempt).toHaveAttribute("aria-invalid", "true");
  await expect(dialog.getByRole("button", { name: "Save version" })).toBeDisabled();
  await attempt.fill("3000");
  const deadline = dialog.getByRole("textbox", { name: "Deadline of all attempts, ms" });
  await deadline.fill("12000");
  await dialog.getByRole("textbox", { name: "First delay, ms" }).fill("150");
  await dialog.getByRole("textbox", { name: "Longest delay, ms" }).fill("150");

  // The contract of a target is judged while one types.
  const report = dialog.getByRole("region", { name: "Contract report" });
  await report.getByRole("combobox", { name: "Contract of" }).selectOption(source.name);
  await expect(report).toContainText("3 x 3000 ms + 300 ms = 9300 ms <= 12000 ms - 200 ms");
  expect(await violations(page)).toEqual([]);

  // Both tabs show one text.
  await dialog.getByRole("tab", { name: "As JSON" }).click();
  const json = dialog.getByRole("textbox", { name: /^Policy, JSON/ });
  const typed = JSON.parse(await json.inputValue());
  expect(typed).toMatchObject({ attemptTimeoutMs: 3_000, backoff: { kind: "exponential", baseMs: 150, capMs: 150 } });
  const other = { retryOn: ["throttled", "HTTP_503"], breaker: null };
  await json.fill(JSON.stringify({ ...typed, ...other, maxAttempts: 2 }));
  await dialog.getByRole("tab", { name: "Fields" }).click();
  await expect(dialog.getByRole("textbox", { name: "Attempts", exact: true })).toHaveValue("2");
  await deadline.fill("13000");
  await because(dialog, "calls of the shop", "Save version");
  await expect(toast(page, `Stored a new version of ${name}`)).toBeVisible();
  const { items } = await (await request.get(`/api/v1/policies/${name}`)).json();
  expect(items[0].body).toEqual({ ...typed, ...other, maxAttempts: 2, deadlineMs: 13_000 });
});

test("a source promises, and its page shows what is broken", async ({ page, request, parkade }) => {
  const source = await parkade.source("promise", { ratePerSecond: 0.5 });
  await source.park([{ eventId: "late-1" }, { eventId: "late-2" }]);
  await page.goto(`/sources/${source.name}`);
  const panel = page.getByRole("region", { name: "Contract" });
  await expect(panel).toContainText("No contract yet");
  await panel.getByRole("button", { name: /^Set contract…/ }).click();
  const dialog = page.getByRole("dialog", { name: `Contract of ${source.name}` });
  const hours = dialog.getByRole("textbox", { name: "Resolved within, hours" });
  const callers = dialog.getByRole("textbox", { name: "Callers, one per line" });
  await hours.fill("soon");
  await callers.fill("nobody-of-this-name");
  await because(dialog, "as agreed", "Save");
  await expect(hours).toHaveAttribute("aria-invalid", "true");
  await hours.fill("0.001");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(callers).toHaveAttribute("aria-invalid", "true");
  await expect(dialog).toContainText('there is no source or target "nobody-of-this-name"');
  await callers.fill("");
  await dialog.getByRole("textbox", { name: "Dedup window, days" }).fill("500");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(toast(page, `Changed the contract of ${source.name}`)).toBeVisible();
  await expect(panel).toContainText("BROKEN");
  await expect(panel).toContainText("2 / 0.5 a second = 4000 ms <= 3600 ms");
  await expect(panel).toContainText("400 d >= 500 d");
  const report = await (await request.get(`/api/v1/sources/${source.name}/contract`)).json();
  expect(report).toMatchObject({ source: source.name, result: "broken" });
});
