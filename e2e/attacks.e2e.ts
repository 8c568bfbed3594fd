import type { APIRequestContext } from "@playwright/test";
import { NAUGHTY, SCRIPTS } from "./support/attack-strings.ts";
import { watch } from "./support/page-watch.ts";
import { expect, openBeside, test, toast } from "./support/parkade.ts";

// They leave many rules.
test.use({ productOf: "attacks" });

/** At most `max` characters of a text: names are shorter than payloads. */
const cut = (text: string, max: number) => [...text].slice(0, max).join("");

/** An event with the text in every field that the list, the groups and the panel show. */
function eventOf(text: string, index: number) {
  return {
    eventId: `${index} ${cut(text, 100)}`,
    aggregateType: cut(text, 60),
    aggregateId: cut(text, 100),
    eventType: cut(text, 60),
    errorCode: cut(text, 60),
    error: { type: cut(text, 60), message: text, stack: `${text}\n at ${text}` },
    traceId: cut(text, 60),
    payload: { [cut(text, 60)]: text },
    tags: { note: cut(text, 60) },
    origin: { queue: text, [cut(text, 60)]: text },
  };
}

/** An event with all texts in its body, headers and error: one visit of a tab renders them all. */
function eventOfAll(texts: readonly string[]) {
  return {
    eventId: "all",
    error: { type: "all", message: cut(texts.join(" "), 1_000), stack: texts.join("\n at ") },
    payload: { texts, names: Object.fromEntries(texts.map((text, at) => [`${at}${cut(text, 60)}`, text])) },
    headers: SCRIPTS.map((text) => ["x-note", text] as [string, string]),
  };
}

/** Sends what the API may refuse in words, and never answers with an error of its own. Returns whether it was taken. */
async function sent(request: APIRequestContext, path: string, data: unknown): Promise<boolean> {
  const answer = await request.post(path, { data });
  if (answer.status() >= 500) throw new Error(`POST ${path} answered ${answer.status()} to ${JSON.stringify(data)}`);
  return answer.ok();
}

/** Names and reasons that hold the text, of everything that has any. */
async function furnish(request: APIRequestContext, source: string, text: string): Promise<number> {
  const [name, reason] = [cut(text, 60), cut(text, 200)];
  const url = "http://127.0.0.1:9/x";
  const taken = [
    await sent(request, "/api/v1/admission-rules", {
      ...{ name, source, when: [{ field: "errorCode", op: "is", value: name }], do: { group: name }, reason },
    }),
    await sent(request, "/api/v1/redrive-rules", {
      ...{ name, filter: { source: [source], errorCode: [name] }, delayMs: 60_000, reason },
    }),
    await sent(request, "/api/v1/saved-views", { name, filter: { source: [source], q: name } }),
    await sent(request, "/api/v1/recipes", {
      name,
      recipe: { kind: "form", steps: [{ op: "set", at: "", value: text }] },
    }),
    await sent(request, "/api/v1/controls", { kind: "blacklist", scope: { aggregateId: name }, reason }),
    await sent(request, "/api/v1/channels", { name, sources: [source], config: { kind: "webhook", url } }),
    await sent(request, "/api/v1/alert-rules", { name, watch: { kind: "size", above: 1, sources: [source] }, reason }),
    await sent(request, "/api/v1/sources", {
      name,
      kind: "http",
      config: { redriveUrl: url, headers: { "x-a": name } },
    }),
    await sent(request, `/api/v1/sources/${source}/schemas`, { eventType: name, schema: { title: text }, reason }),
  ];
  return taken.filter(Boolean).length;
}

/** Each renders the names and reasons of other resources, in one list. */
const PAGES = [
  ...[
    "/",
    "/redrives",
    "/controls",
    "/targets",
    "/sources",
    "/admission",
    "/redrive-rules",
    "/alerts",
    "/alerts/rules",
  ],
  ...["/alerts/channels", "/archive", "/mend", "/audit"],
];

// Takes 20 to 35 s: 70 requests that furnish the pages, and 26 page loads.
test("no text in a field, a header, a name or a filter becomes markup or a script, on any page", async ({
  page,
  request,
  parkade,
  product,
}) => {
  const source = await parkade.source("naughty");
  const events = SCRIPTS.map((text, index) => ({ source: source.name, ...eventOf(text, index) }));
  const answer = await request.post("/api/v1/events", { data: events });
  expect(answer.status()).toBeLessThan(500);
  await source.park([eventOfAll(NAUGHTY)]);
  const parked = Object.values(await source.statuses()).reduce((sum, count) => sum + count, 0);
  expect(parked).toBeGreaterThan(SCRIPTS.length / 2);
  let taken = 0;
  for (const text of SCRIPTS) taken += await furnish(request, source.name, text);
  expect(taken).toBeGreaterThan(SCRIPTS.length * 3);

  const watched = await watch(page, product.url);
  const visit = async (path: string) => {
    const response = await page.goto(path);
    expect(response?.status(), path).toBeLessThan(500);
    await expect(page.getByRole("heading", { level: 1 })).toBeAttached();
    await watched.look();
  };
  for (const path of PAGES) await visit(path);
  for (const path of ["/events", "/groups"]) await visit(`${path}?source=${source.name}`);
  const { id } = await source.event("all");
  for (const tab of ["payload", "headers", "error", "history"]) await visit(`/events/${id}?tab=${tab}`);
  const filter = new URLSearchParams(SCRIPTS.map((text) => ["errorCode", text]));
  await visit(`/events?${filter}&q=${encodeURIComponent(SCRIPTS[0]!)}&aggregateId=${encodeURIComponent(SCRIPTS[1]!)}`);
  for (const path of ["/events", "/sources"]) await visit(`${path}/${encodeURIComponent(SCRIPTS[0]!)}`);
  await page.goto(`/runbooks/${encodeURIComponent(SCRIPTS[0]!)}`);
  await watched.look();
  expect(watched.seen()).toEqual([]);
});

test("dialogs, notices and the editor show such a text, and keep the policy", async ({ page, parkade, product }) => {
  // Short: the panel cuts a longer id.
  const text = "<u>x</u>";
  const source = await parkade.source("shown");
  const event = { errorCode: SCRIPTS[2]!, payload: { [SCRIPTS[2]!]: SCRIPTS[2]! } };
  await source.park([
    { ...event, eventId: text },
    { ...event, eventId: "<i>y</i>" },
  ]);
  const watched = await watch(page, product.url);
  await page.goto(source.href);
  const panel = await openBeside(page, text);
  await panel.getByRole("button", { name: "Redrive", exact: true }).click();
  await expect(toast(page, `${text} was sent`)).toBeVisible();
  await watched.look();
  // Their styles came into the page by script.
  expect(await toast(page, text).evaluate((element) => getComputedStyle(element).position)).not.toBe("static");
  const { id } = await source.event("<i>y</i>");
  await page.goto(`/events/${id}?tab=payload`);
  await page.goto(`/events/${id}?edit=1`);
  const editor = page.locator(".cm-editor").first();
  await expect(editor).toBeVisible();
  expect(await editor.evaluate((element) => getComputedStyle(element).display)).toBe("flex");
  await watched.look();
  expect(watched.seen()).toEqual([]);
});

test("the watch of these journeys sees what an attack would leave", async ({ page, product }) => {
  const watched = await watch(page, product.url);
  await page.goto("/events");
  await page.evaluate(() => {
    const link = Object.assign(document.createElement("a"), { href: "javascript:alert(1)", textContent: "x" });
    const style = Object.assign(document.createElement("style"), { textContent: "body { color: red }" });
    document.body.append(link, document.createElement("iframe"), style);
    window.alert("seen");
    setTimeout(() => {
      throw new Error("broken");
    });
  });
  await watched.look();
  for (const sign of ["a dialog: seen", "<a href=javascript:", "<iframe>", "style-src-elem", "an error: broken"])
    await expect.poll(() => watched.seen().some((text) => text.includes(sign)), sign).toBe(true);
});
