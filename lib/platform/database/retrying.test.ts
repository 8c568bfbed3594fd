import pg from "pg";
import { expect, test } from "vitest";
import { translate } from "@/lib/platform/database/db";
import { retrying } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { manualClock } from "@/lib/testing/manual-clock";

const collision = (code: string) =>
  translate(Object.assign(new pg.DatabaseError("ended for another one", 0, "error"), { code }), { changes: true });
const away = new DomainError("store-unavailable", "away");

/** Rejects with these errors in turn, then resolves with the number of its runs. */
function failing(...errors: unknown[]) {
  let runs = 0;
  return async () => {
    const error = errors[runs++];
    if (error !== undefined) throw error;
    return runs;
  };
}

test.each(["40P01", "40001", "55P03"])(
  "a transaction that was ended with %s runs again after a pause, five times at most, and then the events are busy",
  async (code) => {
    const pauses: number[] = [];
    const pause = async (tries: number) => void pauses.push(tries);
    expect(await retrying(failing(...Array(4).fill(collision(code))), { pause })).toBe(5);
    expect(pauses).toEqual([1, 2, 3, 4]);
    await expect(retrying(failing(...Array(5).fill(collision(code))), { pause })).rejects.toMatchObject({
      code: "events-busy",
      message: "Other actions are changing the same events: try again",
    });
  },
);

test("nothing else is repeated without being asked for", async () => {
  for (const error of [away, new TypeError("a bug"), collision("23505")]) {
    await expect(retrying(failing(error))).rejects.toBe(error);
  }
});

test("a fault that was mended runs again, one that was not is passed on", async () => {
  const mended = async (error: unknown) => error === away;
  expect(await retrying(failing(away, away), { repair: mended })).toBe(3);
  const other = new TypeError("a bug");
  await expect(retrying(failing(away, other), { repair: mended })).rejects.toBe(other);
});

test("with patience a store that is away is waited for, as long as was said", async () => {
  const clock = manualClock();
  const told: unknown[] = [];
  const patience = { clock, forMs: 1_000, everyMs: 400, onRetry: (error: unknown) => told.push(error) };
  const back = retrying(failing(away, away), { patience });
  await clock.advance(400);
  await clock.advance(400);
  expect(await back).toBe(3);
  expect(told).toEqual([away, away]);
  const gone = retrying(failing(...Array(9).fill(away)), { patience }).catch((error: unknown) => error);
  for (let ms = 0; ms < 2_000; ms += 400) await clock.advance(400);
  expect(await gone).toBe(away);
  const bug = new TypeError("a bug");
  await expect(retrying(failing(bug), { patience })).rejects.toBe(bug);
});
