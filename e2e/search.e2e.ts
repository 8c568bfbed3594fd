import { expect, listed, openBeside, rowOf, search, test } from "./support/parkade.ts";

test.describe("finding the events one looks for", () => {
  test("qualifiers narrow the list; the address keeps them through reload, back and sharing", async ({
    page,
    parkade,
    context,
  }) => {
    const source = await parkade.source("search");
    await source.park([
      { eventId: "pay-1", aggregateId: "order-77", errorCode: "TIMEOUT" },
      { eventId: "pay-2", aggregateId: "order-77", errorCode: "VALIDATION_ERROR" },
      { eventId: "pay-3", aggregateId: "order-78", errorCode: "TIMEOUT" },
      { eventId: "ship-1", aggregateId: "order-78", errorCode: "TIMEOUT", eventType: "OrderShipped" },
    ]);
    await page.goto(source.href);
    await expect.poll(() => listed(page)).toEqual(["ship-1", "pay-3", "pay-2", "pay-1"]);
    await expect(page.locator("[data-tip^='4, exact']")).toBeVisible();

    await search(page, "errorCode:TIMEOUT");
    await expect.poll(() => listed(page)).toEqual(["ship-1", "pay-3", "pay-1"]);
    await search(page, "aggregateId:order-78 eventType:OrderShipped");
    await expect.poll(() => listed(page)).toEqual(["ship-1"]);
    const filters = page.getByRole("list", { name: "Filters" });
    for (const part of [source.name, "TIMEOUT", "order-78", "OrderShipped"]) await expect(filters).toContainText(part);
    expect(new URL(page.url()).searchParams.getAll("errorCode")).toEqual(["TIMEOUT"]);

    await page.reload();
    await expect.poll(() => listed(page)).toEqual(["ship-1"]);
    await page.goBack();
    await expect.poll(() => listed(page)).toEqual(["ship-1", "pay-3", "pay-1"]);
    await page.goForward();
    await expect.poll(() => listed(page)).toEqual(["ship-1"]);

    await filters.getByRole("button", { name: "Remove eventType OrderShipped" }).click();
    await expect.poll(() => listed(page)).toEqual(["ship-1", "pay-3"]);

    const colleague = await context.newPage();
    await colleague.goto(page.url());
    await expect.poll(() => listed(colleague)).toEqual(["ship-1", "pay-3"]);

    await search(page, "-eventType:OrderShipped");
    await expect.poll(() => listed(page)).toEqual(["pay-3"]);
    expect(new URL(page.url()).searchParams.getAll("not.eventType")).toEqual(["OrderShipped"]);
    await filters.getByRole("button", { name: "eventType is not OrderShipped: include instead" }).click();
    await expect.poll(() => listed(page)).toEqual(["ship-1"]);
    await filters.getByRole("button", { name: "eventType OrderShipped: exclude instead" }).click();
    await expect.poll(() => listed(page)).toEqual(["pay-3"]);
    await filters.getByRole("button", { name: "Remove eventType is not OrderShipped" }).click();
    await expect.poll(() => listed(page)).toEqual(["ship-1", "pay-3"]);
  });

  test("an id that is pasted finds what it names, with the other meanings beside it", async ({ page, parkade }) => {
    const source = await parkade.source("ids");
    const aggregateId = `order-of-${source.name}`;
    await source.park([
      { eventId: `a-${source.name}`, aggregateId },
      { eventId: `b-${source.name}`, aggregateId },
      { eventId: `c-${source.name}`, error: { message: `waits for ${aggregateId}` }, errorCode: "TIMEOUT" },
    ]);
    await page.goto("/");
    await search(page, aggregateId);
    await expect.poll(() => listed(page)).toEqual([`b-${source.name}`, `a-${source.name}`]);
    await page.getByRole("link", { name: "words in error texts" }).click();
    await expect.poll(() => listed(page)).toEqual([`c-${source.name}`]);
    await page.getByRole("link", { name: "aggregate · 2 events" }).click();
    await expect.poll(() => listed(page)).toEqual([`b-${source.name}`, `a-${source.name}`]);

    await search(page, `b-${source.name}`);
    await expect.poll(() => listed(page)).toEqual([`b-${source.name}`]);
    const { id } = await source.event(`a-${source.name}`);
    await search(page, id);
    await expect(page.getByRole("heading", { level: 1 })).toContainText(`a-${source.name}`);

    await search(page, `source:${source.name} errorCode:timeout`);
    await expect.poll(() => listed(page)).toEqual([`c-${source.name}`]);
    const box = page.getByRole("combobox", { name: "Search events" });
    await search(page, "attempts:>3");
    await expect(
      page.getByRole("alert").filter({ hasText: "attempts is not a filter name (did you mean tag.attempts:" }),
    ).toBeVisible();
    await expect.poll(() => listed(page)).toEqual([`c-${source.name}`]);
    await box.press("Enter");
    await expect(page.getByRole("list", { name: "Filters" })).toContainText("attempts:>3");
  });

  test("what is typed before the scripts of a page arrive is searched once they do", async ({ page, parkade }) => {
    const source = await parkade.source("early");
    await source.park([{ eventId: "early-1" }, { eventId: "early-2" }]);
    const scripts = Promise.withResolvers<void>();
    await page.route("**/_next/static/**/*.js", async (route) => {
      await scripts.promise;
      await route.continue();
    });
    const opened = page.goto(source.href);
    await expect(page.getByRole("combobox", { name: "Search events" })).toBeVisible();
    await page.keyboard.type(`/eventId:early-1`);
    await page.keyboard.press("Enter");
    scripts.resolve();
    await opened;
    await expect.poll(() => listed(page)).toEqual(["early-1"]);
  });

  test("a filter that hides all, or that is wrong, says so and can be cleared", async ({ page, parkade }) => {
    const source = await parkade.source("hidden");
    await source.park([{ eventId: "h-1" }]);
    await page.goto(`${source.href}&errorCode=NO_SUCH_CODE`);
    await expect(page.getByRole("heading", { name: "No event matches" })).toBeVisible();
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await expect(page.getByRole("grid", { name: "Events" })).toBeVisible();
    await page.goto("/events?errorcode=TIMEOUT");
    await expect(page.getByRole("main")).toContainText("errorcode");
    await expect(page.getByRole("button", { name: "Clear the filter" })).toBeVisible();
  });

  test("new arrivals announce themselves and move nothing", async ({ page, parkade }) => {
    const source = await parkade.source("fresh");
    await source.park([{ eventId: "first" }]);
    await page.goto(source.href);
    await expect.poll(() => listed(page)).toEqual(["first"]);
    await source.park([{ eventId: "second" }]);
    const announcement = page.getByRole("button", { name: "+1 new — show" });
    await expect(announcement).toBeVisible();
    expect(await listed(page)).toEqual(["first"]);
    await announcement.click();
    await expect.poll(() => listed(page)).toEqual(["second", "first"]);
  });
});

test.describe("one event", () => {
  test("shows payload without losing a digit, the error, its aggregate and its history", async ({ page, parkade }) => {
    const source = await parkade.source("detail");
    await source.park([
      { eventId: "head", aggregateId: "order-9", version: 1 },
      {
        eventId: "big",
        aggregateId: "order-9",
        version: 2,
        payloadText: '{"amount": 9007199254740993, "html": "<img src=x onerror=alert(1)>"}',
        error: {
          type: "com.acme.StockException",
          message: "no stock left",
          stack: "at com.acme.Stock.take(Stock.java:7)",
        },
      },
    ]);
    await page.goto(source.href);
    const panel = await openBeside(page, "big");
    await expect(panel.getByText("no stock left").first()).toBeVisible();
    await expect(panel).toContainText("9007199254740993");
    await expect(panel).toContainText("<img src=x onerror=alert(1)>");

    // The list keeps the keyboard: k and j still move while the panel is open.
    await page.keyboard.press("j");
    await expect(panel.getByRole("button", { name: "head: copy the event id" })).toBeVisible();
    await page.keyboard.press("k");
    await expect(panel.getByRole("button", { name: "big: copy the event id" })).toBeVisible();

    await panel.getByRole("button", { name: "Open its page" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("big");
    await page.getByRole("tab", { name: /^Error/ }).click();
    await expect(page.getByText("at com.acme.Stock.take(Stock.java:7)")).toBeVisible();
    await page.getByRole("tab", { name: /^Aggregate/ }).click();
    const members = page.getByRole("tabpanel", { name: /^Aggregate/ });
    await expect(members).toContainText("goes first");
    await page.getByRole("tab", { name: /^History/ }).click();
    await expect(page.getByRole("list", { name: "History" }).getByRole("listitem")).toHaveCount(1);
    await page.goBack();
    await expect(rowOf(page, "big")).toBeVisible();
  });
});
