import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { databaseClock } from "@/lib/platform/database/database-clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { manualClock } from "@/lib/testing/manual-clock";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

let database: TestDatabase;
let db: Db;

beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 2 });
});
afterEach(async () => {
  await db.end();
  await database.drop();
});

const offMs = async (clock: { wallMs(): number }) => {
  const [row] = await db.query<{ ms: number }>("select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms");
  return Math.abs(clock.wallMs() - row!.ms);
};

describe("the wall clock of a process", () => {
  test("is the database's, whatever the machine shows", async () => {
    const clock = databaseClock(manualClock({ wallMs: Date.UTC(2019, 4, 7) }), db);
    await clock.sync();
    expect(await offMs(clock)).toBeLessThan(3_600_000);
  });

  test("follows the database again within seconds of a jump of the machine's clock", async () => {
    const machine = manualClock({ wallMs: Date.UTC(2019, 4, 7) });
    const clock = databaseClock(machine, db);
    await clock.sync();
    machine.jumpWall(7_200_000);
    await machine.advance(6_000);
    await expect.poll(() => offMs(clock)).toBeLessThan(3_600_000);
  });

  test("can be waited for: the first time that it shows is the database's", async () => {
    const clock = databaseClock(manualClock({ wallMs: Date.UTC(2019, 4, 7) }), db);
    await Promise.all([clock.measured(), clock.measured()]);
    expect(await offMs(clock)).toBeLessThan(3_600_000);
  });

  test("is waited for a second at most, and measured by whoever waits next", async () => {
    const machine = manualClock({ wallMs: 5_000_000 });
    const answers: (() => Promise<never>)[] = [
      () => new Promise(() => {}),
      () => Promise.reject(new Error("away")),
      async () => [{ ms: 9_000_000 }] as never,
    ];
    const clock = databaseClock(machine, { query: () => answers.shift()!() });
    const hanging = clock.measured();
    await machine.advance(1_000);
    await hanging;
    await clock.measured();
    expect(clock.wallMs()).toBe(5_001_000);
    await clock.measured();
    expect(clock.wallMs()).toBe(9_000_000);
    await clock.measured();
    expect(answers).toEqual([]);
  });

  test("is not set back by what a measurement may be off, and is by an hour", async () => {
    const machine = manualClock({ wallMs: 0 });
    const answers = [10_000_400, 10_000_300, 6_400_000].map((ms) => [{ ms }]);
    const clock = databaseClock(machine, { query: async () => answers.shift() as never });
    const shown: number[] = [];
    while (answers.length > 0) {
      await clock.sync();
      shown.push(clock.wallMs());
    }
    await machine.advance(50);
    shown.push(clock.wallMs());
    expect(shown).toEqual([10_000_400, 10_000_400, 6_400_000, 6_400_050]);
  });

  test("keeps its last difference while the store is away", async () => {
    const machine = manualClock({ wallMs: 5_000_000 });
    const answers = [{ ms: 9_000_000 }];
    const store = {
      query: async () => {
        const row = answers.shift();
        if (!row) throw new Error("away");
        return [row] as never;
      },
    };
    const clock = databaseClock(machine, store);
    await clock.sync();
    await machine.advance(30_000);
    expect(clock.wallMs()).toBe(9_030_000);
    expect(clock.wallMs()).toBe(9_030_000);
  });
});
