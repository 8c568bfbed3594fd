import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { lockEvents } from "@/lib/states/fence.write";
import { deadLetter } from "@/lib/testing/letters";
import { openWorld, type World } from "@/lib/testing/redrive-world";

const DAY_MS = 86_400_000;

let world: World;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
});
afterEach(() => world.close());

/** Parks `count` events as they would have arrived so many days ago; returns their ids, the greatest first. */
async function parkedDaysAgo(days: number, count: number): Promise<string[]> {
  const clock = { ...world.deps.clock, wallMs: () => world.deps.clock.wallMs() - days * DAY_MS };
  const letters = Array.from({ length: count }, (_, index) => ({
    source: "orders",
    letter: deadLetter({ eventId: `event-${days}-${index}`, aggregateId: null, version: null }),
  }));
  await parkEvents({ ...world.deps, clock }, letters, localViewer("tester"));
  const rows = await world.db.query<{ id: string }>(
    "select id from dlq_events where event_id like $1 order by id desc",
    [`event-${days}-%`],
  );
  return rows.map(({ id }) => id);
}

describe("the lock of events", () => {
  test.each([
    ["one day", [0]],
    ["two days", [0, 1]],
  ])("of %s waits for who changes one of them, and reads it as it is then", async (_name, days) => {
    const ids = (await Promise.all(days.map((day) => parkedDaysAgo(day, 3)))).flat();
    const changing = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const change = world.db.transaction(async (tx) => {
      for (const id of ids) await tx.run("update dlq_events set status = 'IGNORED' where id = $1", [id]);
      changing.resolve();
      await end.promise;
    });
    await changing.promise;
    const locked = world.db.transaction((tx) => lockEvents(tx, ids));
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(async () => (await world.db.query(waits)).length).toBe(1);
    end.resolve();
    await change;
    expect([...(await locked).values()].map(({ id, status }) => [id, status])).toEqual(
      [...ids].sort().map((id) => [id, "IGNORED"]),
    );
  });

  test("of one day looks into no partition of another day", async () => {
    const ids = await parkedDaysAgo(0, 3);
    await parkedDaysAgo(1, 3);
    await world.db.transaction(async (tx) => {
      const query = tx.query.bind(tx);
      const plans: string[] = [];
      tx.query = (async (text: string, values: unknown[]) => {
        plans.push(JSON.stringify(await query(`explain (format json) ${text}`, values)));
        return query(text, values);
      }) as typeof tx.query;
      expect((await lockEvents(tx, ids)).size).toBe(3);
      expect(plans).toHaveLength(1);
      expect(new Set(plans[0]!.match(/dlq_events_\d{8}/g))).toHaveProperty("size", 1);
    });
  });
});
