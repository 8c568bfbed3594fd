import { afterEach, beforeEach, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Earlier } from "@/lib/order/order-gate.pure";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { cutoffOf, readNamedCandidates } from "@/lib/selection/candidates.read";
import { scopeSelection } from "@/lib/selection/scope.shapes";
import { mendAllLines } from "@/lib/testing/lines";
import { openWorld, type World } from "@/lib/testing/redrive-world";
import { readFree } from "./free-events.read";
import { planEvents } from "./freeze-chunk";

let world: World;

beforeEach(async () => {
  world = await openWorld({ redisUrl: null });
});
afterEach(() => world.close());

const of = (aggregateId: string | null, version: number | null = null): Partial<DeadLetter> => ({
  aggregateId,
  version: version === null ? null : BigInt(version),
});

const PARKED = [
  of("free", 1),
  of("free", 2),
  of("unversioned"),
  of(null),
  of("cools", 1),
  of("cools", 2),
  of("held", 1), // not selected
  of("held", 2),
  of("behind cooling"), // not selected
  of("behind cooling"),
  of("controlled"),
  of("blacklisted"),
  of("asked"),
  of("used up"),
  of("ignored", 1),
  of("ignored", 2),
  of("skipped", 1), // not selected
  of("skipped", 2),
  of("later", 1),
  of("later", 2), // not selected
];
const LEFT_OUT = [6, 8, 16, 19];
const named = (number: number) => `event_id = 'event-${`${number}`.padStart(4, "0")}'`;
const FACTS = [
  `update dlq_events set cooldown_until = now() + interval '1 hour' where ${named(4)} or ${named(8)}`,
  `insert into controls (id, kind, scope, value, reason, created_by)
   values (gen_random_uuid(), 'whitelist', 'aggregateId', 'controlled', 'test', 'ada')`,
  `insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by)
   values (gen_random_uuid(), 'blacklist', 'aggregateId', 'blacklisted', 'orders', 'order', 'test', 'automatic', 'worker')`,
  `update dlq_events set admission = 'early' where ${named(12)}`,
  `update dlq_events set redrives = 1000 where ${named(13)}`,
  `update dlq_events set status = 'IGNORED' where ${named(14)}`,
  `insert into skipped_heads (id, revision, bounces, reason, created_by, created_at)
   select id, revision, bounces, 'test', 'ada', now() from dlq_events where ${named(16)}`,
];

/** The numbers of the events that go from table to table, and of those that the plan passes when it decides about all. */
async function parted(earlier: Earlier) {
  const rows = await world.db.query<{ id: string; n: number }>(
    "select id, right(event_id, 4)::int as n from dlq_events order by event_id",
  );
  const number = new Map(rows.map(({ id, n }) => [id, n]));
  const ids = rows.filter(({ n }) => !LEFT_OUT.includes(n)).map(({ id }) => id);
  const nowMs = Date.now();
  const selection = scopeSelection(localViewer("ada"), "redrive", { ids });
  const page = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), earlier, despite: [], id: null };
  const { free, rest } = await readFree(world.db, page, ids, { nowMs, redriveLimit: 3 });
  const freeIds = free.slice(1, -1).split(",");
  expect([...freeIds, ...rest].sort()).toEqual([...ids].sort());
  const planned = await planEvents(world.db, page, await readNamedCandidates(world.db, ids), nowMs);
  const planOf = (events: typeof planned) =>
    events
      .map(({ candidate, refusal }) => [number.get(candidate.id), refusal])
      .sort((a, b) => Number(a[0]) - Number(b[0]));
  const ofRest = await planEvents(world.db, page, await readNamedCandidates(world.db, rest), nowMs);
  expect(planOf([...planned.filter(({ candidate }) => !freeIds.includes(candidate.id))])).toEqual(planOf(ofRest));
  for (const { candidate, refusal } of planned) if (freeIds.includes(candidate.id)) expect(refusal).toBeNull();
  return freeIds.map((id) => number.get(id)!).sort((a, b) => a - b);
}

test("only events about which nothing is to be decided are frozen unread", async () => {
  await world.park(PARKED.length, (index) => PARKED[index]!);
  for (const fact of FACTS) await world.db.run(fact);
  await mendAllLines(world.db);
  for (const earlier of ["hold", "include"] as const) expect(await parted(earlier)).toEqual([0, 1, 2, 3, 17, 18]);
  expect(await parted("pass")).toEqual([0, 1, 2, 3, 5, 7, 9, 15, 17, 18]);
});

test("an aggregate is never split over slices, and slices are even", async () => {
  await world.park(1_000, (index) => of(`order-${index % 500}`, index));
  const { id } = await world.request();
  const sizes = () =>
    world.db.query<{ slice: number; n: number }>(
      "select slice, count(*)::int as n from redrive_items where redrive_id = $1 group by slice order by slice",
      [id],
    );
  const split = await world.db.query(
    "select aggregate_id from redrive_items group by aggregate_id having count(distinct slice) > 1",
  );
  expect(split).toEqual([]);
  const before = await sizes();
  expect(before).toHaveLength(12);
  for (const { n } of before) expect(n).toBeLessThan(150);
});
