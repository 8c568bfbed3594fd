import type { Page } from "@playwright/test";
import type { RevisionList } from "../lib/repair/revisions/revisions.shapes.ts";
import { violations } from "./support/axe.ts";
import { actAs, because, expect, holdLong, keepToasts, test, toast } from "./support/parkade.ts";

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

    // The dialog has the focus a moment after it is seen, and Enter is its own from then on.
    await expect(async () => {
      await page.keyboard.press("r");
      await expect(page.getByRole("dialog", { name: "Redrive e-1?" })).toBeFocused({ timeout: 2_000 });
    }).toPass();
    // The key closes the dialog, and "Verify revision" has the focus again: it must not press that as well.
    const verified: unknown[] = [];
    page.on("request", (sent) => {
      if (sent.method() === "POST" && sent.postDataJSON()?.mode === "verify") verified.push(sent.url());
    });
    await page.evaluate(() => {
      document.addEventListener("keydown", (key) => Object.assign(window, { prevented: key.defaultPrevented }));
    });
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => Reflect.get(window, "prevented"))).toBe(true);
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
    expect(verified).toEqual([]);
    const [delivery] = await downstream.deliveries(source.path);
    expect(delivery).toMatchObject({ body: payloadText.replace('"12"', "12"), key: `${source.name}:e-1:r2` });
  });

  test("that is broken is named again in the review, and saved only by a choice that says so", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("broken");
    await source.park([{ eventId: "b-1", payloadText: '{"a": 1}' }]);
    const { id } = await source.event("b-1");
    await page.goto(`/events/${id}?edit=1`);
    await editor(page).press("Control+End");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Control+Enter");
    const problems = page.getByRole("list", { name: "Problems" });
    await expect(problems).toContainText("A } is missing here");
    await page.getByRole("textbox", { name: "Reason" }).fill("a slip");
    const save = page.getByRole("button", { name: "Save with 1 problem" });
    await expect(save).toBeDisabled();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("checkbox", { name: /Save anyway, with 1 problem/ }).check();
    await save.click();

    const saved = page.getByRole("status").filter({ hasText: "Saved as revision 2" });
    await expect(saved).toContainText("not valid JSON");
    await expect(saved).not.toContainText("next redrive sends");
    await expect(saved.getByRole("button", { name: "Redrive revision" })).toHaveCount(0);

    expect(await downstream.deliveries(source.path)).toEqual([]);
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
    await keepToasts(page);
    await page.goto(`/events/${id}?tab=revisions`);
    const lines = page.getByRole("list", { name: "Revisions" }).getByRole("listitem");
    await expect(lines).toHaveCount(3);
    await expect(lines.nth(0)).toContainText("current");
    await expect(lines.nth(1)).toContainText("made the second");
    await lines.nth(0).getByRole("button", { name: "Compare" }).click();
    await page.getByRole("combobox", { name: "The earlier side" }).selectOption("1");
    await expect(page.getByRole("textbox", { name: "revision 1" })).toContainText("first");
    await expect(page.getByRole("textbox", { name: "revision 3" })).toContainText("third");
    expect(await violations(page)).toEqual([]);

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
});

/** Shows what changes, gives the reason and saves. */
async function save(page: Page, reason: string): Promise<void> {
  await page.getByRole("button", { name: "Review…" }).click();
  await because(page, reason, "Save as a new revision");
}

test.describe("the editor", () => {
  test("replaces bytes by a file, changes headers, and the downstream gets exactly these", async ({
    page,
    parkade,
    downstream,
  }) => {
    const source = await parkade.source("bytes");
    const bytes = Uint8Array.from({ length: 40 }, (_, at) => 0xf0 ^ at);
    const headers: [string, string][] = [
      ["x-tenant", "north"],
      ["x-tenant", "south"],
      ["x-old", "1"],
    ];
    await source.park([{ eventId: "b-1", payloadText: bytes, contentType: "application/x-orders", headers }]);
    await page.goto(`/events/${(await source.event("b-1")).id}`);
    // Of bytes that are no text nothing is known, so all of them are masked until somebody says why they are needed.
    await page.getByRole("main").getByRole("button", { name: "Reveal…" }).click();
    const reveal = page.getByRole("dialog");
    await because(reveal, "a byte is wrong", "Reveal");
    await expect(reveal).toBeHidden();
    await page.getByRole("main").getByRole("button", { name: "Edit", exact: true }).click();
    const shown = page.getByRole("region", { name: "Payload bytes" });
    await expect(shown).toBeFocused();
    await expect(shown).toContainText("00000000  f0f1 f2f3");
    const replaced = Buffer.concat([bytes, Buffer.from("\r\n")]);
    replaced[1] = 0x42;
    const file = { name: "order.bin", mimeType: "application/octet-stream", buffer: replaced };
    await page.getByLabel("Replace with a file").setInputFiles(file);
    await expect(shown).toContainText("00000000  f042 f2f3");

    await page.getByRole("tab", { name: "Headers" }).click();
    const rows = page.getByRole("list", { name: "Headers" }).getByRole("listitem");
    await rows.nth(1).getByRole("textbox", { name: "Value of x-tenant" }).fill("west");
    await page.getByRole("button", { name: "Remove x-old" }).click();
    await page.getByRole("button", { name: "Add a header" }).click();
    const name = rows.nth(2).getByRole("textbox", { name: "Name of header 3" });
    await expect(name).toBeFocused();
    await expect(page.getByRole("button", { name: "Review…" })).toBeDisabled();
    await name.fill("x-new");
    await rows.nth(2).getByRole("textbox", { name: "Value of x-new" }).fill("yes");
    expect(await violations(page)).toEqual([]);
    await save(page, "a byte was wrong");
    const bar = page.getByRole("status").filter({ hasText: "Saved as revision 2." });
    await bar.getByRole("button", { name: "Redrive revision" }).click();
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(1);
    const [sent] = await downstream.deliveries(source.path);
    expect(sent).toMatchObject({
      base64: replaced.toString("base64"),
      headers: { "x-tenant": "north, west", "x-new": "yes", "content-type": "application/x-orders" },
    });
    expect(sent!.headers).not.toHaveProperty("x-old");
  });

  test("explains that somebody was faster, or that a redrive has the event, and keeps what was typed", async ({
    page,
    parkade,
    request,
  }) => {
    const source = await parkade.source("faster");
    await source.park([{ eventId: "f-1", payloadText: '{"a": 1}' }]);
    const { id } = await source.event("f-1");
    await actAs(page, "ada");
    await page.goto(`/events/${id}?edit=1`);
    await editor(page).press("Control+End");
    await page.keyboard.type(" ");
    await page.getByRole("button", { name: "Review…" }).click();
    await page.getByRole("textbox", { name: "Reason" }).fill("mine");
    const bobs = { base: 1, text: '{"a": 2}', reason: "bob was faster" };
    const answer = await request.post(`/api/v1/events/${id}/revisions`, { data: bobs, headers: { "x-actor": "bob" } });
    expect(answer.ok()).toBe(true);
    await page.getByRole("button", { name: "Save as a new revision" }).click();
    const refused = page.getByRole("alert").filter({ hasText: "This was not saved" });
    await expect(refused).toContainText("Revision 2 is the current one, not 1: bob made it current at");
    await expect(page.getByText(/after you opened revision 1: made by bob .* “bob was faster”/)).toBeVisible();
    await page.getByRole("button", { name: "Keep mine, on revision 2" }).click();
    await expect(refused).toBeHidden();
    await expect(page.getByRole("textbox", { name: "Reason" })).toHaveValue("mine");

    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const select = { ids: [id] };
    const data = { select, mode: "deliver", lane: "slow", reason: "in an hour", startAt };
    const later = await request.post("/api/v1/redrives", { data });
    expect(later.ok(), await later.text()).toBe(true);
    const redriveId = ((await later.json()) as { id: string }).id;
    await page.getByRole("button", { name: "Save as a new revision" }).click();
    await expect(refused).toContainText(`The event is in redrive ${redriveId} with revision 2`);
    await expect(refused).toContainText("What you typed is kept.");
    await expect(refused.getByRole("link", { name: /^Open redrive/ })).toHaveAttribute(
      "href",
      `/redrives/${redriveId}`,
    );
    page.on("dialog", (dialog) => void dialog.accept());
    await page.reload();
    await expect(page.getByRole("heading", { name: "This event cannot be edited now" })).toBeVisible();
    await expect(page.getByRole("link", { name: /^Open redrive/ })).toHaveAttribute("href", `/redrives/${redriveId}`);
    const cancel = { action: "cancel", reason: "edit first" };
    expect((await request.patch(`/api/v1/redrives/${redriveId}`, { data: cancel })).ok()).toBe(true);
    await page.reload();
    await expect(page.getByText(/Your unsaved changes from .* were restored/)).toBeVisible();
    await save(page, "mine after all");
    await expect(page.getByText("Saved as revision 3.")).toBeVisible();
    expect((await source.detail("f-1")).body.text).toBe('{"a": 1} ');
  });
});

const BATCH = Array.from({ length: 12 }, (_, at) => ({
  eventId: `m-${at}`,
  payloadText: `{"custId": ${9_007_199_254_740_993n + BigInt(at)},  "at": ${at}}\n`,
}));

/** Writes a recipe that renames custId, over all events of the source, and opens its preview. */
async function previewRename(page: Page, href: string): Promise<void> {
  const count = BATCH.length;
  await page.goto(href);
  await page.getByRole("checkbox", { name: `Select event m-${count - 1}`, exact: true }).check();
  const selection = page.getByRole("region", { name: "Selection" });
  await selection.getByRole("button", { name: new RegExp(`select all ${count} matching`) }).click();
  await selection.getByRole("button", { name: "Mend…" }).click();
  await page.getByRole("combobox", { name: "What step 1 does" }).selectOption("rename");
  await page.getByRole("combobox", { name: "Path of step 1" }).fill("/custId");
  await page.getByRole("textbox", { name: "New name of step 1" }).fill("customerId");
  await expect(page.getByRole("region", { name: "Samples" })).toContainText("/customerId");
  await page.getByRole("button", { name: "Preview", exact: true }).click();
  await expect(page.getByText(`${count} events tested in all; nothing is stored.`)).toBeVisible();
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
    expect(await parkade.refusalsOf(source.name)).toEqual(["schema-mismatch"]);
    await previewRename(page, source.href);
    await because(page, "the producer renamed custId", "Mend 12 events");
    await expect(page.getByText("Mended 12 events").first()).toBeVisible();
    expect(await parkade.refusalsOf(source.name)).toEqual([]);
    await page.reload();
    await page.getByRole("button", { name: "Verify 12 mended events" }).click();
    await expect(page.getByRole("button", { name: "Redrive 12 events" })).toBeVisible();
    expect(await downstream.deliveries(source.path)).toEqual([]);
    await page.reload();
    const bar = page.getByRole("region", { name: "Redrives that can be undone" });
    const { release } = await holdLong(page);
    await page.getByRole("button", { name: "Redrive 12 events" }).click();
    await expect(page).toHaveURL(/send=/);
    await bar.getByRole("button", { name: "Undo" }).click();
    await expect(page).not.toHaveURL(/send=/);
    await release();
    await page.getByRole("button", { name: "Redrive 12 events" }).click();
    await expect(page.getByRole("region", { name: "Redrive of the events that passed" })).toContainText("Canary:");
    await expect.poll(() => downstream.deliveries(source.path)).toHaveLength(12);
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
    await expect(page.getByText("12 of 12 events confirmed.")).toBeVisible();
  });
});

/** Replaces what the editor of the recipe holds. An editor that has just come may miss its first change. */
async function write(page: Page, tab: string, field: string, text: string): Promise<void> {
  await page.getByRole("tab", { name: tab, exact: true }).click();
  const box = page.getByRole("textbox", { name: field, exact: true });
  await expect(async () => {
    await box.fill(text);
    await expect(box).toHaveText(text, { timeout: 1000 });
  }).toPass();
}

test.describe("a recipe", () => {
  test("is kept under a name, loaded, taken back, replaced and deleted", async ({ page, parkade }) => {
    const source = await parkade.source("kept-recipe");
    await source.park([{ eventId: "k-1", payload: { custId: 1 } }]);
    await keepToasts(page);
    await page.goto(`/mend?source=${source.name}`);
    const named = `custId of ${source.name}`;
    const saved = page.getByRole("combobox", { name: "Saved recipes" });
    const patch = page.getByRole("textbox", { name: "JSON Patch", exact: true });
    await write(page, "JSON Patch", "JSON Patch", '[{"op": "remove", "path": "/custId"}]');
    await page.getByRole("textbox", { name: "Name to save the recipe under" }).fill(named);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await expect(toast(page, `Saved “${named}”, version 1`)).toBeVisible();
    await expect(saved).toHaveValue(/.+/);

    await page.goto(`/mend?source=${source.name}&errorCode=UPSTREAM_5XX`);
    await write(page, "JSON Patch", "JSON Patch", "[1]");
    await saved.selectOption({ label: `${named} · version 1` });
    await expect(patch).toHaveText('[{"op": "remove", "path": "/custId"}]');
    await toast(page, `“${named}” is loaded`).getByRole("button", { name: "Undo" }).click();
    await expect(patch).toHaveText("[1]");
    await write(page, "JSON Patch", "JSON Patch", '[{"op": "add", "path": "/v", "value": 2}]');
    await page.getByRole("button", { name: "Save as the next version" }).click();
    await expect(saved.getByRole("option", { name: `${named} · version 2` })).toBeAttached();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect(saved.getByRole("option", { name: named })).toHaveCount(0);
    await toast(page, `Deleted “${named}”`).getByRole("button", { name: "Undo" }).click();
    await expect(saved.getByRole("option", { name: named })).toHaveCount(1);
  });
});

test("what the dry run of a mend refuses is exported and mended further; an undo leaves what was sent, and says so", async ({
  page,
  parkade,
}) => {
  test.slow();
  const source = await parkade.source("further", { payloadSchema: SCHEMA });
  await source.park([
    { eventId: "n-1", payload: { custId: 1 } },
    { eventId: "n-2", payload: { custId: "two" } },
  ]);
  const mended = async (count: string) => {
    await page.getByRole("button", { name: "Preview", exact: true }).click();
    await expect(page.getByRole("button", { name: count, exact: true })).toBeVisible();
    await page.getByRole("textbox", { name: "Reason" }).fill("the producer renamed custId");
  };
  await page.goto(`/mend?source=${source.name}`);
  await page.getByRole("combobox", { name: "What step 1 does" }).selectOption("rename");
  await page.getByRole("combobox", { name: "Path of step 1" }).fill("/custId");
  await page.getByRole("textbox", { name: "New name of step 1" }).fill("customerId");
  await mended("1 would not match their schema");
  await page.getByRole("checkbox", { name: "Also mend the 1 that would not match their schema" }).check();
  await page.getByRole("button", { name: "Mend 2 events" }).click();
  await page.getByRole("button", { name: "Verify 2 mended events" }).click();
  const dryRun = page.getByRole("region", { name: "Dry run of the mended events" });
  const download = page.waitForEvent("download");
  await dryRun.getByRole("link", { name: "Export the 1 refused" }).click();
  const file = (await (await (await download).createReadStream()).toArray()).join("");
  expect(file).toContain("n-2");
  expect(file).not.toContain("n-1");
  const first = page.url();

  await dryRun.getByRole("link", { name: "Mend the 1 refused" }).click();
  await expect(page.getByText("events that were refused in another redrive")).toBeVisible();
  await page.getByRole("combobox", { name: "Path of step 1" }).fill("/customerId");
  await page.getByRole("textbox", { name: "Value of step 1, as JSON" }).fill("2");
  await mended("1 change");
  await page.getByRole("button", { name: "Mend 1 event" }).click();
  await page.getByRole("button", { name: "Verify 1 mended event" }).click();
  await page.getByRole("button", { name: "Redrive 1 event", exact: true }).click();
  await expect.poll(() => source.statuses()).toEqual({ PENDING: 1, REDRIVEN: 1 });
  const mend = page.getByRole("region", { name: "Mended", exact: true });
  await mend.getByRole("button", { name: "Undo the mend of unsent events" }).click();
  await expect(mend.getByRole("status")).toHaveText("Not undone: 1 sent since.");
  await page.keyboard.press("Escape");

  await page.goto(first);
  await mend.getByRole("button", { name: "Undo the mend" }).click();
  await expect(mend).toContainText("Undone: 1 of 2 events is back at the revision from before the mend");
  expect((await source.detail("n-1")).body.text).toBe('{"custId":1}');
  expect((await source.detail("n-2")).body.text).toBe('{"customerId":2}');
});
