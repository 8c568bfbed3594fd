import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { auditGaps, rollupDrift } from "@/lib/testing/rollup-drift";
import { type EmbeddedPostgres, startPostgres } from "../../scripts/embedded-postgres.ts";
import { migrate } from "../../scripts/migrate.ts";

/** What was acknowledged is there after the server was killed in the middle of everything. A server of its own. */

let dataDir: string;
let server: EmbeddedPostgres;
let db: Db;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "parkade-crash-"));
  chmodSync(dataDir, 0o755);
  server = await startPostgres({ dataDir });
  await migrate(server.url);
  db = createDb(server.url, { max: 6, connectTimeoutMs: 1_000 });
  await addSource(db, "orders");
});
afterAll(async () => {
  await db.end();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const CALLERS = 4;
const KILL_AFTER = 25;

test("no acknowledged event is lost when PostgreSQL is killed, and the pool finds the new server", async () => {
  const acknowledged: string[] = [];
  let batches = 0;
  let killed = false;
  const caller = async (name: number) => {
    for (let n = 0; ; n++) {
      const letters = Array.from({ length: 1 + ((n * 37) % 120) }, (_, i) =>
        deadLetter({ eventId: `${name}-${n}-${i}` }),
      );
      try {
        await parkEvents(
          { db, clock: systemClock },
          letters.map((letter) => ({ source: "orders", letter })),
          localViewer("tester"),
        );
      } catch (error) {
        expect(error).toMatchObject({ code: "store-unavailable" });
        return;
      }
      acknowledged.push(...letters.map((letter) => letter.eventId));
      if (++batches < KILL_AFTER || killed) continue;
      killed = true;
      process.kill(server.pid, "SIGKILL");
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, name) => caller(name)));
  await server.exited;
  server = await startPostgres({ dataDir });
  await expect
    .poll(() =>
      db.query("select 1").then(
        () => "answers",
        () => "away",
      ),
    )
    .toBe("answers");

  const stored = new Set((await db.query<{ id: string }>("select event_id as id from dlq_events")).map(({ id }) => id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(KILL_AFTER);
  expect(await rollupDrift(db)).toEqual([]);
  expect(await auditGaps(db)).toEqual([]);
});
