import { expect, test, toast } from "./support/parkade.ts";

test("a link of a source leads from its events to their trace in one click, and says what an event lacks", async ({
  page,
  parkade,
}) => {
  const source = await parkade.source("linked");
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  await source.park([
    { eventId: "traced", headers: [["traceparent", `00-${traceId}-b7ad6b7169203331-01`]] },
    { eventId: "untraced" },
  ]);

  await page.goto(`/sources/${source.name}`);
  await page.getByRole("button", { name: "Edit…" }).click();
  const form = page.getByRole("dialog");
  await form.getByRole("button", { name: "Add a link" }).click();
  const first = form.getByRole("group", { name: "Link 1" });
  await first.getByLabel("Label").fill("Trace");
  await first.getByLabel("Address").fill("https://jaeger.example/trace/{trace}");
  await form.getByRole("button", { name: "Add a link" }).click();
  const second = form.getByRole("group", { name: "Link 2" });
  await second.getByLabel("Label").fill("Logs");
  await second.getByLabel("Leads to").selectOption("Logs");
  await second.getByLabel("Address").fill("javascript:alert(1)");
  await form.getByRole("button", { name: "Save" }).click();
  await expect(first.getByText(/unknown placeholder \{trace\}: there are \{traceId\}/)).toBeVisible();
  await expect(second.getByText(/begins with http:\/\/ or https:\/\//)).toBeVisible();
  await first.getByLabel("Address").fill("https://jaeger.example/trace/{traceId}");
  await second.getByLabel("Address").fill("https://logs.example/?q={eventId}&from={fromMs}&to={toMs}");
  await form.getByRole("button", { name: "Save" }).click();
  await expect(toast(page, `Saved ${source.name}`)).toBeVisible();
  await expect(page.getByText("https://jaeger.example/trace/{traceId}")).toBeVisible();

  const { id } = await source.event("traced");
  await page.goto(`/events/${id}`);
  const links = page.getByRole("list", { name: "Logs and traces" });
  await expect(links.getByRole("link", { name: "Trace" })).toHaveAttribute(
    "href",
    `https://jaeger.example/trace/${traceId}`,
  );
  await expect(links.getByRole("link", { name: "Trace" })).toHaveAttribute("target", "_blank");
  await expect(links.getByRole("link", { name: "Logs" })).toHaveAttribute(
    "href",
    /^https:\/\/logs\.example\/\?q=traced&from=\d+&to=\d+$/,
  );
  await page.goto(`/events/${(await source.event("untraced")).id}`);
  await expect(links.getByText("Trace: no trace id")).toBeVisible();
  await expect(links.getByRole("link", { name: "Trace" })).toHaveCount(0);

  await page.goto(`${source.href}&open=${id}`);
  await expect(page.getByRole("complementary", { name: "Event" }).getByRole("link", { name: "Trace" })).toBeVisible();
});
