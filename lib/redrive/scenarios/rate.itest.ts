import { beforeEach, describe, expect, test } from "vitest";
import { draftEtaMs } from "@/components/redrive/dialog/redrive-draft";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { systemClock } from "@/lib/platform/clock";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { describeOnBothQueues, worldOfEachTest } from "@/lib/testing/redrive-world";

/**
 * How soon n sends may be over: the bucket starts empty, refills at `ratePerSecond` and holds two. A busy machine only
 * makes it later, so nothing here depends on how fast this one is.
 */
function earliestMs(sends: number, ratePerSecond: number): number {
  return ((sends - 2) / ratePerSecond) * 1000;
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.nowMs();
  await work();
  return systemClock.nowMs() - startedMs;
}

describeOnBothQueues("the rate of a redrive on $backend (I9) over two workers", ({ redisUrl }) => {
  const world = worldOfEachTest({ redisUrl, invariants: false });

  beforeEach(async () => {
    await world.worker();
    await world.worker();
  });

  test("is bounded by its target's, also when two redrives share it", async () => {
    await world.db.run("update targets set rate_per_second = 50, updated_at = now()");
    await world.park(60);
    const ids = await world.idsOf();
    const half = async (from: number) => {
      const { id } = await world.request({ select: { ids: ids.slice(from, from + 30) } });
      await world.ended(id);
    };
    const elapsedMs = await took(() => Promise.all([half(0), half(30)]));
    expect(world.sink.effects()).toHaveLength(60);
    expect(elapsedMs).toBeGreaterThanOrEqual(earliestMs(60, 50));
  });
});

describe("the rate of a redrive over two workers", () => {
  const world = worldOfEachTest({ invariants: false });

  beforeEach(async () => {
    await world.worker();
    await world.worker();
  });

  /** When the sends arrived, milliseconds after the hold, in their order: a busy machine only makes them later. */
  function afterHoldMs(holdUntil: string, from = 0): number[] {
    const endMs = Date.parse(holdUntil) - performance.timeOrigin;
    const times = world.sink.arrived.slice(from).map((entry) => entry.atMs - endMs);
    return times.sort((a, b) => a - b);
  }

  test("begins at a third of its target's when that warms up, and takes as long as preview, dialog and API say", async () => {
    await world.db.run("update targets set rate_per_second = 60, warm_up_ms = 1500, updated_at = now()");
    await world.park(90, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const request = previewRequestSchema.parse({ select: { ids: await world.idsOf() }, lane: "main" });
    const preview = await previewRedrive(world.deps, request, localViewer("ada"));
    expect(preview.etaMs).toBe(2_000);
    const draft = { ratePerSecond: null, canary: false } as Parameters<typeof draftEtaMs>[0];
    expect(draftEtaMs(draft, preview)).toBe(preview.etaMs);
    const { id } = await world.request({ holdMs: 2_000 });
    const beforeMs = world.deps.clock.wallMs();
    const said = await readRedrive(world.db, localViewer("ada"), id, beforeMs);
    const holdEndMs = Date.parse(said!.holdUntil!);
    expect(said!.etaMs!).toBeGreaterThan(holdEndMs - world.deps.clock.wallMs() + 1_500);
    expect(said!.etaMs!).toBeLessThan(holdEndMs - beforeMs + 2_500);
    await world.ended(id);
    const atMs = afterHoldMs(said!.holdUntil!);
    // Without warm-up they would take 1.5 s, and the first thirty 0.5 s. Each bucket holds a few tokens.
    expect(atMs.at(-1)!).toBeGreaterThanOrEqual(preview.etaMs! - 350);
    expect(atMs[29]!).toBeGreaterThanOrEqual(650);
  });

  test("has no bursts when its target takes none, and reaches its target's", async () => {
    await world.db.run("update targets set rate_per_second = 20, burst = 20, no_bursts = true, updated_at = now()");
    await world.park(40, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const ids = await world.idsOf();
    await world.ended((await world.request({ select: { ids: ids.slice(0, 20) } })).id);
    const before = world.sink.arrived.length;
    // A bucket that rests while the second redrive is held would fill up to its burst, and let all of it leave at once.
    const { id, holdUntil } = await world.request({ select: { ids: ids.slice(20) }, holdMs: 1_200 });
    await world.ended(id);
    expect(afterHoldMs(holdUntil!, before).at(-1)).toBeGreaterThanOrEqual((18 / 20) * 1_000);
  });

  test("is bounded by its own, when its target takes more", async () => {
    await world.park(120, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const elapsedMs = await took(async () => world.ended((await world.request({ ratePerSecond: 100 })).id));
    expect(world.sink.effects()).toHaveLength(120);
    expect(elapsedMs).toBeGreaterThanOrEqual(earliestMs(120, 100));
  });
});
