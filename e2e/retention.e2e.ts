import { because, expect, test, toast } from "./support/parkade.ts";

const DAY_MS = 86_400_000;

test("a person sees how long events are kept and what is due, and sets a period for a source", async ({
  page,
  parkade,
  request,
}) => {
  const source = await parkade.source("retention");
  // An event of 40 days ago comes from an export: it is due, and stays for a week because it was restored.
  await source.park([{ eventId: "r-1" }]);
  const { id } = await source.event("r-1");
  const old = new Date(Date.now() - 40 * DAY_MS);
  const exported = await (await request.get(`/api/v1/events/export?source=${source.name}&reason=test`)).text();
  const line = JSON.parse(exported);
  const oldId = `${old
    .getTime()
    .toString(16)
    .padStart(12, "0")
    .replace(/^(.{8})/, "$1-")}${id.slice(13)}`;
  line.eventId = "r-2";
  line.stored = { ...line.stored, id: oldId, firstSeen: old.toISOString() };
  const restored = await request.post("/api/v1/events", { data: line });
  expect(await restored.json()).toMatchObject({ rejected: [] });

  await page.goto("/archive");
  await page.getByRole("link", { name: "Retention" }).click();
  const kept = page.getByRole("region", { name: "Kept for" });
  await expect(kept).toContainText("All events");
  await expect(kept).toContainText("30 days");
  const due = page.getByRole("region", { name: "Due now" });
  const day = due.getByRole("row").filter({ hasText: old.toISOString().slice(0, 10) });
  await expect(day).toContainText("1 sent, changed or restored in the last 7 days");

  await kept.getByRole("button", { name: "Edit…" }).click();
  const dialog = page.getByRole("dialog", { name: "How long events are kept" });
  await dialog.getByRole("button", { name: "Add a period for a source or an error code" }).click();
  await dialog.getByRole("combobox", { name: "Source" }).selectOption(source.name);
  await dialog.getByRole("textbox", { name: "Days", exact: true }).fill("4000");
  await because(dialog, "its events are copies", "Save");
  await expect(dialog).toContainText("A whole number, 7 to 3650.");
  await dialog.getByRole("textbox", { name: "Days", exact: true }).fill("9");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(toast(page, "Retention changed")).toBeVisible();
  await expect(kept.getByRole("row").filter({ hasText: source.name })).toContainText("9 days");
  await expect(kept).toContainText("All other events");
  await page.reload();
  await kept.getByRole("button", { name: "Edit…" }).click();
  await dialog.getByRole("button", { name: "Remove period 1" }).click();
  await because(dialog, "as all others", "Save");
  await expect(kept.getByRole("row").filter({ hasText: source.name })).toBeHidden();
});
