import type { Page } from "@playwright/test";
import type { RevisionList } from "../lib/contract/revisions.ts";
import { expect, test, toast } from "./support/parkade.ts";

const SCHEMA = { type: "object", required: ["customerId"], properties: { customerId: { type: "integer" } } };

const editor = (page: Page) => page.getByRole("textbox", { name: "Payload", exact: true });

test.describe("one event", () => {
  test("is edited by keyboard alone, and arrives mended with every other byte as it was", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("edit", {
      payloadSchema: { type: "object", properties: { amount: { type: "integer" } } },
    });
    const payloadText = '{\r\n  "orderId": 12345678901234567890,\r\n  "amount": "12",\r\n  "a": 1,  "a": 2\r\n}\r\n';
    await source.park([{ eventId: "e-1", payloadText }]);
    const { id } = await source.event("e-1");
    await page.goto(`/events/${id}`);
    await expect(async () => {
      await page.keyboard.press("e");
      await expect(page).toHaveURL(/edit=1/, { timeout: 3_000 });
    }).toPass();
    await expect(editor(page)).toBeFocused();

    await expect(page.locator(".cm-lintRange-error")).toHaveText('"12"');
    await expect(page.getByRole("list", { name: "Problems" })).toContainText("/amount");
    // F8 selects the first problem; what is typed replaces it.
    await page.keyboard.press("F8");
    await page.keyboard.type("12");
    await expect(page.locator(".cm-lintRange-error")).toHaveCount(0);
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("textbox", { name: "revision 1" })).toContainText('"12"');
    await expect(page.getByRole("textbox", { name: "Reason" })).toBeFocused();
    await page.keyboard.type("the producer sends texts");
    await page.keyboard.press("Control+Enter");
    await expect(page.getByRole("status").filter({ hasText: "Saved as revision 2." })).toBeFocused();

    await expect(async () => {
      await page.keyboard.press("r");
      await expect(page.getByRole("dialog", { name: "Redrive e-1?" })).toBeVisible({ timeout: 2_000 });
    }).toPass();
    await page.keyboard.press("Enter");
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
    const [delivery] = await downstream.deliveries(source.path);
    expect(delivery).toMatchObject({ body: payloadText.replace('"12"', "12"), key: `${source.name}:e-1:r2` });
  });

  test("keeps what was typed when the editor is closed, the page reloaded, or another revision is saved meanwhile", async ({
    page,
    parkade,
    request,
  }) => {
    const source = await parkade.source("kept");
    await source.park([{ eventId: "k-1", payloadText: '{"a": 1}' }]);
    const { id } = await source.event("k-1");
    await page.goto(`/events/${id}?edit=1`);
    await editor(page).press("Control+End");
    await page.keyboard.type("  ");
    await expect(page.getByText("not saved")).toBeVisible();
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await expect(page.getByText(/Your unsaved changes of .* are back/)).toBeVisible();
    // The browser asks before the page with an unsaved edit is left.
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await expect(page.getByText("not saved")).toBeVisible();

    const other = { base: 1, text: '{"a": 2}', reason: "somebody else was faster" };
    expect((await request.post(`/api/v1/events/${id}/revisions`, { data: other })).ok()).toBe(true);
    const stale = page.getByText(/Revision 2 is the current one since you began with revision 1/);
    await expect(stale).toBeVisible();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await expect(page.getByRole("textbox", { name: "revision 2" })).toContainText('"a": 2');
    await page.getByRole("button", { name: "Keep mine, on revision 2" }).click();
    await expect(stale).toBeHidden();
    await page.getByRole("button", { name: "Review…" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("mine after all");
    await page.getByRole("button", { name: "Save as a new revision" }).click();
    await expect(page.getByText("Saved as revision 3.")).toBeVisible();
    expect((await source.detail("k-1")).body.text).toBe('{"a": 1}  ');
  });

  test("shows its revisions, compares any two and restores one, with Undo", async ({ page, parkade, request }) => {
    const source = await parkade.source("revisions");
    await source.park([{ eventId: "v-1", payloadText: '{"step": "first"}' }]);
    const { id } = await source.event("v-1");
    for (const [base, step] of [
      [1, "second"],
      [2, "third"],
    ]) {
      const data = { base, text: `{"step": "${step}"}`, reason: `made the ${step}` };
      expect((await request.post(`/api/v1/events/${id}/revisions`, { data })).ok()).toBe(true);
    }
    await page.goto(`/events/${id}?tab=revisions`);
    const lines = page.getByRole("list", { name: "Revisions" }).getByRole("listitem");
    await expect(lines).toHaveCount(3);
    await expect(lines.nth(0)).toContainText("current");
    await expect(lines.nth(1)).toContainText("made the second");
    await lines.nth(0).getByRole("button", { name: "Compare" }).click();
    await page.getByRole("combobox", { name: "The earlier side" }).selectOption("1");
    await expect(page.getByRole("textbox", { name: "revision 1" })).toContainText("first");
    await expect(page.getByRole("textbox", { name: "revision 3" })).toContainText("third");

    await lines.nth(2).getByRole("button", { name: "Compare" }).click();
    await expect(page.getByRole("combobox", { name: "The earlier side" })).toHaveValue("1");
    await expect(page.getByRole("combobox", { name: "The later side" })).toHaveValue("3");
    await lines.nth(2).getByRole("button", { name: "Restore…" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Reason" }).fill("it was right at first");
    await page.getByRole("button", { name: "Restore revision 1" }).click();
    await expect(lines.nth(2)).toContainText("current");
    expect((await source.detail("v-1")).body.text).toBe('{"step": "first"}');
    await toast(page, "Revision 1 is the current one").getByRole("button", { name: "Undo" }).click();
    await expect(lines.nth(0)).toContainText("current");
    const { items } = (await (await request.get(`/api/v1/events/${id}/revisions`)).json()) as RevisionList;
    expect(items.map(({ revision }) => revision)).toEqual([3, 2, 1]);
  });

  test("says by which redrive it cannot be edited", async ({ page, parkade }) => {
    const source = await parkade.source("sent");
    await source.park([{ eventId: "s-1" }]);
    await parkade.redriveAll(source.name);
    await expect.poll(() => source.statuses()).toEqual({ REDRIVEN: 1 });
    await page.goto(`/events/${(await source.event("s-1")).id}?edit=1`);
    await expect(page.getByText("It was redriven and has not come back")).toBeVisible();
    await expect(page.getByRole("link", { name: "Its redrive" })).toBeVisible();
  });
});

const BATCH = Array.from({ length: 12 }, (_, at) => ({
  eventId: `m-${at}`,
  payloadText: `{"custId": ${9_007_199_254_740_993n + BigInt(at)},  "at": ${at}}\n`,
}));

/** Writes a recipe that renames custId, over all events of the source, and opens its preview. */
async function previewRename(page: Page, href: string, count = 12): Promise<void> {
  await page.goto(href);
  await page.getByRole("checkbox", { name: `Select event m-${count - 1}`, exact: true }).check();
  const selection = page.getByRole("region", { name: "Selection" });
  await selection.getByRole("button", { name: new RegExp(`select all ${count} matching`) }).click();
  await selection.getByRole("button", { name: "Mend…" }).click();
  await page.getByRole("combobox", { name: "What step 1 does" }).selectOption("rename");
  await page.getByRole("combobox", { name: "Place of step 1" }).fill("/custId");
  await page.getByRole("textbox", { name: "New name of step 1" }).fill("customerId");
  await expect(page.getByRole("region", { name: "Samples" })).toContainText("/customerId");
  await page.getByRole("button", { name: "Preview", exact: true }).click();
  await expect(page.getByText(`All ${count} events were tried; nothing is stored.`)).toBeVisible();
  await expect(page.getByRole("button", { name: `${count} change`, exact: true })).toBeVisible();
}

test.describe("a renamed field", () => {
  test("is mended over a filtered batch, verified, canaried, and confirmed, in one flow that survives a reload", async ({
    page,
    parkade,
    downstream,
  }) => {
    test.slow();
    const source = await parkade.source("mend", { payloadSchema: SCHEMA });
    await source.park(BATCH);
    expect(await parkade.refusalsOf(source.name)).toEqual([]);
    await previewRename(page, source.href);
    await page.getByRole("textbox", { name: "Reason" }).fill("the producer renamed custId");
    await page.getByRole("button", { name: "Mend 12 events" }).click();
    await expect(page.getByText("Mended 12 events").first()).toBeVisible();
    await page.reload();
    await page.getByRole("button", { name: "Verify 12 mended events" }).click();
    await expect(page.getByRole("button", { name: "Redrive the 12 that passed…" })).toBeVisible();
    expect(await downstream.deliveries(source.path)).toEqual([]);
    await page.reload();
    await page.getByRole("button", { name: "Redrive the 12 that passed…" }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("checkbox", { name: /^1, 10, then all/ })).toBeChecked();
    await dialog.getByRole("button", { name: "Redrive 12 events" }).click();
    await expect.poll(() => downstream.deliveries(source.path), { timeout: 60_000 }).toHaveLength(12);
    const deliveries = await downstream.deliveries(source.path);
    expect(deliveries.map(({ body }) => body).sort()).toEqual(
      BATCH.map(({ payloadText }) => payloadText.replace("custId", "customerId")).sort(),
    );
    expect(new Set(deliveries.map(({ key }) => key))).toEqual(
      new Set(BATCH.map(({ eventId }) => `${source.name}:${eventId}:r2`)),
    );
    await parkade.confirm(
      source.name,
      BATCH.map(({ eventId }) => eventId),
    );
    await page.reload();
    await expect(page.getByText("12 events of 12 stayed processed.")).toBeVisible({ timeout: 30_000 });
  });

  test("is mended over a filter, verified, braked on a failing downstream, goes on slower, and is confirmed", async ({
    page,
    parkade,
    downstream,
  }) => {
    test.slow();
    const source = await parkade.source("mend-braked", { payloadSchema: SCHEMA });
    const events = Array.from({ length: 40 }, (_, index) => `m-${index}`);
    await source.park(events.map((eventId, index) => ({ eventId, payloadText: `{"custId": ${index}}` })));
    await previewRename(page, source.href, 40);
    await page.getByRole("textbox", { name: "Reason" }).fill("the producer renamed custId");
    await page.getByRole("button", { name: "Mend 40 events" }).click();
    await page.getByRole("button", { name: "Verify 40 mended events" }).click();
    await downstream.rules([{ path: source.path, status: 422, body: "unknown customer" }]);
    await page.getByRole("button", { name: "Redrive the 40 that passed…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Redrive 40 events" }).click();
    await expect(page).toHaveURL(/send=/);
    const id = new URL(page.url()).searchParams.get("send")!;
    await page.goto(`/redrives/${id}`);
    const main = page.getByRole("main");
    const braked = main.getByRole("region", { name: "The brake has paused it" });
    await expect(braked).toContainText("unknown customer", { timeout: 60_000 });
    await downstream.rules([]);
    const rate = braked.getByRole("textbox", { name: "rate, events per second" });
    await rate.fill("0");
    await rate.press("Enter");
    await expect(braked.getByRole("alert")).toContainText("above 0, and at most 100,000; to stop a redrive, pause it");
    await rate.fill("30");
    await rate.press("Enter");
    await braked.getByRole("button", { name: "Go on at 30/s" }).click();
    await expect(main).toContainText("40 of 40 decided", { timeout: 60_000 });
    const { failed } = await parkade.redrive(id);
    const taken = (await downstream.deliveries(source.path)).filter(({ status }) => status === 200);
    expect(taken).toHaveLength(40 - failed);
    expect(taken.every(({ body, key }) => body.includes('"customerId"') && key!.endsWith(":r2"))).toBe(true);
    const confirmed = taken.map(({ key }) => key!.slice(source.name.length + 1, -":r2".length));
    await parkade.confirm(source.name, confirmed);
    await page.reload();
    await expect(main).toContainText(`${40 - failed} confirmed`);
  });

  test("goes back to what it was when the mend is undone", async ({ page, parkade }) => {
    const source = await parkade.source("unmend");
    await source.park(BATCH);
    await previewRename(page, source.href);
    await page.getByRole("textbox", { name: "Reason" }).fill("the wrong field");
    await page.getByRole("button", { name: "Mend 12 events" }).click();
    await expect(page.getByText("Mended 12 events").first()).toBeVisible();
    expect((await source.detail("m-3")).body.text).toBe(BATCH[3]!.payloadText.replace("custId", "customerId"));
    await page.getByRole("button", { name: "Undo the mend" }).click();
    await expect.poll(async () => (await source.detail("m-3")).body.text).toBe(BATCH[3]!.payloadText);
    await expect.poll(async () => (await source.detail("m-11")).revision).toBe(1);
    const main = page.getByRole("main");
    await expect(main.getByText("Undone: 12 events are as before the mend")).toBeVisible();
    await page.reload();
    await expect(main.getByText("Undone: 12 events are as before the mend")).toBeVisible();
    await expect(main.getByRole("button", { name: /Verify|Undo/ })).toHaveCount(0);
  });
});
