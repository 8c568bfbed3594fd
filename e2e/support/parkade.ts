import { type APIRequestContext, expect, type Locator, type Page } from "@playwright/test";
import type { EventDetail, EventList, EventOut } from "../../lib/events/events.shapes.ts";
import type { ControlRequest } from "../../lib/order/controls/controls.shapes.ts";
import type { PreviewOut } from "../../lib/redrive/preview/redrive-preview.shapes.ts";
import type { RedriveList, RedriveOut } from "../../lib/redrive/redrives.shapes.ts";
import { test as withDownstream } from "../fixtures.ts";

/** An event to park: only the id is required. */
type Parked = {
  eventId: string;
  aggregateId?: string;
  version?: number;
  eventType?: string;
  errorCode?: string;
  error?: { type?: string; message?: string; stack?: string };
  payload?: unknown;
  /** The exact bytes of the body, in place of `payload`; of JSON unless `contentType` says otherwise. */
  payloadText?: string | Uint8Array;
  contentType?: string;
  headers?: [name: string, value: string][];
  tags?: Record<string, string>;
};

/** Events with the ids `prefix`-0, `prefix`-1 and so on. */
export function numbered(prefix: string, count: number): Parked[] {
  return Array.from({ length: count }, (_, index) => ({ eventId: `${prefix}-${index}` }));
}

type SourceOptions = {
  /** The rate of both lanes, events per second; null = unlimited. */
  ratePerSecond?: number | null;
  payloadSchema?: object;
};

export type Source = {
  name: string;
  /** A path at the downstream for this source alone. */
  path: string;
  /** The list, filtered to this source. */
  href: string;
  park(events: Parked[]): Promise<void>;
  event(eventId: string): Promise<EventOut>;
  detail(eventId: string): Promise<EventDetail>;
  statuses(): Promise<Record<string, number>>;
  /** Changes the rate of both lanes. */
  setRate(ratePerSecond: number | null): Promise<void>;
};

export type Parkade = {
  /** Creates a source for the journey; its redrives go to the scripted downstream. */
  source(prefix: string, options?: SourceOptions): Promise<Source>;
  redrive(id: string): Promise<RedriveOut>;
  /** The newest redrives, newest first. */
  redrives(): Promise<RedriveOut[]>;
  /** Redrives all events of a source on its main lane. */
  redriveAll(source: string): Promise<void>;
  /** The reason why a redrive of the source's PENDING events would be refused now. */
  refusalsOf(source: string): Promise<string[]>;
  impose(control: ControlRequest): Promise<void>;
  /** Confirms processed events, as a consumer does. */
  confirm(source: string, eventIds: string[]): Promise<void>;
};

/** Playwright's `test` with the product's API, to park events and to read results. */
export const test = withDownstream.extend<{ parkade: Parkade }>({
  context: async ({ context }, use) => {
    await context.addInitScript(shortenHolds);
    await use(context);
  },
  parkade: async ({ request, downstream }, use) => {
    const api = (method: "GET" | "POST" | "PATCH", path: string, data?: unknown) => call(request, method, path, data);
    await use({
      source: async (prefix, options = {}) => {
        const source = sourceOf(api, unique(prefix));
        await api("POST", "/api/v1/sources", {
          name: source.name,
          kind: "http",
          config: { redriveUrl: downstream.url + source.path },
          payloadSchema: options.payloadSchema ?? null,
          retryable: true,
        });
        await source.setRate(options.ratePerSecond ?? null);
        return source;
      },
      redrive: (id) => api("GET", `/api/v1/redrives/${id}`) as Promise<RedriveOut>,
      redrives: async () => ((await api("GET", "/api/v1/redrives?limit=50")) as RedriveList).items,
      redriveAll: async (source) => {
        const select = { filter: { source: [source] } };
        await api("POST", "/api/v1/redrives", { select, mode: "deliver", lane: "main", reason: "a journey" });
      },
      refusalsOf: async (source) => {
        const select = { filter: { source: [source], status: ["PENDING"] } };
        const preview = (await api("POST", "/api/v1/redrives/preview", { select })) as PreviewOut;
        return Object.keys(preview.refused);
      },
      impose: async (control) => {
        await api("POST", "/api/v1/controls", control);
      },
      confirm: async (source, eventIds) => {
        expect(await api("POST", "/api/v1/events/confirm", { source, eventIds })).toMatchObject({
          changed: eventIds.length,
        });
      },
    });
  },
});

export { expect } from "@playwright/test";

type Api = (method: "GET" | "POST" | "PATCH", path: string, data?: unknown) => Promise<unknown>;

async function call(request: APIRequestContext, method: string, path: string, data?: unknown): Promise<unknown> {
  const response = await request.fetch(path, { method, data });
  expect(response.ok(), `${method} ${path}: ${response.status()} ${response.ok() ? "" : await response.text()}`).toBe(
    true,
  );
  return response.json();
}

let made = 0;

/**
 * Runs in the page: a redrive of the console is held for 300 ms instead of 5 s, in which nobody undoes it. Not by a route, because
 * routes switch the browser's cache off.
 */
function shortenHolds(): void {
  const send = window.fetch;
  const holds = Object.assign(window, { parkadeShortHolds: true });
  window.fetch = (input, init) => {
    if (!holds.parkadeShortHolds || input !== "/api/v1/redrives" || typeof init?.body !== "string")
      return send(input, init);
    const body = JSON.parse(init.body);
    return send(input, body.holdMs ? { ...init, body: JSON.stringify({ ...body, holdMs: 300 }) } : init);
  };
}

const setShortHolds = (page: Page, parkadeShortHolds: boolean) =>
  page.evaluate((set) => void Object.assign(window, set), { parkadeShortHolds });

/** A name that no other journey uses, also when the product is kept for several runs. */
function unique(prefix: string): string {
  return `${prefix}-${process.pid.toString(36)}${(Date.now() % 1e8).toString(36)}${made++}`;
}

function sourceOf(api: Api, name: string): Source {
  const query = `source=${name}`;
  const events = async (more: string) => ((await api("GET", `/api/v1/events?${query}${more}`)) as EventList).items;
  const event = async (eventId: string) => {
    const [found] = await events(`&eventId=${encodeURIComponent(eventId)}`);
    if (!found) throw new Error(`${eventId} is not parked in ${name}`);
    return found;
  };
  return {
    name,
    path: `/${name}`,
    href: `/events?${query}`,
    park: async (parked) => {
      const answer = await api(
        "POST",
        "/api/v1/events",
        parked.map((one) => eventIn(name, one)),
      );
      expect(answer).toMatchObject({ accepted: parked.length, rejected: [] });
    },
    event,
    detail: async (eventId) => (await api("GET", `/api/v1/events/${(await event(eventId)).id}`)) as EventDetail,
    statuses: async () => {
      const statuses: Record<string, number> = {};
      for (const { status } of await events("&limit=500")) statuses[status] = (statuses[status] ?? 0) + 1;
      return statuses;
    },
    setRate: async (ratePerSecond) => {
      for (const target of [name, `${name}.slow`]) {
        await api("PATCH", `/api/v1/targets/${target}`, { ratePerSecond, reason: "a journey sets its pace" });
      }
    },
  };
}

function eventIn(
  source: string,
  { payloadText, contentType = "application/json", ...event }: Parked,
): Record<string, unknown> {
  const body =
    payloadText === undefined
      ? { payload: event.payload ?? { orderId: event.eventId } }
      : { payloadBase64: Buffer.from(payloadText).toString("base64"), contentType };
  return {
    eventType: "OrderCreated",
    errorCode: "UPSTREAM_5XX",
    error: { type: "com.acme.StockException", message: "503 from stock-service", stack: "at com.acme.Stock.reserve" },
    attempts: 4,
    ...event,
    payload: undefined,
    ...body,
    source,
  };
}

/** From here on this page acts under that name. */
export async function actAs(page: Page, name: string): Promise<void> {
  await page.addInitScript((actor) => localStorage.setItem("parkade.actor", actor), name);
}

/** The row of the list that shows this event. */
export function rowOf(page: Page, eventId: string): Locator {
  return page
    .getByRole("row")
    .filter({ has: page.getByRole("checkbox", { name: `Select event ${eventId}`, exact: true }) });
}

/** The events in the list, top to bottom. */
export async function listed(page: Page): Promise<string[]> {
  const boxes = page.getByRole("grid", { name: "Events" }).getByRole("checkbox", { name: /^Select event / });
  return (await boxes.evaluateAll((all) => all.map((box) => box.getAttribute("aria-label") ?? ""))).map((label) =>
    label.replace("Select event ", ""),
  );
}

/** Selects these events of the list, and returns the bar of the selection. */
export async function pick(page: Page, ...eventIds: string[]): Promise<Locator> {
  for (const eventId of eventIds)
    await page.getByRole("checkbox", { name: `Select event ${eventId}`, exact: true }).check();
  return page.getByRole("region", { name: "Selection" });
}

/** Selects all events that the list has loaded, and returns the bar of the selection. */
export async function pickLoaded(page: Page): Promise<Locator> {
  await page.getByRole("checkbox", { name: "Select all loaded events" }).check();
  return page.getByRole("region", { name: "Selection" });
}

/** Gives the reason that a dialog asks for, and presses its button. */
export async function because(dialog: Locator | Page, reason: string, button: string | RegExp): Promise<void> {
  await dialog.getByRole("textbox", { name: "Reason" }).fill(reason);
  await dialog.getByRole("button", { name: button }).click();
}

/** Opens an event beside the list and returns the panel. */
export async function openBeside(page: Page, eventId: string): Promise<Locator> {
  await rowOf(page, eventId).getByRole("gridcell").nth(3).click();
  const panel = page.getByRole("complementary", { name: "Event" });
  await expect(panel.getByRole("button", { name: `${eventId}: copy the event id` })).toBeVisible();
  return panel;
}

/** Types into the search box after `/`, and searches. */
export async function search(page: Page, text: string): Promise<void> {
  const box = page.getByRole("combobox", { name: "Search events" });
  // The keys of a page are bound when its own scripts run, after those of its frame.
  await expect(async () => {
    await page.keyboard.press("/");
    await expect(box).toBeFocused({ timeout: 500 });
  }).toPass();
  await box.fill(text);
  await box.press("Enter");
}

/** Chooses an action that the selection bar keeps under More. */
export async function chooseMore(selection: Locator, name: string): Promise<void> {
  await selection.getByRole("button", { name: "More actions on the selection" }).click();
  await selection
    .page()
    .getByRole("menuitem", { name: new RegExp(`^${name}…`) })
    .click();
}

/** Opens the folded fields of the dialog of a redrive. */
export async function openMore(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "More", exact: true }).click();
}

/** The id of the redrive that `press` starts. */
export async function startedBy(page: Page, press: () => Promise<void>): Promise<string> {
  const answer = page.waitForResponse(
    (response) => response.url().endsWith("/api/v1/redrives") && response.request().method() === "POST",
  );
  await press();
  return ((await (await answer).json()) as { id: string }).id;
}

/**
 * Redrives that this page starts can be undone for a minute, and for this page the clock stands: what presses Undo is no
 * race. `asked`: the holds that the console asked for, ms; `release` lets redrives and clock go on as they are.
 */
export async function holdLong(page: Page): Promise<{ asked: number[]; release(): Promise<void> }> {
  const asked: number[] = [];
  const redrives = "**/api/v1/redrives";
  await page.clock.setFixedTime(Date.now());
  await setShortHolds(page, false);
  await page.route(redrives, async (route) => {
    const request = route.request();
    const body = request.method() === "POST" ? request.postDataJSON() : null;
    if (!body?.holdMs) return route.fallback();
    asked.push(body.holdMs);
    await route.continue({ postData: JSON.stringify({ ...body, holdMs: 60_000 }) });
  });
  const release = async () => {
    await page.unroute(redrives);
    await setShortHolds(page, true);
    await page.clock.setSystemTime(Date.now());
  };
  return { asked, release };
}

/** The messages of this page stay until it is left: sonner counts no time while the document is hidden. */
export async function keepToasts(page: Page): Promise<void> {
  await page.addInitScript(() => Object.defineProperty(document, "hidden", { get: () => true }));
}

/** The text of a toast. */
export function toast(page: Page, text: string | RegExp): Locator {
  return page
    .getByRole("region", { name: /Notifications/ })
    .getByRole("listitem")
    .filter({ hasText: text });
}
