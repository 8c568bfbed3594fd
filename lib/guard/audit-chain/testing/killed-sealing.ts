import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { verifyChain } from "@/lib/guard/audit-chain/verify-chain";
import { createDb, type Db } from "@/lib/platform/database/db";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { program } from "@/lib/testing/programs";

/** A batch has 1,000. */
const ENTRIES = 2_500;

type Death = { batch: number; committed: boolean };

/** Tests that kill a worker at a batch. `deaths`: where, and how many seals are left. */
export function testKilledSealing(deaths: readonly (readonly [Death, number])[]): void {
  let database: TestDatabase;
  let db: Db;

  beforeAll(async () => {
    database = await testDatabase();
    db = createDb(database.url, { max: 2 });
  });
  afterAll(async () => {
    await db.end();
    await database.drop({ force: true });
  });

  const count = async (table: string) =>
    (await db.query<{ n: number }>(`select count(*)::int as n from ${table}`))[0]!.n;

  async function sealAndDie(dies: Death): Promise<void> {
    const child = spawn(process.execPath, [program("doomed-sealer"), JSON.stringify({ url: database.url, ...dies })]);
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    // The server ends the transaction when it sees that the connection is gone.
    const left = () => db.query("select from pg_stat_activity where application_name = 'doomed-sealer'");
    await expect.poll(left, { interval: 20 }).toEqual([]);
  }

  test.each(deaths)(
    "a worker that is killed at a batch leaves whole batches alone, and another seals the rest once: %o",
    async (dies, kept) => {
      const before = await count("audit_seals");
      await db.run(
        `with entry as (
         insert into audit_entries (id, at, actor, action, subject_kind)
         select gen_random_uuid(), now(), 'ada', 'event.ignored', 'event' from generate_series(1, ${ENTRIES}) returning id
       ) insert into audit_pending (entry_id, ref) select id, id from entry`,
      );
      await sealAndDie(dies);
      expect([await count("audit_seals"), await count("audit_pending")]).toEqual([before + kept, ENTRIES - kept]);
      expect(await sealEntries(db)).toBe(ENTRIES - kept);
      const whole = { from: null, fromEntry: null };
      const seals = before + ENTRIES;
      expect(await verifyChain(db, whole)).toMatchObject({ good: true, seals, entries: seals });
    },
  );
}
