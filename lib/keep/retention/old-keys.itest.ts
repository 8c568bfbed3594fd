import { describe, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { type ParkOutcome, parkEvents } from "@/lib/intake/park-events";
import { listArchivedEvents } from "@/lib/keep/archive/archived-events.read";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { removeOldKeys } from "@/lib/keep/retention/old-keys.write";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { archiveOfEachTest, EVERY_ARCHIVED } from "@/lib/testing/test-archive";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");

const { archive } = archiveOfEachTest();
const deps = () => ({ ...world.deps, archive });

/** Three events are redriven, confirmed, and removed `daysAgo`. Resolves with their ids and that of their redrive. */
async function redrivenAndRemoved(
  daysAgo: number,
  filter: EventFilter = {},
): Promise<{ ids: string[]; redriveId: string }> {
  await world.park(3, (index) => ({ aggregateId: `order-${index}`, version: 1n, tags: { tenant: "acme" } }));
  await world.worker();
  const { id: redriveId } = await world.request();
  await world.ended(redriveId);
  const ids = await world.idsOf();
  await world.db.run(
    `with confirmed as (update dlq_events set confirmed_at = now(), confirmed_redrive = $1)
     update redrives set confirmed = 3 where id = $1`,
    [redriveId],
  );
  await removed(daysAgo, filter);
  return { ids, redriveId };
}

async function removed(daysAgo: number, filter: EventFilter): Promise<void> {
  const { id } = await removeEvents(deps(), { select: { filter }, reason: "settled" }, ADA);
  await workBulkOperation(deps(), id!, new AbortController().signal);
  await world.db.run("update archive_objects set removed_at = now() - make_interval(days => $1)", [daysAgo]);
}

const knownFor = (days: number | null) => world.db.run("update sources set known_days = $1", [days]);

/** Rows that name one of these events. */
async function left(ids: readonly string[]): Promise<Record<string, number>> {
  const [row] = await world.db.query<Record<string, number>>(
    `select (select count(*)::int from event_keys where id = any($1)) as keys,
            (select count(*)::int from sends where id = any($1)) as attempts`,
    [ids],
  );
  return row!;
}
const WHOLE = { keys: 3, attempts: 3 };
const NONE = { keys: 0, attempts: 0 };

async function arriveAgain(): Promise<ParkOutcome[]> {
  const arrivals = ["event-0000", "event-0001"].map((eventId) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: null, version: null }),
  }));
  return parkEvents(deps(), arrivals, ADA);
}
const restore = (ids: string[]) => restoreArchived(deps(), { ids }, ADA);

describe("what is known of an archived event", () => {
  test("goes when its source need not know it any more: it stays in the archive, and what arrives is new", async () => {
    const { ids } = await redrivenAndRemoved(401);
    expect(await left(ids)).toEqual(WHOLE);
    expect(await removeOldKeys(world.db)).toBe(1);
    expect(await left(ids)).toEqual(NONE);
    expect((await listArchivedEvents(world.db, ADA, EVERY_ARCHIVED)).items.map(({ id }) => id).sort()).toEqual(ids);
    expect(await removeOldKeys(world.db)).toBe(0);
    expect(await arriveAgain()).toEqual(["parked", "parked"]);
    expect(await restore(ids)).toMatchObject({ restored: 1, duplicates: 2, refused: [] });
  });

  test("takes its redrive along, with all its items, when it is the last of it", async () => {
    const { redriveId } = await redrivenAndRemoved(401, { eventId: ["event-0000", "event-0001"] });
    const kept = async () =>
      (
        await world.db.query(
          `select (select count(*)::int from redrives) as redrives, (select count(*)::int from redrive_items) as items,
                  (select count(*)::int from redrive_ticks) > 0 as ticks, (select count(*)::int from slice_owners) > 0 as owners`,
        )
      )[0];
    expect(await removeOldKeys(world.db)).toBe(1);
    expect(await kept()).toEqual({ redrives: 1, items: 3, ticks: true, owners: true });
    expect(await world.redrive(redriveId)).toMatchObject({ total: 3 });
    await removed(401, {});
    expect(await removeOldKeys(world.db)).toBe(1);
    expect(await kept()).toEqual({ redrives: 0, items: 0, ticks: false, owners: false });
  });

  test("stays until then, and for good where the source says so", async () => {
    const { ids } = await redrivenAndRemoved(399);
    expect(await removeOldKeys(world.db)).toBe(0);
    await knownFor(null);
    await world.db.run("update archive_objects set removed_at = now() - interval '9 years'");
    expect(await removeOldKeys(world.db)).toBe(0);
    expect(await left(ids)).toEqual(WHOLE);
    await knownFor(7);
    expect(await removeOldKeys(world.db)).toBe(1);
  });

  test("stays with an event that came back, also while the two happen at once", async () => {
    const { ids } = await redrivenAndRemoved(401);
    await restore(ids.slice(0, 1));
    const [back] = await Promise.all([restore(ids.slice(1, 2)), removeOldKeys(world.db)]);
    expect(back).toMatchObject({ restored: 1 });
    expect((await left(ids.slice(0, 2))).keys).toBe(2);
    expect(await left(ids.slice(2))).toEqual(NONE);
    expect(
      await world.db.query(
        "select 1 from dlq_events e where not exists (select 1 from event_keys k where k.id = e.id)",
      ),
    ).toEqual([]);
  });

  test("goes once when two workers look at once", async () => {
    const { ids } = await redrivenAndRemoved(401);
    const removed = await Promise.all([removeOldKeys(world.db), removeOldKeys(world.db)]);
    expect(removed.sort()).toEqual([0, 1]);
    expect(await left(ids)).toEqual(NONE);
  });
});
