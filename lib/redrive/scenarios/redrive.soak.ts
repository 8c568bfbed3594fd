import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

test("plans a large set in chunks, and its preview counts the same", async () => {
  await world.park(6_000, (index) => ({
    errorCode: index % 3 === 0 ? "TIMEOUT" : "UPSTREAM_5XX",
    aggregateId: `order-${index % 500}`,
  }));
  await imposeControl(
    world.deps,
    { kind: "blacklist", scope: { aggregateId: "order-3" }, reason: "broken", expiresAt: null },
    localViewer("ada"),
  );
  const select = { filter: { errorCode: ["TIMEOUT", "UPSTREAM_5XX"] } };
  const preview = await previewRedrive(world.deps, { select, mode: "deliver", lane: "main" }, localViewer("ada"));
  expect(preview).toMatchObject({ total: 6_000, eligible: 5_988, refused: { blacklisted: 12 }, kind: "exact" });
  await world.worker();
  const answer = await world.request({ select });
  expect(answer).toMatchObject({ state: "PLANNING", total: null });
  const done = await world.ended(answer.id);
  expect(done).toMatchObject({ total: 6_000, delivered: 5_988, refusedByReason: { blacklisted: 12 } });
  expect(world.sink.effects()).toHaveLength(5_988);
});
