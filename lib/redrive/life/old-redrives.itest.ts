import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { createDb, type Db, type Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { foldTicks, removeOldTicks, removeUnknownRedrives } from "@/lib/redrive/life/old-redrives.write";
import { readRedriveRate } from "@/lib/redrive/list/redrives.read";
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

test("the ticks of a long redrive are merged to as many as its chart shows, which stays as it is", async () => {
  await redriveOf("short", { asked: 1, ended: null });
  await redriveOf("ended", { asked: 1, ended: 0 });
  await redriveOf("long", { asked: 3, ended: null });
  const [{ id }] = (await db.query<{ id: string }>("select id from redrives where reason = 'long'")) as [
    { id: string },
  ];
  await db.run(
    `insert into redrive_ticks (redrive_id, at, delivered, failed)
     select $1, date_trunc('minute', now()) - n * interval '5 s', n % 7, n % 2 from generate_series(24, 51000) n`,
    [id],
  );
  const ticks = async () =>
    db.query<{ reason: string; n: number; last: number; sent: number }>(
      `select reason, count(*)::int as n, max(at) as last, sum(t.delivered)::int as sent
         from redrive_ticks t join redrives r on r.id = t.redrive_id group by reason order by reason`,
    );
  const chart = () => readRedriveRate(db, localViewer("ada"), id, NOW_MS);
  const [ended, before, short] = await ticks();
  const drawn = await chart();
  while ((await foldTicks(db)) > 0);
  expect(await chart()).toEqual(drawn);
  const [endedAfter, after, shortAfter] = await ticks();
  expect([endedAfter, shortAfter]).toEqual([ended, short]);
  expect(after).toMatchObject({ last: before!.last, sent: before!.sent });
  expect(after!.n).toBeLessThanOrEqual(260);
});

describe("a redrive whose events are archived in many sets", () => {
  const EVENTS = 12_000;
  const SETS = 24;
  const setOf = "((n - 1) / 500)";
  const id = (of: string, prefix: string) => `('${prefix}' || lpad(to_hex(${of}), 28, '0'))::uuid`;

  beforeEach(async () => {
    await redriveOf("old", { asked: 60, ended: 60 });
    await db.run(
      `insert into archive_objects (id, operation_id, source, key, events, bytes, sha256, removed_by, removed_at)
       select ${id("n", "0b0b")}, gen_random_uuid(), 'orders', 'set-' || n, 500, 1, repeat('0', 64), 'tester', now() from generate_series(0, ${SETS - 1}) n`,
    );
    await db.run(
      `insert into archived_events (id, object_id, source_id, source, event_id, error_code, status, payload_bytes)
       select ${id("n", "0e0e")}, ${id(setOf, "0b0b")}, gen_random_uuid(), 'orders', n, 'E', 'REDRIVEN', 1 from generate_series(1, ${EVENTS}) n`,
    );
    await db.run(
      `insert into redrive_items (id, redrive_id, slice, source_id, error_code, state)
       select ${id("n", "0e0e")}, r.id, 0, gen_random_uuid(), 'E', 'delivered' from redrives r, generate_series(1, ${EVENTS}) n`,
    );
    await db.run("analyze redrive_items");
  });

  test("is removed with the last set, and each of its items is looked at twice at most", async () => {
    const [redrive] = await db.query<{ id: string }>("select id from redrives");
    let looked = 0;
    const remove = () =>
      db.transaction((tx) => {
        const query: Tx["query"] = async (text, values, options) => {
          if (options?.name === "known-items") {
            const counted = countingRows(tx, "redrive_items");
            await counted.db.query(text, values);
            looked += counted.rows();
          }
          return tx.query(text, values, options);
        };
        return removeUnknownRedrives({ ...tx, query }, [redrive!.id]);
      });
    for (let set = 0; set < SETS; set++) {
      expect(await db.query("select from redrives")).toHaveLength(1);
      await db.run(`update archive_objects set keys_removed_at = now() where key = 'set-${set}'`);
      await remove();
    }
    expect(await db.query("select from redrives union all select from redrive_items")).toEqual([]);
    // Once on the way and once before the removal, beside where each page begins and the item that each set finds known.
    expect(looked).toBeLessThanOrEqual(2 * EVENTS + 3 * 5_000 + 2 * SETS);
  });

  test("stays when an event was restored behind the items that were looked at", async () => {
    const [redrive] = await db.query<{ id: string }>("select id from redrives");
    const remove = () => db.transaction((tx) => removeUnknownRedrives(tx, [redrive!.id]));
    await db.run("update archive_objects set keys_removed_at = now() where key <> 'set-23'");
    await remove();
    await db.run("update archive_objects set keys_removed_at = case key when 'set-0' then null else now() end");
    await remove();
    expect(await db.query("select from redrive_items")).toHaveLength(EVENTS);
    await db.run("update archive_objects set keys_removed_at = now()");
    await remove();
    expect(await db.query("select from redrives union all select from redrive_items")).toEqual([]);
  });
});
