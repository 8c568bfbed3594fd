import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { requestMend, requestUndoMend } from "@/lib/repair/mends/request-mend";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const EVENTS = 200;
const CLIENTS = 16;
/** Requests of each client. */
const ROUNDS = Number(process.env.PARKADE_CROWD_ROUNDS ?? 6);
const ada = localViewer("ada");

/** A generator with a seed, so that a failing run can be made again: mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("many people and two workers on the same events never wait for each other in a circle", async () => {
  await world.park(EVENTS, (index) => ({ aggregateId: `order-${index % 40}`, version: BigInt(index) }));
  await world.db.run("update targets set rate_per_second = 500, burst = 500, updated_at = now()");
  const all = await world.idsOf();
  await world.worker();
  await world.worker();
  const mends: string[] = [];
  const redrives: string[] = [];

  const actions: ((some: <T>(list: readonly T[]) => T[]) => Promise<unknown>)[] = [
    async (some) => redrives.push((await world.request({ select: { ids: some(all) } })).id),
    (some) => ignoreEvents(world.deps, { select: { ids: some(all) }, reason: "not now" }, ada),
    (some) => releaseEvents(world.deps, { select: { ids: some(all) }, reason: "again" }, ada),
    (some) => {
      const eventIds = some(all).map((id) => `event-${String(all.indexOf(id)).padStart(4, "0")}`);
      return confirmEvents(world.deps, { source: "orders", eventIds, consumer: "billing" }, ada);
    },
    (some) => {
      const back = some(all).map((id) => all.indexOf(id));
      const arrivals = back.map((index) => ({
        source: "orders",
        letter: deadLetter({
          eventId: `event-${String(index).padStart(4, "0")}`,
          aggregateId: `order-${index % 40}`,
          version: BigInt(index),
        }),
      }));
      return parkEvents(world.deps, arrivals, ada);
    },
    async (some) => {
      const recipe = { kind: "json-patch" as const, patch: '[{"op":"add","path":"/mended","value":true}]' };
      const select = { ids: some(all) };
      const mend = { select, recipe, reason: "renamed", breaking: true, idempotency: null };
      mends.push((await requestMend(world.deps, mend, ada)).id!);
    },
    async (some) => {
      const [operation] = some(mends);
      if (operation) await requestUndoMend(world.deps, { select: { operation }, reason: "no", idempotency: null }, ada);
    },
    async (some) => {
      const [id] = some(redrives);
      if (id) await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ada);
    },
  ];

  const faults: unknown[] = [];
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      const random = seeded(client + 1);
      const some = <T>(list: readonly T[]): T[] =>
        [...list]
          .map((one) => ({ one, key: random() }))
          .sort((left, right) => left.key - right.key)
          .slice(0, 60)
          .map(({ one }) => one);
      for (let round = 0; round < ROUNDS; round += 1) {
        const action = actions[Math.floor(random() * actions.length)]!;
        // What the state of an event forbids is an answer; a store that is busy or slow, or a bug, is a fault.
        await action(some).catch((error: unknown) => {
          const refused =
            error instanceof DomainError && !["events-busy", "read-timeout", "internal"].includes(error.code);
          if (!refused) faults.push(error);
        });
      }
    }),
  );
  expect(faults).toEqual([]);
  for (const id of redrives) {
    await changeRedrive(world.deps, { id, change: { action: "cancel" } }, ada).catch(() => undefined); // it has ended
  }
  const open = "select 1 from open_items union all select 1 from bulk_operations where state = 'RUNNING'";
  await expect.poll(() => world.db.query(open)).toEqual([]);
  // The server writes its count when a session has been quiet for a second.
  const [{ deadlocks }] = (await world.db.query<{ deadlocks: number }>(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  )) as [{ deadlocks: number }];
  expect(deadlocks, deadlocks === 0 ? "" : await deadlocksInLog()).toBe(0);
});

/** The last two deadlocks in the server log: the statements that waited for each other. */
async function deadlocksInLog(): Promise<string> {
  const [{ folder }] = (await world.db.query<{ folder: string }>(
    "select current_setting('data_directory') as folder",
  )) as [{ folder: string }];
  const log = await readFile(join(folder, "..", "logs", "postgres.log"), "utf8");
  return log
    .split("ERROR:  deadlock detected")
    .slice(1)
    .slice(-2)
    .map((report) => report.slice(0, 6_000))
    .join("\n");
}
