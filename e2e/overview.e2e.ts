import { expect, listed, test } from "./support/parkade.ts";

test("every number of the overview leads to the events behind it", async ({ page, parkade }) => {
  const source = await parkade.source("overview");
  const code = `SLOW_${source.name.toUpperCase().replaceAll("-", "_")}`;
  await source.park([
    { eventId: "o-1", errorCode: code },
    { eventId: "o-2", errorCode: code },
    { eventId: "o-3", errorCode: "VALIDATION_ERROR" },
  ]);
  const overview = `/?source=${source.name}`;
  await page.goto(overview);
  const main = page.getByRole("main");
  const parked = main.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "parked now" }) });
  await expect(parked).toContainText("3");
  await parked.getByRole("link", { name: "parked now" }).click();
  await expect.poll(() => listed(page)).toEqual(["o-3", "o-2", "o-1"]);
  const params = new URL(page.url()).searchParams;
  expect(params.getAll("source")).toEqual([source.name]);
  expect(params.getAll("status").sort()).toEqual(["PENDING", "QUEUED"]);

  // The legend names each area and links to its events, and so does the bar of the error code.
  await page.goto(overview);
  const chart = main.getByRole("figure", { name: /^dlq_size over time/ });
  await expect(chart).toContainText(`${code} 2`);
  await chart.getByRole("link", { name: `${code} 2` }).click();
  await expect.poll(() => listed(page)).toEqual(["o-2", "o-1"]);
  await page.goBack();
  const top = main.getByRole("region", { name: "What arrived" });
  await top.getByRole("link", { name: /^VALIDATION_ERROR.*1$/ }).click();
  await expect.poll(() => listed(page)).toEqual(["o-3"]);

  // The same numbers as a table.
  await page.goBack();
  await main.getByRole("button", { name: "Table" }).first().click();
  const table = main.getByRole("region", { name: "Parked over time, by error code as a table" });
  await expect(table.getByRole("row").nth(1)).toContainText("3");
});

test("an area of the chart is pressed to see its events, and dragged over to choose a time", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("area");
  await source.park([{ eventId: "a-1" }, { eventId: "a-2" }]);
  const drawing = page.getByRole("figure", { name: /^dlq_size over time/ }).getByRole("application");
  // The newest area grows with the running minute: late in the minute it is wide enough for a press.
  await expect(async () => {
    await page.goto(`/?source=${source.name}&from=-15m`);
    const area = (await drawing.locator(".recharts-area-area").first().boundingBox())!;
    await page.mouse.move(area.x + area.width - 1, area.y + area.height * 0.7, { steps: 3 });
    await page.mouse.down();
    await page.mouse.up();
    await expect(page).toHaveURL(/\/events\?/, { timeout: 20_000 });
  }).toPass();
  await expect.poll(() => listed(page)).toEqual(["a-2", "a-1"]);
  await page.goBack();

  await expect(drawing).toBeVisible();
  const box = (await drawing.boundingBox())!;
  const at = (x: number, y: number) => [box.x + box.width * x, box.y + box.height * y] as const;
  await page.mouse.move(...at(0.4, 0.5));
  await page.mouse.down();
  await page.mouse.move(...at(0.6, 0.5), { steps: 5 });
  await page.mouse.up();
  const chosen = page.getByRole("link", { name: "Show events parked then" });
  await expect(chosen).toBeVisible();
  const window = new URL((await chosen.getAttribute("href"))!, page.url()).searchParams;
  expect(Date.parse(window.get("from")!)).toBeLessThan(Date.parse(window.get("to")!));
  await page.getByRole("button", { name: "Clear the selected window" }).click();
  await expect(chosen).toBeHidden();
});
