import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium, type Page } from "@playwright/test";
import { createDb } from "@/lib/platform/database/db";
import { buildAll } from "../scripts/build.ts";
import { chromiumPath } from "../scripts/chromium.ts";
import { median } from "./figures";
import { startWebProcess, startWorkerProcess } from "./processes";
import { type Reading, scenario } from "./scenario";
import { startBenchStack } from "./stack";
import { fillStore } from "./store";

/**
 * What a browser has to do for the main pages of the built console: compressed script of a first load, the largest contentful paint
 * (LCP) against that of a page without script in the same browser, and the requests of a page that nobody touches.
 *
 * BENCH_EVENTS (100,000), BENCH_LOADS (5 a page) and BENCH_SECONDS (60 without a touch) make a quick run.
 */

const EVENTS = Number(process.env.BENCH_EVENTS ?? 100_000);
const LOADS = Number(process.env.BENCH_LOADS ?? 5);
const IDLE_SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
/** What a page fetches once it is there, such as the code of its dialogs, has come within this time. */
const SETTLE_MS = 5_000;
const SCRIPT_KB_MAX = 250;
const LCP_MS_MAX = 1_000;
/** For 60 s, by the intervals of `lib/**\/*.browser.ts` and a reserve: the status alone is asked for 20 times. */
const REQUESTS_MAX = { "/": 90, "/events": 60, "one event": 75, "/redrives": 60 };

type MainPage = { name: keyof typeof REQUESTS_MAX; url: string };

export const run = scenario({
  name: "page",
  open: async (atEnd) => {
    const executablePath = chromiumPath();
    if (executablePath === null) throw new Error("there is no Chromium: set PLAYWRIGHT_CHROMIUM");
    await buildAll((line) => console.log(line));
    const stack = await startBenchStack();
    atEnd(stack.stop);
    const filler = createDb(stack.databaseUrl, { max: 3 });
    atEnd(filler.end);
    const web = await startWebProcess(stack.databaseUrl);
    atEnd(web.stop);
    const worker = await startWorkerProcess({ databaseUrl: stack.databaseUrl, redisUrl: null });
    atEnd(worker.stop);
    const bare = await startBarePage();
    atEnd(bare.stop);
    // As root Chromium has no sandbox.
    const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    const browser = await chromium.launch({ executablePath, args });
    atEnd(() => browser.close());
    return { filler, url: web.url, bareUrl: bare.url, browser };
  },
  fill: ({ filler }) => fillStore(filler, { events: EVENTS, days: 30 }),
  async *measure({ filler, url, bareUrl, browser }) {
    const [event] = await filler.query<{ id: string }>("select id from dlq_events order by id desc limit 1");
    const pages: MainPage[] = [
      { name: "/", url: `${url}/` },
      { name: "/events", url: `${url}/events` },
      { name: "one event", url: `${url}/events/${event!.id}` },
      { name: "/redrives", url: `${url}/redrives` },
    ];
    // The first load compiles the server's code.
    for (const page of pages) await firstLoad(browser, page.url);
    for (const page of pages) yield* firstLoads(browser, page, bareUrl);
    // At the same time, each in a window of its own.
    yield* await Promise.all(pages.map((page) => untouched(browser, page)));
  },
});

async function* firstLoads(browser: Browser, { name, url }: MainPage, bareUrl: string): AsyncGenerator<Reading> {
  const loads: Record<"page" | "bare", Load[]> = { page: [], bare: [] };
  for (let turn = 0; turn < LOADS; turn++) {
    loads.bare.push(await firstLoad(browser, bareUrl));
    loads.page.push(await firstLoad(browser, url));
  }
  const [script, later] = (["scriptBytes", "laterBytes"] as const).map((of) => loads.page[0]![of] / 1024);
  const note = `${later!.toFixed(0)} KB more once it is there`;
  yield { name: `${name}: script of a first load`, value: script!, unit: "KB", bound: { max: SCRIPT_KB_MAX }, note };
  const [lcpMs, bareMs] = [loads.page, loads.bare].map((of) => median(of.map((load) => load.lcpMs)));
  const baseline = { name: "ms of a page without script", value: bareMs! };
  yield { name: `${name}: LCP`, value: lcpMs!, unit: "ms", bound: { max: LCP_MS_MAX }, baseline };
}

type Load = {
  lcpMs: number;
  /** As transferred: of what was asked for until the page's own load event, and of what came later. */
  scriptBytes: number;
  laterBytes: number;
};

/** In a context of its own: nothing is cached. */
async function firstLoad(browser: Browser, url: string): Promise<Load> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.addInitScript(() => {
      const seen = Object.assign(window, { lcpMs: Number.NaN });
      new PerformanceObserver((list) => {
        seen.lcpMs = list.getEntries().at(-1)!.startTime;
      }).observe({ type: "largest-contentful-paint", buffered: true });
    });
    await opened(page, url);
    await sleep(SETTLE_MS);
    // No function of it may have a name: the compiler marks those with a helper that the page does not have.
    const { lcpMs, loadedMs, scripts } = await page.evaluate(() => ({
      lcpMs: (window as unknown as { lcpMs: number }).lcpMs,
      loadedMs: (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming).loadEventStart,
      scripts: (performance.getEntriesByType("resource") as PerformanceResourceTiming[])
        .filter(({ name }) => new URL(name).pathname.endsWith(".js"))
        .map(({ startTime, encodedBodySize }) => ({ startTime, encodedBodySize })),
    }));
    const [first, later] = [scripts.filter(({ startTime }) => startTime <= loadedMs), scripts].map((some) =>
      some.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    );
    return { lcpMs, scriptBytes: first!, laterBytes: later! - first! };
  } finally {
    await context.close();
  }
}

async function untouched(browser: Browser, { name, url }: MainPage): Promise<Reading> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await opened(page, url);
    await sleep(SETTLE_MS);
    const asked = new Map<string, number>();
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1);
    });
    await sleep(IDLE_SECONDS * 1000);
    const most = [...asked].toSorted(([, left], [, right]) => right - left).slice(0, 5);
    return {
      name: `${name}: untouched for ${IDLE_SECONDS} s`,
      value: [...asked.values()].reduce((sum, count) => sum + count, 0),
      unit: "requests",
      bound: { max: REQUESTS_MAX[name] },
      note: most.map(([path, count]) => `${count} × ${path}`).join(", "),
    };
  } finally {
    await context.close();
  }
}

async function opened(page: Page, url: string): Promise<void> {
  const answer = await page.goto(url, { waitUntil: "load" });
  if (!answer?.ok()) throw new Error(`${url} answered ${answer?.status()}`);
}

/** A page of text alone: what the browser and the machine take for a paint. */
async function startBarePage(): Promise<{ url: string; stop(): void }> {
  const lines = Array.from({ length: 40 }, (_, n) => `<p>Event ${n}: no answer from the stock service</p>`);
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>bare</title>${lines.join("")}`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop };
}
