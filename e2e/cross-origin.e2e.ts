import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { APIRequestContext, Page } from "@playwright/test";
import { expect, type Source, test } from "./support/parkade.ts";

/** A page of somebody else, on this machine: another port is another origin of the same site, another name another site. */
async function strangersPage(): Promise<{ urlOf(host: string): string; heard: string[]; close(): void }> {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(request.url ?? "");
    response.setHeader("content-type", "text/html").end("<!doctype html><title>another page</title><body>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { urlOf: (host) => `http://${host}:${port}/`, heard, close: () => server.close() };
}

/** All that an attack could change. */
async function state(request: APIRequestContext, source: Source) {
  const read = async (path: string) => ((await (await request.get(path)).json()) as { items: unknown[] }).items;
  return {
    statuses: await source.statuses(),
    audit: JSON.stringify((await read("/api/v1/audit?limit=50")).map((entry) => (entry as { id: string }).id)),
    sources: (await read("/api/v1/sources")).length,
    redrives: (await read("/api/v1/redrives?limit=50")).length,
  };
}

type Attack = { target: string; body: string; id: string; source: string };

/** Runs in the stranger's page. Resolves with what the page could read of any answer. */
async function attack({ target, body, id, source }: Attack): Promise<string[]> {
  const read: string[] = [];
  const changes = [
    ["POST", "/api/v1/events/ignore"],
    ["POST", "/api/v1/redrives"],
    ["POST", "/api/v1/events"],
    ["POST", `/ops/dlq/redrive?source=${source}`],
    ["PATCH", "/api/v1/settings"],
    ["PUT", "/api/v1/policies/default"],
    ["DELETE", `/api/v1/sources/${source}`],
  ] as const;
  const attempt = async (path: string, init: RequestInit) => {
    try {
      const answer = await fetch(target + path, init);
      const text = await answer.text();
      if (text !== "") read.push(`${init.method} ${path}: ${text.slice(0, 100)}`);
    } catch {
      // The browser refused to send it, or to show the answer.
    }
  };
  for (const [method, path] of changes) {
    const simple = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"];
    if (method === "POST")
      for (const type of simple)
        for (const credentials of ["include", "omit"] as const)
          await attempt(path, { method, mode: "no-cors", credentials, body, headers: { "content-type": type } });
    for (const type of ["application/json", "text/plain"])
      await attempt(path, { method, body, headers: { "content-type": type }, credentials: "include" });
    navigator.sendBeacon(target + path, body);
    navigator.sendBeacon(target + path, new Blob([body], { type: "text/plain" }));
  }
  for (const path of [`/api/v1/events/${id}/payload`, "/api/v1/events/export", "/metrics", "/api/v1/events"])
    for (const mode of ["cors", "no-cors"] as const) await attempt(path, { method: "GET", mode });
  return read;
}

/** Posts a form whose text is JSON into a frame, and then into the window itself. */
async function postForms(page: Page, url: string, { target, body }: Attack): Promise<void> {
  for (const path of ["/api/v1/events/ignore", "/api/v1/redrives"])
    for (const into of ["a-frame", "_self"]) {
      await page.goto(url);
      await page.evaluate(
        ({ action, into, body }) => {
          const frame = Object.assign(document.createElement("iframe"), { name: "a-frame" });
          const form = Object.assign(document.createElement("form"), { action, target: into, method: "post" });
          form.enctype = "text/plain";
          // name=value: the sign becomes a part of a text of JSON.
          const [name, value] = [`${body.slice(0, -1)},"x":"`, `"}`];
          form.append(Object.assign(document.createElement("input"), { name, value }));
          document.body.append(frame, form);
          const done = new Promise((resolve) => frame.addEventListener("load", resolve));
          form.submit();
          return into === "_self" ? undefined : done;
        },
        { action: target + path, into, body },
      );
      if (into === "_self") await expect(page.getByText("not-local")).toBeVisible();
    }
}

for (const host of ["127.0.0.1", "localhost"]) {
  test(`a page of ${host} on another port changes nothing, reads nothing, and shows nothing in a frame`, async ({
    page,
    request,
    parkade,
    product,
  }) => {
    const source = await parkade.source("cross");
    await source.park([{ eventId: "c-1" }, { eventId: "c-2" }]);
    const { id } = await source.event("c-1");
    const before = await state(request, source);
    const stranger = await strangersPage();
    const url = stranger.urlOf(host);
    const select = { filter: { source: [source.name] } };
    const body = JSON.stringify({ select, mode: "deliver", lane: "main", reason: "a page of somebody else" });
    const given = { target: product.url, body, id, source: source.name };

    await page.goto(url);
    expect(await page.evaluate(attack, given)).toEqual([]);
    await postForms(page, url, given);

    await page.goto(url);
    const framed = await page.evaluate(
      (target) =>
        new Promise<string>((resolve) => {
          const frame = Object.assign(document.createElement("iframe"), { src: `${target}/events` });
          frame.addEventListener("load", () => {
            try {
              resolve(frame.contentDocument === null ? "closed" : "open");
            } catch {
              resolve("closed");
            }
          });
          document.body.append(frame);
        }),
      product.url,
    );
    expect(framed).toBe("closed");
    // Chromium shows its own page where the answer forbids to be framed.
    expect(page.frames().some((frame) => frame.url().startsWith(product.url))).toBe(false);

    const opening = page.waitForEvent("popup");
    await page.evaluate((target) => {
      (globalThis as { opened?: Window | null }).opened = window.open(`${target}/events`);
    }, product.url);
    const opened = await opening;
    await expect(opened.getByRole("heading", { level: 1 })).toBeAttached();
    // The window of the console is cut off from the page that opened it.
    expect(await opened.evaluate(() => window.opener)).toBeNull();
    await expect.poll(() => page.evaluate(() => (globalThis as { opened?: Window }).opened?.closed)).toBe(true);

    expect(await state(request, source)).toEqual(before);
    stranger.close();
  });
}
