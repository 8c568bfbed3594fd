import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readControlsOver } from "@/lib/store/read/controls";
import { openWorld, type World } from "@/lib/testing/redrive-world";

let world: World;

beforeAll(async () => {
  world = await openWorld({ redisUrl: null });
});
afterAll(() => world.close());

type Plan = {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  Plans?: Plan[];
};

/** Rows that the statement's scans of a table gave, whatever was left of them afterwards. */
function rowsScanned(plan: Plan, table: string): number {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + rowsScanned(child, table), 0);
  return below + (plan["Relation Name"] === table ? plan["Actual Rows"] * plan["Actual Loops"] : 0);
}

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
    let scanned = 0;
    const explaining = {
      ...world.db,
      query: async (text: string, values: unknown[]) => {
        const [row] = await world.db.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
          `explain (analyze, format json) ${text}`,
          values,
        );
        scanned += rowsScanned(row!["QUERY PLAN"][0].Plan, "controls");
        return [];
      },
    };
    await readControlsOver(explaining as never, events);
    expect(scanned).toBeLessThanOrEqual(events.length * 4);
  });
});
