import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { Deps } from "@/lib/lane/deps";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { takeItems } from "@/lib/testing/slice-items";

const HOUR_MS = 3_600_000;
const world = worldOfEachTest({ invariants: false });

/** The same deps on a machine whose wall clock shows another time. */
function shifted(byMs: number): Deps {
  const { clock } = world.deps;
  return { ...world.deps, clock: { ...clock, wallMs: () => clock.wallMs() + byMs } };
}

describe("a wall clock that jumps (I10)", () => {
  test.each([-HOUR_MS, HOUR_MS])("by %i ms leaves named events within reach", async (byMs) => {
    await world.park(3);
    const ids = await world.idsOf();
    const [first, ...rest] = ids;
    const answer = await ignoreEvents(
      shifted(byMs),
      { select: { ids: [first!] }, reason: "not wanted" },
      localViewer("ada"),
    );
    expect(answer.changed).toBe(1);
    const request = redriveRequestSchema.parse({ select: { ids: rest }, lane: "main", reason: "stock is back" });
    const redrive = await requestRedrive(shifted(byMs), { request, idempotency: null }, localViewer("ada"));
    expect(redrive).toMatchObject({ total: 2, refused: 0 });
  });

  test("between two arrivals leaves the order of an aggregate to its versions", async () => {
    const arrive = (eventId: string, version: bigint, deps: Deps) =>
      parkEvents(
        deps,
        [{ source: "orders", letter: deadLetter({ eventId, aggregateId: "order-1", version }) }],
        localViewer("tester"),
      );
    await arrive("first", 1n, shifted(HOUR_MS));
    await arrive("second", 2n, shifted(-HOUR_MS));
    const ids = await world.idsOf();
    const request = redriveRequestSchema.parse({ select: { ids }, lane: "main", reason: "stock is back" });
    const { id } = await requestRedrive(shifted(HOUR_MS), { request, idempotency: null }, localViewer("ada"));
    const items = await takeItems(world.db, { redriveId: id });
    expect(items.map((item) => item.eventId)).toEqual(["first", "second"]);
  });
});
