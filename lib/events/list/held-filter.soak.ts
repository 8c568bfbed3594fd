import { afterAll, beforeAll, expect, test } from "vitest";
import type { EventList } from "@/lib/events/events.shapes";
import { countEvents } from "@/lib/events/list/event-count.read";
import { listEvents } from "@/lib/events/list/event-list.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { ensurePartitions } from "@/lib/intake/partitions.write";
import { createDb, type Db } from "@/lib/platform/database/db";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { explaining } from "@/lib/testing/explained-statements";
import { addSource } from "@/lib/testing/letters";
import { parkLines } from "@/lib/testing/park-lines";
import type { TestDatabase } from "@/lib/testing/postgres";
import { databaseOnDisk } from "@/lib/testing/postgres-on-disk";

const HELD = 5_000_000;
/** Newer events that nothing holds: more than a page examines. */
const ALONE = 300_000;
const FILLED_MS_MAX = 3_600_000;

const viewer = localViewer("ada");
let database: TestDatabase;
let db: Db;
let explained: Awaited<ReturnType<typeof explaining>>;

beforeAll(async () => {
  database = await databaseOnDisk();
  db = createDb(database.url, { max: 2 });
  await ensurePartitions(db, Date.now() - 2 * 86_400_000, Date.now());
  for (const source of ["few", "orders", "alone"]) await addSource(db, source);
  await parkLines(db, "few", { events: 20, each: 10, agoMs: 8 * 3_600_000 });
  await parkLines(db, "orders", { events: (HELD / 4) * 5, each: 5, agoMs: 7 * 3_600_000 });
  explained = await explaining(db);
}, FILLED_MS_MAX);
afterAll(async () => {
  await db?.end();
  await database?.drop();
});

const list = (filter: EventFilter, cursor: string | null = null) =>
  listEvents(db, viewer, { filter, limit: 50, cursor }, Date.now());
const count = (filter: EventFilter) => countEvents(db, viewer, filter, Date.now());

/** The most rows that one statement may read, when the newest events are held. */
const FREQUENT: [what: string, rows: number, read: () => Promise<unknown>][] = [
  ["the newest events", 1_000, () => list({})],
  ["those that are held", 2_000, () => list({ status: ["HELD"] })],
  ["those of a source", 2_000, () => list({ status: ["HELD"], source: ["orders"] })],
  ["those of a source with few", 2_000, () => list({ status: ["HELD"], source: ["few"] })],
  // Where there are few groups, the planner takes every source and group for a frequent one.
  ["parked ones of a source with few", 5_000, () => list({ status: ["PENDING"], source: ["few"] })],
  ["those of a group with few", 2_000, () => list({ fingerprint: ["few"] })],
  ["those that are not held", 4_000, () => list({ "not.status": ["HELD"] })],
  ["the number of them", 30_000, () => count({ status: ["HELD"] })],
  ["the number of all", 20_000, () => count({})],
];

test.each(FREQUENT)("among held events %s are read by statements of at most %i rows", async (_what, rows, read) => {
  expect((await explained(read)).filter((one) => one.rows > rows)).toEqual([]);
});

test(
  "behind newer ones that nothing holds, a page examines a bounded number of them, and further pages reach the held ones",
  async () => {
    await parkLines(db, "alone", { events: ALONE, each: 1, agoMs: 400_000 });
    // Each page reads the events, and the index by which its end is found; those that are looked at first are read again.
    const rows = 2 * 50_000 + 10_000;
    let cursor: string | null = null;
    let found = 0;
    for (let pages = 0; found === 0 && pages < 10; pages++) {
      const seen = await explained(async () => {
        const page: EventList = await list({ status: ["HELD"] }, cursor);
        cursor = page.nextCursor;
        found = page.items.length;
      });
      expect(seen.reduce((sum, one) => sum + one.rows, 0)).toBeLessThan(rows);
    }
    expect(found).toBe(50);
    const words = await explained(() => list({ q: "in no error" }));
    expect(words.filter((one) => one.rows > 2 * 200_000 + 10_000)).toEqual([]);
  },
  FILLED_MS_MAX,
);
