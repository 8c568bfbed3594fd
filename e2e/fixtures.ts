import { test as base } from "@playwright/test";
import type { Delivery, Rule } from "./downstream.ts";

export type Downstream = {
  /** The base of `redriveUrl`: add a path of your own, by which `deliveries` finds the requests. */
  url: string;
  /** Replaces all rules. */
  rules(rules: Rule[]): Promise<void>;
  /** The deliveries, oldest first; with `path`, only deliveries to paths that begin with it. */
  deliveries(path?: string): Promise<Delivery[]>;
  forget(): Promise<void>;
};

/** Playwright's `test` with the scripted receiver; each journey starts without rules and without deliveries. */
export const test = base.extend<{ downstream: Downstream }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the needed fixtures from it
  downstream: async ({}, use) => {
    const url = process.env.PARKADE_E2E_DOWNSTREAM;
    if (!url) throw new Error("PARKADE_E2E_DOWNSTREAM is not set: e2e/global-setup.ts sets it");
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

export { expect } from "@playwright/test";

async function call(method: string, url: string, body?: unknown): Promise<Response> {
  const response = await fetch(url, { method, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${url} answered ${response.status}`);
  return response;
}
