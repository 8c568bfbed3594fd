import { afterEach, beforeEach, expect, test } from "vitest";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { removeOldTicks } from "@/lib/redrive/life/old-redrives.write";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { countingRows } from "@/lib/testing/rows-looked-at";

let database: TestDatabase;
let db: Db;
beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 1 });
});
afterEach(async () => {
  await db.end();
  await database.drop();
});

const NOW_MS = Date.now();
const DAY_MS = 86_400_000;

/** A redrive of 400 ticks, requested and ended this many days ago. */
async function redriveOf(name: string, { asked, ended }: { asked: number; ended: number | null }): Promise<void> {
  const id = uuidv7(NOW_MS - asked * DAY_MS);
  await db.run(
    `insert into redrives (id, state, mode, lane, selection, cutoff, slices, created_by, reason, finished_at)
     values ($1, $2, 'deliver', 'slow', '{}', $1, 1, 'tester', $3, now() - make_interval(days => $4))`,
    [id, ended === null ? "PAUSED" : "DONE", name, ended],
  );
  await db.run(
    `insert into redrive_ticks (redrive_id, at, delivered)
     select $1, now() - make_interval(days => $2) + make_interval(secs => 5 * n), 1 from generate_series(1, 400) n`,
    [id, asked],
  );
}

test("a chart goes thirty days after the end of its redrive, whatever came after it", async () => {
  await redriveOf("ended", { asked: 60, ended: 31 });
  await redriveOf("ended lately", { asked: 60, ended: 29 });
  await redriveOf("waits", { asked: 60, ended: null });
  await redriveOf("ended as well", { asked: 40, ended: 40 });
  for (let index = 0; index < 10; index++) await redriveOf(`new ${index}`, { asked: 1, ended: 0 });
  await db.run("analyze redrive_ticks");
  const looked = countingRows(db, "redrive_ticks");
  await removeOldTicks({ ...db, ...looked.db }, NOW_MS);
  // Of 5,600: one for each redrive that is old enough, and again when it follows another.
  expect(looked.rows()).toBeLessThan(20);
  expect(await removeOldTicks(db, NOW_MS)).toBe(2);
  const left = await db.query<{ reason: string; n: number }>(
    "select reason, count(*)::int as n from redrive_ticks t join redrives r on r.id = t.redrive_id group by r.id order by r.id",
  );
  expect(
    left
      .map(({ reason }) => reason)
      .slice(0, 3)
      .sort(),
  ).toEqual(["ended lately", "new 0", "waits"]);
  expect(left).toHaveLength(12);
  expect(left.every(({ n }) => n === 400)).toBe(true);
});
