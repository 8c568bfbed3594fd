import { describe, expect, it, vi } from "vitest";
import { ResponseCache } from "@/lib/retry/cache/response-cache";
import { manualClock } from "@/lib/retry/testing/manual-clock";

function cache(policy: Partial<{ entriesMax: number; ttlMs: number; staleMs: number }> = {}) {
  const clock = manualClock();
  return { clock, responses: new ResponseCache<string>({ entriesMax: 2, ttlMs: 100, staleMs: 50, ...policy }, clock) };
}

describe("a response cache", () => {
  it("answers fresh, then stale, then not at all", async () => {
    const { clock, responses } = cache();
    responses.set("k", "v");
    expect(responses.get("k")).toEqual({ value: "v", ageMs: 0, fresh: true });
    await clock.advance(99);
    expect(responses.get("k")).toEqual({ value: "v", ageMs: 99, fresh: true });
    await clock.advance(1);
    expect(responses.get("k")).toEqual({ value: "v", ageMs: 100, fresh: false });
    await clock.advance(49);
    expect(responses.get("k")).toMatchObject({ fresh: false });
    await clock.advance(1);
    expect(responses.get("k")).toBeNull();
    expect(responses.size).toBe(0);
    expect(responses.get("never")).toBeNull();
  });

  it("forgets the least recently used", () => {
    const { responses } = cache();
    responses.set("a", "1");
    responses.set("b", "2");
    responses.get("a");
    responses.set("c", "3");
    expect([responses.get("a")?.value, responses.get("b"), responses.get("c")?.value]).toEqual(["1", null, "3"]);
    responses.set("a", "4");
    responses.set("d", "5");
    expect([responses.get("a")?.value, responses.get("c"), responses.size]).toEqual(["4", null, 2]);
    responses.delete("a");
    expect(responses.get("a")).toBeNull();
  });

  it("loads what is not fresh and keeps it", async () => {
    const { clock, responses } = cache();
    const load = vi.fn(async () => "loaded");
    expect(await responses.through("k", load)).toEqual({ value: "loaded", ageMs: 0, fresh: true });
    await clock.advance(60);
    expect(await responses.through("k", load)).toEqual({ value: "loaded", ageMs: 60, fresh: true });
    await clock.advance(60);
    expect(await responses.through("k", load)).toMatchObject({ ageMs: 0, fresh: true });
    expect(load).toHaveBeenCalledTimes(2);
  });

  it("loads once for all who wait for the same key", async () => {
    const { responses } = cache();
    const load = vi.fn(async (value: string) => value);
    const waiting = [responses.through("k", () => load("1")), responses.through("k", () => load("2"))];
    const other = responses.through("other", () => load("3"));
    expect((await Promise.all([...waiting, other])).map(({ value }) => value)).toEqual(["1", "1", "3"]);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it("lets a stale answer stand in for a failure, and says so", async () => {
    const { clock, responses } = cache();
    const broken = () => Promise.reject(new Error("down"));
    await expect(responses.through("k", broken)).rejects.toThrow("down");
    responses.set("k", "old");
    await clock.advance(120);
    expect(await responses.through("k", broken)).toEqual({ value: "old", ageMs: 120, fresh: false });
    await clock.advance(60);
    await expect(responses.through("k", broken)).rejects.toThrow("down");
  });

  it("has no stale answers when it must not", async () => {
    const { clock, responses } = cache({ staleMs: 0 });
    responses.set("k", "old");
    await clock.advance(100);
    expect(responses.get("k")).toBeNull();
  });
});
