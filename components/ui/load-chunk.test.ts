import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freshness } from "@/lib/platform/browser/freshness.browser";
import { isChunkFailure, loadAtTouch, loadChunk, loadWhenTouched } from "./load-chunk";

vi.mock("@/lib/platform/browser/freshness.browser", () => ({ freshness: vi.fn(() => "old") }));

const missing = () => Object.assign(new Error("Failed to load chunk /x.js"), { name: "ChunkLoadError" });

let page: EventTarget;
beforeEach(() => {
  vi.useFakeTimers();
  page = new EventTarget();
  vi.stubGlobal("window", page);
  vi.stubGlobal("navigator", { onLine: true });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("code that is fetched after the page", () => {
  it("is fetched at the first touch of the page, and at once from then on", async () => {
    const code = { dataset: {} as Record<string, string> };
    vi.stubGlobal("document", { documentElement: code });
    const load = vi.fn(async () => "the dialog");
    loadAtTouch(load);
    loadWhenTouched();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([load.mock.calls.length, code.dataset.code]).toEqual([0, "loading"]);
    page.dispatchEvent(new Event("pointermove"));
    await vi.advanceTimersByTimeAsync(1_000);
    expect([load.mock.calls.length, code.dataset.code]).toEqual([1, "loaded"]);
    loadAtTouch(load);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it("is fetched again and again while nothing answers, and comes in the end", async () => {
    const load = vi
      .fn(async () => "the dialog")
      .mockRejectedValueOnce(missing())
      .mockRejectedValueOnce(missing());
    const loaded = loadChunk(load);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await loaded).toBe("the dialog");
    expect(load).toHaveBeenCalledTimes(3);
  });

  it("is fetched at once when the browser finds its network again", async () => {
    const load = vi.fn(async () => "the dialog").mockRejectedValueOnce(missing());
    const loaded = loadChunk(load);
    await vi.advanceTimersByTimeAsync(0);
    page.dispatchEvent(new Event("online"));
    expect(await loaded).toBe("the dialog");
  });

  it("is given up when the server answers and does not have it: another version was installed", async () => {
    vi.mocked(freshness).mockReturnValue("fresh");
    const kept = new Map<string, string>();
    const sessionStorage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    };
    const reload = vi.fn();
    Object.assign(page, { sessionStorage, location: { reload } });
    const load = vi.fn(async () => Promise.reject(missing()));
    const loaded = expect(loadChunk(load)).rejects.toMatchObject({ name: "ChunkLoadError" });
    await vi.advanceTimersByTimeAsync(10_000);
    await loaded;
    expect(load).toHaveBeenCalledTimes(3);
    // Otherwise a click would wait forever. A page that misses its code again is not reloaded.
    expect(reload).toHaveBeenCalledTimes(1);
    const again = expect(loadChunk(load)).rejects.toMatchObject({ name: "ChunkLoadError" });
    await vi.advanceTimersByTimeAsync(30_000);
    await again;
    expect(reload).toHaveBeenCalledTimes(1);
  });

  it("fails at once when the code itself fails", async () => {
    const load = vi.fn(async () => Promise.reject(new TypeError("x is not a function")));
    await expect(loadChunk(load)).rejects.toThrow("x is not a function");
    expect(load).toHaveBeenCalledTimes(1);
  });
});

it.each([
  [missing(), true],
  [new TypeError("Failed to fetch dynamically imported module: http://x/y.js"), true],
  [new TypeError("Importing a module script failed."), true],
  [new TypeError("x is not a function"), false],
  ["ChunkLoadError", false],
])("%s is a chunk that could not be fetched: %s", (error, is) => {
  expect(isChunkFailure(error)).toBe(is);
});
