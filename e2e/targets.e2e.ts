import type { Locator } from "@playwright/test";
import type { AuditList } from "../lib/guard/audit/audit.shapes.ts";
import type { TargetOut } from "../lib/sources/sources.shapes.ts";
import { violations } from "./support/axe.ts";
import { because, expect, openMore, test, toast } from "./support/parkade.ts";

test("a target's pace and fallback are changed with a reason", async ({ page, request, parkade }) => {
  const source = await parkade.source("pace", { ratePerSecond: 5 });
  const reason = `the night run of ${source.name}`;
  await page.goto("/targets");
  const row = page.getByRole("rowgroup", { name: source.name, exact: true });
  await row.getByRole("button", { name: "Edit…" }).click();
  const dialog = page.getByRole("dialog", { name: `Edit ${source.name}` });
  const rate = dialog.getByRole("textbox", { name: "Rate, events per second" });
  const warmUp = dialog.getByRole("textbox", { name: "Warm-up, seconds" });
  const unlimited = dialog.getByRole("checkbox", { name: /^No rate limit/ });
  await expect(rate).toHaveValue("5");

  await rate.fill("12");
  await unlimited.check();
  await unlimited.uncheck();
  await warmUp.fill("30");
  await dialog.getByRole("checkbox", { name: /^No bursts/ }).check();
  await dialog.getByRole("combobox", { name: "When it cannot accept events" }).selectOption("wait and check again");
  await dialog.getByRole("textbox", { name: "Check again after (minutes)" }).fill("2");
  await expectWithinWindow(dialog);
  expect(await violations(page)).toEqual([]);

  // Without a reason nothing is saved, and the field that lacks is in view.
  await dialog.getByRole("button", { name: "Save" }).click();
  const why = dialog.getByRole("textbox", { name: "Reason" });
  await expect(why).toBeFocused();
  await expect(why).toBeInViewport();
  await why.fill(reason);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(toast(page, `Changed ${source.name}`)).toBeVisible();

  await expect(row).toContainText("12/s");
  await row.getByRole("button", { name: `${source.name}: details` }).click();
  await expect(row).toContainText("no bursts");
  await expect(row).toContainText("warms up in 30 s");
  await expect(row).toContainText("when it cannot accept events, a send waits 2 min");
  const changed = {
    ratePerSecond: 12,
    warmUpMs: 30_000,
    noBursts: true,
    fallback: { kind: "defer", deferMs: 120_000 },
  };
  const target = async (): Promise<TargetOut> => (await request.get(`/api/v1/targets/${source.name}`)).json();
  expect(await target()).toMatchObject(changed);

  const { items }: AuditList = await (await request.get(`/api/v1/audit?subjectId=${source.name}`)).json();
  const entries = items.filter((entry) => entry.reason === reason);
  expect(entries).toHaveLength(1);
  expect(entries[0]).toMatchObject({ subjectKind: "target", before: { ratePerSecond: 5 }, after: changed });
});

test("the address of confirmations is set, shown without its token, and taken away", async ({ page, request }) => {
  const confirmedUrl = async () => (await (await request.get("/api/v1/settings")).json()).confirmedUrl;
  await page.goto("/targets");
  const panel = page.getByRole("region", { name: "Confirmations" });
  await panel.getByRole("button", { name: /^(Set an address|Edit)…$/ }).click();
  const dialog = page.getByRole("dialog", { name: "Confirmations" });
  const address = dialog.getByRole("textbox", { name: "Address" });
  const reason = dialog.getByRole("textbox", { name: "Reason" });
  const save = dialog.getByRole("button", { name: "Save" });
  await address.fill("orders.example");
  await reason.fill("the order service wants to know");
  await save.click();
  await expect(dialog).toContainText("The address must look like https://host/path");
  await address.fill("https://me:secret@orders.example/parkade");
  await save.click();
  await expect(dialog).toContainText("The address must not contain a user or password");
  await expect(address).toBeFocused();
  await address.fill("https://orders.example/parkade?token=s3cret");
  await save.click();
  await expect(toast(page, "Confirmations go to the new address")).toBeVisible();
  await expect(panel).toContainText("https://orders.example/parkade?token=***");
  expect(await confirmedUrl()).toBe("https://orders.example/parkade?token=***");

  await panel.getByRole("button", { name: "Edit…" }).click();
  await expect(address).toHaveValue("https://orders.example/parkade?token=***");
  await expectWithinWindow(dialog);
  await address.fill("");
  await expect(dialog).toContainText("messages queued for the address are deleted");
  await reason.fill("it polls now");
  await save.click();
  await expect(panel).toContainText("Confirmations are not sent anywhere.");
  expect(await confirmedUrl()).toBeNull();
});

test("a third target is added, gets a selection, is seen on the redrive's page and removed", async ({
  page,
  parkade,
  downstream,
}) => {
  const source = await parkade.source("third");
  const name = `${source.name}.audit`;
  await source.park([{ eventId: "missed-1" }, { eventId: "missed-2" }]);
  const dialog = page.getByRole("dialog");

  // Without a choice the dialog of a redrive shows none.
  const choose = async () => {
    await page.goto(source.href);
    await page.getByRole("checkbox", { name: "Select event missed-1" }).check();
    await page.getByRole("checkbox", { name: "Select event missed-2" }).check();
    await page.getByRole("button", { name: "Redrive…" }).click();
    await expect(dialog.getByRole("button", { name: "Redrive 2 events" })).toBeVisible();
    await openMore(dialog);
    await expect(dialog.getByRole("radiogroup", { name: "When" })).toBeVisible();
  };
  await choose();
  await expect(dialog.getByRole("combobox", { name: "Target" })).toHaveCount(0);

  // Added: the server names the setting that is wrong beside its field.
  await page.goto(`/sources/${source.name}`);
  await page.getByRole("button", { name: "Add a target…" }).click();
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Redrive URL").fill("no URL");
  await dialog.getByRole("textbox", { name: "Reason" }).fill("the audit service missed some");
  // Nothing is chosen for the person: whether a send may be repeated is asked.
  await dialog.getByRole("button", { name: "Add the target" }).click();
  const repeated = dialog.getByRole("group", { name: "Can a send be retried automatically?" });
  await expect(repeated.getByRole("radio", { checked: true })).toHaveCount(0);
  await repeated.getByRole("radio").first().check();
  await dialog.getByRole("button", { name: "Add the target" }).click();
  await expect(dialog.getByLabel("Redrive URL")).toHaveAttribute("aria-invalid", "true");
  const destination = { redriveUrl: `${downstream.url}${source.path}-audit` };
  await dialog.getByLabel("Redrive URL").fill(destination.redriveUrl);
  await dialog.getByRole("button", { name: "Add the target" }).click();
  await expect(toast(page, `Added ${name}`)).toBeVisible();
  const targets = page.getByRole("region", { name: "Where redrives go" }).getByRole("listitem");
  await expect(targets).toHaveCount(3);
  await expect(targets.filter({ hasText: name })).toContainText(`${source.path}-audit`);
  await page.getByRole("button", { name: "Probe" }).click();
  await expect(page.getByRole("list", { name: "Its targets" }).getByRole("listitem")).toHaveCount(3);
  await expect(page.getByRole("list", { name: "Its targets" })).not.toContainText("not reached");

  // Chosen.
  await choose();
  const choice = dialog.getByRole("combobox", { name: "Target" });
  await choice.focus();
  await choice.selectOption(name);
  await expect(dialog.getByText("with its own rate and breaker")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Redrive 2 events" })).toBeEnabled();
  await expect(choice).toBeFocused();
  await dialog.getByRole("checkbox", { name: /1, then all/ }).uncheck();
  await because(dialog, "the audit is back", "Redrive 2 events");
  await toast(page, "Redrive started").getByRole("button", { name: "View" }).click();
  await expect(page).toHaveURL(/\/redrives\//);
  await expect(
    page
      .getByRole("banner")
      .or(page.locator("header"))
      .filter({ hasText: `to ${name}` }),
  ).toBeVisible();
  await expect.poll(() => downstream.deliveries(`${source.path}-audit`)).toHaveLength(2);
  expect(await downstream.deliveries(source.path)).toHaveLength(2);
  await expect.poll(async () => (await source.event("missed-1")).status).toBe("REDRIVEN");
  await page.goto(`/events/${(await source.event("missed-1")).id}`);
  await page.getByRole("tab", { name: /^History/ }).click();
  await expect(page.getByRole("list", { name: "History" })).toContainText(`to ${name} sent in`);

  // Removed.
  await page.goto(`/sources/${source.name}`);
  await page.getByRole("button", { name: `${name}: Remove…` }).click();
  await because(dialog, "the audit has all", "Remove the target");
  await expect(toast(page, `Removed ${name}`)).toBeVisible();
  await expect(targets).toHaveCount(2);
});

/** The dialog and its buttons are inside the window, and nothing in it is wider than it. */
async function expectWithinWindow(dialog: Locator): Promise<void> {
  await expect(dialog).toBeInViewport({ ratio: 1 });
  await expect(dialog.getByRole("button", { name: "Save" })).toBeInViewport({ ratio: 1 });
  const sideways = await dialog.evaluate((box) =>
    [box, ...box.querySelectorAll("div")]
      .filter((part) => part.scrollWidth > part.clientWidth + 1)
      .map((p) => p.className),
  );
  expect(sideways).toEqual([]);
}
