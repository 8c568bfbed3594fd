import { globSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "./fetch-json.browser";

afterEach(() => {
  vi.unstubAllGlobals();
});

function answering(body: string, init: ResponseInit) {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => new Response(body, init));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: unknown) => error as ApiError,
  );

describe("fetchJson", () => {
  it("gives the answer of a good call", async () => {
    answering('{"items":[1]}', { status: 200 });
    expect(await fetchJson("/x")).toEqual({ items: [1] });
  });

  it("throws the server's problem with its code, sentence and fields", async () => {
    answering(
      '{"code":"invalid-filter","title":"t","detail":"from is after to","errors":[{"field":"from","detail":"is after to"}]}',
      { status: 400, headers: { "content-type": "application/problem+json" } },
    );
    const error = await failure(fetchJson("/x"));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: "invalid-filter", detail: "from is after to", status: 400, passing: false });
    expect(error.fields).toEqual([{ field: "from", detail: "is after to" }]);
  });

  it("leaves the page for the sign-in, but never an open dialog, which may hold what was typed", async () => {
    const assign = vi.fn();
    vi.stubGlobal("window", { location: { pathname: "/events", search: "?q=a", assign } });
    const unauthenticated = () =>
      answering('{"code":"unauthenticated","title":"t","detail":"Sign in"}', {
        status: 401,
        headers: { "content-type": "application/problem+json" },
      });
    for (const [dialog, times] of [
      [{}, 0],
      [null, 1],
    ] as const) {
      vi.stubGlobal("document", { querySelector: () => dialog });
      unauthenticated();
      expect(await failure(fetchJson("/x"))).toMatchObject({ code: "unauthenticated" });
      expect(assign).toHaveBeenCalledTimes(times);
    }
    expect(assign).toHaveBeenCalledWith("/sign-in?to=%2Fevents%3Fq%3Da");
  });

  it("does not show a proxy's HTML as an error text", async () => {
    answering("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } });
    expect(await failure(fetchJson("/x"))).toMatchObject({ code: "unexpected-answer", status: 502, passing: true });
  });

  it("tells a missing network from an abort of the caller's", async () => {
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    expect(await failure(fetchJson("/x"))).toMatchObject({ code: "offline", status: 0 });
    vi.stubGlobal("fetch", async () => {
      throw new DOMException("aborted", "AbortError");
    });
    expect(await failure(fetchJson("/x"))).toMatchObject({ name: "AbortError" });
  });

  it("repeats a request whose answer was lost under its key, and every other one under a new one", async () => {
    const keys: unknown[] = [];
    let lost = true;
    vi.stubGlobal("fetch", async (_path: string, { headers }: { headers: Record<string, string> }) => {
      keys.push(headers["idempotency-key"]);
      if (lost) throw new TypeError("Failed to fetch");
      return new Response("{}");
    });
    const send = (body: object, path = "/x") =>
      fetchJson(path, { method: "POST", body, once: true }).catch(() => undefined);
    await send({ a: 1 });
    await send({ a: 1 }, "/y");
    await send({ a: 1 });
    await send({ a: 2 });
    lost = false;
    await send({ a: 2 });
    await send({ a: 2 });
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 1, 0, 3, 3, 5]);
  });

  it("takes the same request a minute after a lost answer for another one, which the server must not answer from memory", async () => {
    const keys: unknown[] = [];
    vi.stubGlobal("fetch", async (_path: string, { headers }: { headers: Record<string, string> }) => {
      keys.push(headers["idempotency-key"]);
      throw new TypeError("Failed to fetch");
    });
    const nowMs = vi.spyOn(performance, "now");
    for (const atMs of [0, 59_000, 118_000, 179_000]) {
      nowMs.mockReturnValue(atMs);
      await fetchJson("/test", { method: "POST", once: true }).catch(() => undefined);
    }
    nowMs.mockRestore();
    expect(keys.map((key) => keys.indexOf(key))).toEqual([0, 0, 0, 3]);
  });

  it("gives up on an answer that does not come, and says of a change that it may have been carried out", async () => {
    vi.stubGlobal("fetch", (_path: string, { signal }: RequestInit) => {
      if (signal?.aborted) return Promise.reject(signal.reason);
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason));
      });
    });
    const read = await failure(fetchJson("/x", { timeoutMs: 20 }));
    expect(read).toMatchObject({ code: "no-answer", status: 0, passing: true });
    expect(read.detail).not.toContain("may have been carried out");
    const write = await failure(fetchJson("/x", { method: "POST", body: {}, timeoutMs: 20 }));
    expect(write.detail).toContain("may have been carried out");
    const preview = await failure(fetchJson("/x", { method: "POST", body: {}, reads: true, timeoutMs: 20 }));
    expect(preview.detail).not.toContain("may have been carried out");
    const own = new AbortController();
    own.abort();
    const aborted = fetchJson("/x", { signal: AbortSignal.any([own.signal, AbortSignal.timeout(1_000)]) });
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  });

  it("does not take a broken answer for a missing network", async () => {
    answering("{", { status: 200 });
    expect(await failure(fetchJson("/x"))).toMatchObject({ code: "unexpected-answer" });
  });

  it("is told of every POST that changes nothing, whose time limit is that of a read", () => {
    const asks = globSync("lib/**/*.browser.ts").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/fetchJson<[^>]*>+\((?:[^;]*?)method: "POST"[^;]*;/g)].map(
        ([call]) => call,
      ),
    );
    const reads = asks.filter((call) => /\/(try|preview|preview-mapping|count|check)[`"]|dryRun: true/.test(call));
    // Those of `useRead` are reads by their construction.
    expect(reads.length).toBeGreaterThanOrEqual(5);
    expect(reads.filter((call) => !call.includes("reads: true"))).toEqual([]);
  });

  it("sends a body as JSON", async () => {
    const fetched = answering("{}", { status: 202 });
    await fetchJson("/x", { method: "POST", body: { ids: ["a"] } });
    expect(fetched.mock.calls[0]?.[1]).toMatchObject({ method: "POST", body: '{"ids":["a"]}' });
  });
});
