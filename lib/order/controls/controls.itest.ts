import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readHistory } from "@/lib/events/detail/event-history.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { listControls } from "@/lib/order/controls/control-list.read";
import { readBlacklistedByParkade, readControlsOfPeople, readControlsOver } from "@/lib/order/controls/controls.read";
import type { Queryable } from "@/lib/platform/database/db";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";

let world: World;

const ID = "019aa9a0-5d5e-7b41-9d3c-0e6a4f1c2b20";
const EVENTS = [
  { eventId: "eventId1", aggregateId: "order-7", errorCode: "errorCode1", source: "orders" },
  { eventId: "eventId2", aggregateId: null, errorCode: "errorCode1", source: "none" },
];

/** 150,000 blacklists of Parkade, a third of them lifted, and five controls of each scope of a person, two of them ended. */
beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
  await world.db.run(
    `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, lifted_at)
     select uuidv7(), 'blacklist', 'aggregateId', 'order-' || n, 'orders', 'order', '3 failed in a row', 'automatic', 'worker',
            case when n > 100000 then now() end
       from generate_series(1, 150000) n`,
  );
  await world.db.run(
    `insert into controls (id, kind, scope, value, reason, created_by, expires_at, lifted_at)
     select uuidv7(), 'blacklist', scope, scope || n, 'broken', 'ada', case when n = 4 then now() end, case when n = 5 then now() end
       from generate_series(1, 5) n, unnest(array['eventId', 'aggregateId', 'errorCode', 'source']) scope`,
  );
  await world.db.run("analyze controls");
});
afterAll(() => world.close());

describe("among any number of aggregates that Parkade has blacklisted", () => {
  test("the controls over events are found", async () => {
    const found = await readControlsOver(world.db, EVENTS);
    expect(found.map(({ value }) => value).sort()).toEqual(["errorCode1", "eventId1", "eventId2", "order-7"]);
    expect(await readControlsOfPeople(world.db)).toHaveLength(12);
  });

  const page = (db: Queryable, state: "live" | "ended") =>
    listControls(db, localViewer(), { state, limit: 10, cursor: null });
  test.each<[what: string, most: number, read: (db: Queryable) => Promise<unknown>]>([
    ["the controls over events", 8, (db) => readControlsOver(db, EVENTS)],
    ["the controls of an event's page", 8, (db) => readHistory(db, { ...EVENTS[0]!, id: ID, aggregateType: "order" })],
    ["the controls of people", 20, readControlsOfPeople],
    ["the events of a number of them", 5_001, readBlacklistedByParkade],
    ["a page of the controls in force", 40, (db) => page(db, "live")],
    ["a page of the controls that ended", 40, (db) => page(db, "ended")],
  ])("%s are read alone", async (_what, most, read) => {
    const explaining = countingRows(world.db, "controls");
    // An explained read has no rows to make a page of.
    await read(explaining.db).catch(() => undefined);
    expect(explaining.rows()).toBeGreaterThan(0);
    expect(explaining.rows()).toBeLessThanOrEqual(most);
  });
});
