import { expect, test } from "vitest";
import type { Db } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";
import { planRedrive } from "./plan-redrive";

const world = worldOfEachTest();
const EVENTS = 3_100;

const plan = (id: string, db: Db = world.db) =>
  planRedrive({ ...world.deps, db }, id, new AbortController().signal, 1_000);

async function planning(): Promise<string> {
  await world.park(EVENTS, () => ({ aggregateId: null }));
  const { id, state } = await world.request();
  expect(state).toBe("PLANNING");
  return id;
}

const whole = { state: "RUNNING", total: EVENTS, open: EVENTS, refused: 0 };

test("of two workers that plan a redrive one stops, and it is planned once", async () => {
  const id = await planning();
  await Promise.all([plan(id), plan(id)]);
  // Each may have taken a chunk from the other: the reconciler wakes the plan again.
  await plan(id);
  expect(await world.redrive(id)).toMatchObject(whole);
});

test("a plan whose store is away between two chunks ends before it is planned again", async () => {
  const id = await planning();
  let asked = 0;
  const query: Db["query"] = (text, ...rest) => {
    if (text.includes("from redrives r where r.id = $1") && ++asked === 3) {
      throw new DomainError("store-unavailable", "The store is away");
    }
    return world.db.query(text, ...rest);
  };
  await expect(plan(id, { ...world.db, query })).rejects.toThrow("away");
  await plan(id);
  expect(await world.redrive(id)).toMatchObject(whole);
});

test("who holds an event of one chunk and wants one of the next gets it, though the one waits for the other", async () => {
  const id = await planning();
  const ids = await world.idsOf();
  const lock = "select 1 from dlq_events where id = $1 for no key update";
  const held = Promise.withResolvers<void>();
  const wants = Promise.withResolvers<void>();
  const third = world.db.transaction(async (tx) => {
    await tx.query(lock, [ids.at(-1)]);
    held.resolve();
    await wants.promise;
    await tx.query(lock, [ids.at(-1_500)]);
  });
  await held.promise;
  const planned = plan(id);
  // The first chunk waits for it, and the second one, which has all of its locks, for the first.
  await waitForLocks(world.db, 1);
  const frozen = "select 1 from pg_stat_activity where state = 'idle in transaction' and query like 'with moved as%'";
  await expect.poll(() => world.db.query(frozen), { interval: 20 }).toHaveLength(1);
  wants.resolve();
  await third;
  await planned;
  expect(await world.redrive(id)).toMatchObject(whole);
});
