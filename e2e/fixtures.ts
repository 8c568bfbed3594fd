import { test as base, expect, type Page } from "@playwright/test";
import type { Delivery, Rule } from "./downstream.ts";
import { type Product, startProduct } from "./product.ts";

export type Downstream = {
  /** The base of `redriveUrl`: add a path of your own, by which `deliveries` finds the requests. */
  url: string;
  /** Replaces all rules. */
  rules(rules: Rule[]): Promise<void>;
  /** The deliveries, oldest first; with `path`, only deliveries to paths that begin with it. */
  deliveries(path?: string): Promise<Delivery[]>;
  forget(): Promise<void>;
};

/** A start takes seconds, and ten times as long on a busy machine. */
const START_MS = 180_000;

/**
 * Playwright's `test` with the product. The journeys of one worker of Playwright share a product and its data: each makes its own
 * source with a name of its own and filters by it. `page.goto("/events")` and `request.post("/api/v1/events", ...)` reach it. Each
 * journey starts without rules and without deliveries. A file whose journeys leave much behind has a product of its own:
 * `test.use({ productOf: "this file" })`.
 */
export const test = base.extend<{ downstream: Downstream }, { product: Product; productOf: string }>({
  // Playwright gives files with another value another worker.
  productOf: ["all files", { option: true, scope: "worker" }],
  product: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the needed fixtures from it
    async ({}, use, { workerIndex }) => {
      const { product, stop } = await startProduct(String(workerIndex));
      await use(product);
      await stop();
    },
    { scope: "worker", timeout: START_MS },
  ],
  baseURL: ({ product }, use) => use(product.url),
  context: async ({ context }, use) => {
    const newPage = context.newPage.bind(context);
    context.newPage = async () => whenReady(await newPage());
    await use(context);
  },
  downstream: async ({ product }, use) => {
    const url = product.downstreamUrl;
    const downstream: Downstream = {
      url,
      rules: (rules) => call("PUT", `${url}/_rules`, rules).then(() => undefined),
      deliveries: async (path = "") => {
        const all: Delivery[] = await (await call("GET", `${url}/_deliveries`)).json();
        return all.filter((delivery) => delivery.path.startsWith(path));
      },
      forget: () => call("DELETE", `${url}/_deliveries`).then(() => undefined),
    };
    await downstream.rules([]);
    await downstream.forget();
    await use(downstream);
  },
});

export { expect };

/** The factor by which the browser is slowed down, to find what a journey leaves to chance: `PARKADE_E2E_SLOW=6`. */
const SLOW = Number(process.env.PARKADE_E2E_SLOW ?? 1);

/** The server renders the page before its scripts run: an earlier click or key press has no effect, on a slow machine. */
export async function whenReady(page: Page): Promise<Page> {
  if (SLOW > 1) {
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: SLOW });
  }
  const [goto, reload] = [page.goto.bind(page), page.reload.bind(page)];
  page.goto = async (...args) => {
    const response = await goto(...args);
    await ready(page);
    return response;
  };
  page.reload = async (...args) => {
    const response = await reload(...args);
    await ready(page);
    return response;
  };
  return page;
}

async function ready(page: Page): Promise<void> {
  const hydrated = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("a[href], button, input, select, textarea")].every((element) =>
        Object.keys(element).some((key) => key.startsWith("__reactProps$")),
      ),
    );
  await expect(async () => expect(await hydrated()).toBe(true)).toPass();
  // React runs effects, which bind the keys, after it has hydrated.
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
}

async function call(method: string, url: string, body?: unknown): Promise<Response> {
  const response = await fetch(url, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
  return response;
}
