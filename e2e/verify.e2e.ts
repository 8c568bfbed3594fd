import { expect, test, toast } from "./support/parkade.ts";

const SCHEMA = { type: "object", required: ["amount"], properties: { amount: { type: "number" } } };

test("a dry run finds the broken ones, says what is wrong with them, and sends nothing", async ({
  page,
  request,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("verify", { payloadSchema: SCHEMA });
  await source.park([
    { eventId: "good-1", payload: { amount: 1 } },
    { eventId: "good-2", payload: { amount: 2.5 } },
    { eventId: "broken", payload: { amont: 3 } },
    { eventId: "garbled", payloadText: '{"amount": ' },
  ]);
  await page.goto(source.href);
  await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
  await page.getByRole("region", { name: "Selection" }).getByRole("button", { name: "Verify" }).click();
  const dialog = page.getByRole("dialog", { name: "Verify 4 events" });
  await expect(dialog).toContainText("Runs every check and sends nothing.");
  await dialog.getByRole("button", { name: "Verify 4 events" }).click();
  await toast(page, "Dry run started: 4 events").getByRole("button", { name: "View" }).click();

  const main = page.getByRole("main");
  await expect(main).toContainText("4 of 4 decided");
  await expect(main).toContainText("dry run, sends nothing");
  await expect(main).toContainText(/2\s*would be sent|would be sent\s*2/);
  await expect(main).toContainText(/2\s*would be refused|would be refused\s*2/);
  await expect(main.getByRole("heading", { name: "Why some would not go" })).toBeVisible();

  const broken = main.getByRole("row").filter({ hasText: "broken" });
  await broken.getByRole("button", { name: /of \d+ checks failed$/ }).click();
  await expect(main.getByText("payload-schema")).toBeVisible();
  await expect(main).toContainText("amount");
  expect(await source.statuses()).toEqual({ PENDING: 4 });
  expect(await downstream.deliveries(source.path)).toEqual([]);

  // A click that only asks says so.
  const mark = (needsApproval: boolean) =>
    request.patch(`/api/v1/sources/${source.name}`, { data: { needsApproval, reason: "it moves money" } });
  await mark(true);
  await page.reload();
  await expect(main).toContainText(`before anything is sent: source ${source.name} is marked.`);
  await expect(main.getByRole("button", { name: "Ask for approval of 2 events" })).toBeVisible();
  await mark(false);
  await page.reload();

  // What passed goes with one click, and nothing else.
  await main.getByRole("button", { name: "Redrive 2 events" }).click();
  await expect.poll(async () => await source.statuses()).toEqual({ PENDING: 2, REDRIVEN: 2 });
  expect(await downstream.deliveries(source.path)).toHaveLength(2);
});
