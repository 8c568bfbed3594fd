import { describe, expect, test } from "vitest";
import { draftEtaMs } from "@/components/redrive/dialog/redrive-draft";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { previewRequestSchema } from "@/lib/redrive/preview/redrive-preview.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

describe("the rate of a redrive", () => {
  const world = worldOfEachTest({ invariants: false });

  test("preview, dialog and API say how long it takes at a target that warms up", async () => {
    await world.db.run("update targets set rate_per_second = 60, warm_up_ms = 1500, updated_at = now()");
    await world.park(90, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const request = previewRequestSchema.parse({ select: { ids: await world.idsOf() }, lane: "main" });
    const preview = await previewRedrive(world.deps, request, localViewer("ada"));
    expect(preview.etaMs).toBe(2_000);
    const draft = { ratePerSecond: null, canary: false } as Parameters<typeof draftEtaMs>[0];
    expect(draftEtaMs(draft, preview)).toBe(preview.etaMs);
    const { id } = await world.request({ holdMs: 30_000 });
    const beforeMs = world.deps.clock.wallMs();
    const said = await readRedrive(world.db, localViewer("ada"), id, beforeMs);
    const holdEndMs = Date.parse(said!.holdUntil!);
    expect(said!.etaMs!).toBeGreaterThan(holdEndMs - world.deps.clock.wallMs() + 1_500);
    expect(said!.etaMs!).toBeLessThan(holdEndMs - beforeMs + 2_500);
  });

  test("over two workers has no bursts when its target takes none (I9)", async () => {
    await world.worker();
    await world.worker();
    await world.db.run("update targets set rate_per_second = 20, burst = 20, no_bursts = true, updated_at = now()");
    await world.park(40, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
    const ids = await world.idsOf();
    await world.ended((await world.request({ select: { ids: ids.slice(0, 20) } })).id);
    const before = world.sink.arrived.length;
    // A bucket that rests while the second redrive is held would fill up to its burst, and let all of it leave at once.
    const { id, holdUntil } = await world.request({ select: { ids: ids.slice(20) }, holdMs: 1_200 });
    await world.ended(id);
    const holdEndMs = Date.parse(holdUntil!) - performance.timeOrigin;
    // A busy machine only makes them later.
    const lastMs = Math.max(...world.sink.arrived.slice(before).map(({ atMs }) => atMs - holdEndMs));
    expect(lastMs).toBeGreaterThanOrEqual((18 / 20) * 1_000);
  });
});
