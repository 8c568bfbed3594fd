import {
  because,
  expect,
  keepToasts,
  numbered,
  openBeside,
  openMore,
  pick,
  pickLoaded,
  rowOf,
  test,
  toast,
} from "./support/parkade.ts";

const SCHEMA = { type: "object", required: ["amount"], properties: { amount: { type: "number" } } };

test.describe("redriving one event", () => {
  test("is one click: it goes to its consumer once, with its key, the list shows it, and a failure is said anywhere", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("one");
    await keepToasts(page);
    await source.park([
      { eventId: "single", payloadText: '{"orderId": 77,   "big": 9007199254740993}' },
      { eventId: "unlucky" },
    ]);
    await page.goto(source.href);
    const panel = await openBeside(page, "single");
    await panel.getByRole("button", { name: "Redrive", exact: true }).click();
    // The wait before a send is short here: the result may have replaced the first words.
    await expect(toast(page, /Redriving single|single was sent/)).toBeVisible();

    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
    const [delivery] = await downstream.deliveries(source.path);
    expect(delivery).toMatchObject({
      key: `${source.name}:single`,
      body: '{"orderId": 77,   "big": 9007199254740993}',
    });
    expect(delivery!.headers).toMatchObject({ "content-type": "application/json", "x-redrive-from": source.name });
    await expect(rowOf(page, "single")).toContainText("REDRIVEN");

    await panel.getByRole("button", { name: "Open its page" }).click();
    await page.getByRole("tab", { name: /^History/ }).click();
    await expect(page.getByRole("list", { name: "History" })).toContainText("sent in");

    // It fails, and the person reads so on whatever page that is by then.
    await downstream.rules([{ path: source.path, status: 422, body: "unknown article" }]);
    await page.goto(source.href);
    const other = await openBeside(page, "unlucky");
    await other.getByRole("button", { name: "Redrive", exact: true }).click();
    await expect(toast(page, /Redriving unlucky|unlucky failed/)).toBeVisible();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Controls" }).first().click();
    await expect(page).toHaveURL(/\/controls$/);
    await expect(toast(page, "unlucky failed")).toContainText("unknown article");
  });
});

test.describe("redriving a batch", () => {
  test("previews, says what it will do, shows its progress to the end, and groups what failed", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("batch");
    await source.park(
      Array.from({ length: 31 }, (_, index) => ({
        eventId: `b-${index}`,
        errorCode: index % 3 === 0 ? "TIMEOUT" : "UPSTREAM_5XX",
      })),
    );
    await downstream.rules([{ key: `${source.name}:b-7`, status: 422, body: "unknown article" }]);
    await page.goto(source.href);
    const selection = await pick(page, "b-1");
    await expect(selection).toContainText("1 selected");
    await selection.getByRole("button", { name: /select all 31 matching/ }).click();
    await page.getByRole("checkbox", { name: "Select event b-30" }).uncheck();
    await expect(selection).toContainText("30 selected, 1 left out");
    await selection.getByRole("button", { name: "Redrive…" }).click();

    const dialog = page.getByRole("dialog", { name: "Redrive 30 events" });
    await expect(dialog).toContainText("No control or limit refuses any of these events.");
    await expect(dialog).toContainText("UPSTREAM_5XX 20");
    await expect(dialog).toContainText("TIMEOUT 10");
    await expect(dialog.getByRole("radio", { name: /^slow/ })).toBeChecked();

    await openMore(dialog);
    await dialog.getByRole("textbox", { name: "Reason" }).fill("stock service is back");
    // A double click starts one redrive.
    await dialog.getByRole("button", { name: "Redrive 30 events" }).dblclick();
    await expect(dialog).toBeHidden();
    await toast(page, "Redrive started: 30 events").getByRole("button", { name: "View" }).first().click();

    await expect(page.getByRole("heading", { level: 1, name: "stock service is back" })).toBeVisible();
    const main = page.getByRole("main");
    await expect(main).toContainText("30 of 30 finished");
    await expect(main).toContainText("finished");
    await expect(main.getByText("DONE", { exact: true })).toBeVisible();
    await expect(main).toContainText(/29\s*not confirmed yet|not confirmed yet\s*29/);
    await expect(main).toContainText("unknown article");
    await expect(main.getByRole("region", { name: "Rate over time" })).toContainText(/sent\s*failed/);
    const keys = (await downstream.deliveries(source.path)).map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([30, 30]);
    const started = (await parkade.redrives()).filter(({ selection }) =>
      JSON.stringify(selection).includes(source.name),
    );
    expect(started).toHaveLength(1);
  });

  test("is paused, resumed, slowed down and cancelled; what was not sent is parked again", async ({
    page,
    parkade,
    downstream,
  }) => {
    // 100 s under way: longer than a machine takes to press Pause and Cancel.
    const source = await parkade.source("control", { ratePerSecond: 4 });
    await source.park(numbered("c", 400));
    await page.goto(source.href);
    const selection = await pickLoaded(page);
    await selection.getByRole("button", { name: /select all 400 matching/ }).click();
    await selection.getByRole("button", { name: "Redrive…" }).click();
    const dialog = page.getByRole("dialog", { name: "Redrive 400 events" });
    await expect(dialog).toContainText("4/s");
    await dialog.getByRole("checkbox", { name: /then all/ }).uncheck();
    await dialog.getByRole("button", { name: "Redrive 400 events" }).click();
    await toast(page, "Redrive started").getByRole("button", { name: "View" }).click();
    const main = page.getByRole("main");

    await expect.poll(async () => (await downstream.deliveries(source.path)).length).toBeGreaterThan(1);
    await main.getByRole("button", { name: "Pause" }).click();
    await expect(main.getByText("PAUSED", { exact: true })).toBeVisible();
    await expect(main).toContainText("paused: nothing is sent");
    const id = page.url().split("/").at(-1)!;
    // Sends under way at the pause have ended or went back to open.
    await expect
      .poll(async () => (await parkade.redrive(id)).delivered === (await downstream.deliveries(source.path)).length)
      .toBe(true);
    const paused = (await downstream.deliveries(source.path)).length;
    expect(paused).toBeLessThan(400);

    await main.getByRole("button", { name: "Resume" }).click();
    await expect(main.getByText("RUNNING", { exact: true })).toBeVisible();
    await expect.poll(async () => (await downstream.deliveries(source.path)).length).toBeGreaterThan(paused);
    // The chart shows both, once it has two buckets.
    await expect(main.getByRole("button", { name: /the redrive was paused/ })).toBeVisible();

    await main.getByRole("button", { name: "Cancel…" }).click();
    const question = page.getByRole("dialog", { name: "Cancel this redrive?" });
    await because(question, "the consumer fell over", /^Cancel \d+ open events$/);
    await expect(main.getByText("CANCELLED", { exact: true })).toBeVisible();
    await expect.poll(async () => (await source.statuses()).QUEUED ?? 0).toBe(0);
    const { delivered, cancelled, total } = await parkade.redrive(id);
    expect(delivered + cancelled).toBe(total);
    expect(await downstream.deliveries(source.path)).toHaveLength(delivered);
    expect(await source.statuses()).toEqual({ REDRIVEN: delivered, PENDING: cancelled });
  });
});

test("a dry run finds the broken ones, says what is wrong with them, and sends nothing", async ({
  page,
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
  await (await pickLoaded(page)).getByRole("button", { name: "Verify" }).click();
  const dialog = page.getByRole("dialog", { name: "Verify 4 events" });
  await expect(dialog).toContainText("Runs every check and sends nothing.");
  await dialog.getByRole("button", { name: "Verify 4 events" }).click();
  await toast(page, "Dry run started: 4 events").getByRole("button", { name: "View" }).click();

  const main = page.getByRole("main");
  await expect(main).toContainText("4 of 4 finished");
  await expect(main).toContainText("dry run, sends nothing");
  await expect(main).toContainText(/2\s*would be sent|would be sent\s*2/);
  await expect(main).toContainText(/2\s*would be refused|would be refused\s*2/);
  await expect(main.getByRole("heading", { name: "Why some would be refused" })).toBeVisible();

  const broken = main.getByRole("row").filter({ hasText: "broken" });
  await broken.getByRole("button", { name: /of \d+ checks failed$/ }).click();
  await expect(main.getByText("payload-schema")).toBeVisible();
  await expect(main).toContainText("amount");
  expect(await source.statuses()).toEqual({ PENDING: 4 });
  expect(await downstream.deliveries(source.path)).toEqual([]);

  // One click on the broken one is refused for the same reason, before anything is sent.
  const results = page.url();
  await page.goto(source.href);
  const panel = await openBeside(page, "broken");
  await panel.getByRole("button", { name: "Redrive", exact: true }).click();
  await expect(toast(page, "broken was refused")).toContainText("amount");
  await panel.getByRole("button", { name: "Open its page" }).click();
  await page.getByRole("tab", { name: /^History/ }).click();
  await expect(page.getByRole("list", { name: "History" })).toContainText("payload-schema");
  expect((await source.event("broken")).status).toBe("PENDING");
  expect(await downstream.deliveries(source.path)).toEqual([]);
  await page.goto(results);

  // What passed goes with one click, and nothing else.
  await main.getByRole("button", { name: "Redrive 2 events" }).click();
  await expect.poll(async () => await source.statuses()).toEqual({ PENDING: 2, REDRIVEN: 2 });
  expect(await downstream.deliveries(source.path)).toHaveLength(2);
});
