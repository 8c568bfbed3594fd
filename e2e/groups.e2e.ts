import type { Page } from "@playwright/test";
import { expect, numbered, test, toast } from "./support/parkade.ts";

const dialog = (page: Page) => page.getByRole("dialog");
const rows = (page: Page) => page.getByRole("grid", { name: "Groups" }).locator("tbody").getByRole("row");
const codes = async (page: Page) =>
  (await rows(page).allInnerTexts()).map((text) => /[A-Z]+_[A-Z0-9]+/.exec(text)?.[0] ?? text);

test("groups are a table: sorted, filtered, searched, and acted on by row, by selection and by keyboard", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("table");
  const failing = (errorCode: string, count: number, message: string) =>
    source.park(numbered(errorCode, count).map((event) => ({ ...event, errorCode, error: { message } })));
  await failing("FEW_LATE", 2, "the stock service is late");
  await failing("MOST_LATE", 5, "the price service is late");
  await failing("SOME_BROKEN", 3, "a field is missing");

  await page.goto(`/groups?source=${source.name}`);
  await expect.poll(() => codes(page)).toEqual(["MOST_LATE", "SOME_BROKEN", "FEW_LATE"]);
  await expect(rows(page).first()).toContainText("new");
  // A row is 32 px high.
  expect((await rows(page).first().boundingBox())!.height).toBeLessThan(34);

  await expect(page.getByRole("columnheader", { name: "parked" })).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("columnheader", { name: "last" }).getByRole("button").click();
  await expect(page).toHaveURL(/sort=last/);
  await expect(page.getByRole("columnheader", { name: "last" })).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("columnheader", { name: "parked" }).getByRole("button").click();
  await expect.poll(() => codes(page)).toEqual(["MOST_LATE", "SOME_BROKEN", "FEW_LATE"]);
  await page.getByRole("button", { name: "Falling", exact: true }).click();
  await expect(page.getByRole("heading", { name: "No group matches" })).toBeVisible();
  await page.getByRole("button", { name: "New", exact: true }).click();
  await expect.poll(() => codes(page)).toHaveLength(3);
  const search = page.getByRole("searchbox", { name: "Search the groups" });
  await search.fill("late");
  await search.press("Enter");
  await expect.poll(() => codes(page)).toEqual(["MOST_LATE", "FEW_LATE"]);
  await page.reload();
  await expect.poll(() => codes(page)).toEqual(["MOST_LATE", "FEW_LATE"]);

  const picked = rows(page).and(page.locator('[aria-selected="true"]'));
  await page.keyboard.press("j");
  await expect(page.getByRole("grid", { name: "Groups" })).toHaveAttribute("aria-activedescendant", /^group-/);
  await expect(page.getByRole("grid", { name: "Groups" })).toBeFocused();
  await page.keyboard.press("x");
  await expect(picked).toHaveCount(1);
  await page.keyboard.press("j");
  await expect(rows(page).nth(1).getByRole("button", { name: "Mute or ignore…" })).toBeVisible();
  await page.keyboard.press("x");
  const bar = page.getByRole("region", { name: "Selection" });
  await expect(bar).toContainText("2 groups selected, 7 PENDING");
  await expect(bar.getByRole("link", { name: "Open as events" })).toHaveAttribute(
    "href",
    /\/events\?.*fingerprint=.*fingerprint=/,
  );
  await bar.getByRole("button", { name: "Redrive…" }).click();
  await expect(page.getByRole("dialog", { name: "Redrive 7 events" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(bar).toBeHidden();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("FEW_LATE");
});

test("a group is muted until a time or a number, says so, and is lifted; its page tells what was done", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("until");
  const error = { message: `no price in ${source.name}` };
  await source.park(
    numbered("u", 4).map((event) => ({
      ...event,
      errorCode: "NO_PRICE",
      error,
      aggregateId: "order-7",
      tags: { shop: "nine" },
    })),
  );
  await page.goto(`/groups?source=${source.name}`);
  await rows(page).first().getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("NO_PRICE");
  await expect(page.getByRole("region", { name: "Who is affected" })).toContainText(/nine\s*4/);
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("rising since");
  await expect(page.getByRole("region", { name: "Sample event" })).toContainText(error.message);

  await page.getByRole("button", { name: "Mute or ignore…" }).click();
  await dialog(page).getByRole("combobox", { name: "Mute its alerts" }).selectOption("for 8 h");
  const more = dialog(page).getByRole("textbox", { name: /^Or until this many more arrive/ });
  await more.fill("none");
  await dialog(page).getByRole("textbox", { name: "Reason" }).fill("the pricing team mends it");
  await dialog(page).getByRole("button", { name: "Mute", exact: true }).click();
  await expect(dialog(page)).toContainText("a whole number above 0");
  await more.fill("1,000");
  await dialog(page)
    .getByRole("checkbox", { name: /^Ignore the 4 events parked now/ })
    .check();
  await dialog(page).getByRole("button", { name: "Mute and ignore 4 events" }).click();
  await expect(toast(page, "Ignored 4 events")).toBeVisible();

  const facts = page.getByRole("region", { name: "Facts" });
  await expect(facts).toContainText(/muted until \d\d:\d\d or 1,000 more arrive by \S+: the pricing team mends it/);
  await expect(facts).toContainText("4 IGNORED");
  const done = page.getByRole("region", { name: "Previous actions" });
  await expect(done).toContainText("4 events ignored by");
  await page.goto(`/groups?source=${source.name}`);
  await expect(rows(page).first()).toContainText(/muted until/);
  await rows(page).first().getByRole("link").first().click();
  await facts.getByRole("button", { name: "Lift" }).click();
  await expect(facts).not.toContainText("muted until");
});
