import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cutoffOf, readCandidates } from "@/lib/events/selection/candidates.read";
import { scopeSelection } from "@/lib/guard/viewer/scope.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readControlsOver } from "@/lib/order/controls/controls.read";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

let world: World;

beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
});
afterAll(() => world.close());

describe("the controls over an event", () => {
  test("are read alone, whatever else is in force", async () => {
    await world.db.run(
      `insert into controls (id, kind, scope, value, reason, origin, created_by)
       select gen_random_uuid(), 'blacklist', scope, scope || n, 'broken', 'person', 'ada'
         from generate_series(1, 25000) n, unnest(array['eventId', 'aggregateId', 'errorCode', 'source']) scope`,
    );
    await world.db.run("analyze controls");
    const events = [
      { eventId: "eventId7", aggregateId: "aggregateId7", errorCode: "errorCode9", source: "source7" },
      { eventId: "eventId8", aggregateId: null, errorCode: "errorCode9", source: "none" },
    ];
    const found = await readControlsOver(world.db, events);
    expect(found.map(({ value }) => value).sort()).toEqual([
      "aggregateId7",
      "errorCode9",
      "eventId7",
      "eventId8",
      "source7",
    ]);
    const explaining = countingRows(world.db, "controls");
    await readControlsOver(explaining.db, events);
    expect(explaining.rows()).toBeLessThanOrEqual(events.length * 4);
  });

  test("are one row of its aggregate, however many aggregates Parkade has blacklisted", async () => {
    await world.park(2, (index) => ({ aggregateId: `order-${index}` }));
    await world.db.run(
      `insert into aggregates (source_id, aggregate_type, aggregate_id, blacklist_id, blacklisted_at, blacklist_reason)
       select s.id, 'order', 'order-' || n, gen_random_uuid(), now(), '3 failed in a row'
         from sources s, generate_series(1, 100000) n`,
    );
    await world.db.run("analyze aggregates");
    const selection = scopeSelection(localViewer(), "view", { ids: await world.idsOf() });
    const page = { selection, asOfMs: 0, cutoff: cutoffOf({ ids: [] }, 0), after: null };
    const found = await readCandidates(world.db, { ...page, limit: 10 });
    expect(found.map(({ aggregateId, aggregateBlacklisted }) => [aggregateId, aggregateBlacklisted])).toEqual([
      ["order-1", true],
      ["order-0", false],
    ]);
    const explaining = countingRows(world.db, "aggregates");
    await readCandidates(explaining.db, { ...page, limit: 10 });
    expect(explaining.rows()).toBeLessThanOrEqual(2);
  });
});
