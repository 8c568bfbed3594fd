import { expect } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { listTargets } from "@/lib/sources/targets/target-list.read";
import type { World } from "@/lib/testing/redrive-world";

/** An outage of a target costs no event anything: it holds the redrive, which continues when the target is back. */

export const NO_HARM = { cooled: 0, failed: 0, aggregates: 0 };

export async function harm(world: World) {
  const [row] = await world.db.query(
    `select count(*) filter (where cooldown_until is not null) as cooled, count(*) filter (where failures > 0) as failed,
            (select count(*) from aggregates where consecutive_failures > 0) as aggregates
       from dlq_events`,
  );
  return row;
}
/** Events of 40 aggregates, in the order of their versions. */
export const orders = (index: number) => ({
  aggregateId: `order-${index % 40}`,
  version: BigInt(1 + Math.floor(index / 40)),
});

/** The redrive is in the middle of its work when the target goes, and ends without a person after it is back. */
export async function outage(
  world: World,
  id: string,
  { target, awayMs, says }: { target: { away(): Promise<void>; back(): Promise<void> }; awayMs: number; says: RegExp },
) {
  await expect.poll(async () => (await world.redrive(id)).delivered).toBeGreaterThan(40);
  const { total } = await world.redrive(id);
  await target.away();
  await expect.poll(async () => (await world.redrive(id)).stalled?.text, { timeout: 30_000 }).toMatch(says);
  expect((await world.redrive(id)).stalled).toMatchObject({ code: "target-away", target: "orders" });
  expect(await unreachable(world)).toEqual({ orders: expect.stringMatching(/./) });
  await world.deps.clock.sleep(awayMs);
  expect(await world.redrive(id)).toMatchObject({ state: "RUNNING", failed: 0, refused: 0, pauseReason: null });
  await target.back();
  await expect
    .poll(async () => (await world.redrive(id)).state, { timeout: 90_000, interval: 200 })
    .toSatisfy((state: string) => state !== "RUNNING");
  expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: total, failed: 0, refused: 0 });
  expect(await harm(world)).toEqual(NO_HARM);
}

/** Why workers cannot reach targets, by their names, as the list of targets says it. */
async function unreachable(world: World): Promise<Record<string, string>> {
  const { items } = await listTargets(world.db, localViewer(), () => null);
  return Object.fromEntries(
    items.flatMap(({ name, unreachable: away }) => {
      if (away === null) return [];
      expect(Date.parse(away.since)).toBeLessThan(Date.now() + 1_000);
      return [[name, away.detail]];
    }),
  );
}
