import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runMigrations } from "bullmq";
import pg from "pg";
import { afterEach, expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { createEncrypter } from "@/lib/keep/encryption/encrypt-stored";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { readMasterKeys } from "@/lib/platform/sealing/master-keys";
import { Sealing } from "@/lib/platform/sealing/sealing";
import { deadLetter } from "@/lib/testing/letters";
import { openWorld } from "@/lib/testing/redrive-world";
import { startPostgres } from "../../../scripts/embedded-postgres.ts";
import { migrate } from "../../../scripts/migrate.ts";

const ADA = localViewer("ada");
const KEYS = `a=${randomBytes(32).toString("base64")}`;
const LATER = { ...systemClock, wallMs: () => systemClock.wallMs() + 3_600_000, nowMs: () => 0 };
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A process: it has its own connections, and holds its data key. */
function processOn(url: string, keys: string | null = KEYS): Db {
  const sealing = new Sealing(readMasterKeys({ keys, keyId: null, secretFiles: null }), systemClock);
  const db = createDb(url, { max: 2, sealing });
  ends.push(() => db.end());
  return db;
}

/** A PostgreSQL of the test's own, whose files are put back to how they were. */
async function restorablePostgres() {
  const folder = mkdtempSync(join(tmpdir(), "parkade-failover-"));
  chmodSync(folder, 0o755);
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const [dataDir, copy] = [join(folder, "data"), join(folder, "copy")];
  const start = () => startPostgres({ dataDir, ephemeral: true, samePort: true });
  let server = await startPostgres({ dataDir, ephemeral: true });
  ends.push(() => server.stop("immediate"));
  return {
    url: server.url,
    async keep() {
      await server.stop();
      execFileSync("cp", ["-a", server.clusterDir, copy]);
      server = await start();
    },
    async putBack() {
      await server.stop("immediate");
      rmSync(server.clusterDir, { recursive: true });
      execFileSync("cp", ["-a", copy, server.clusterDir]);
      server = await start();
    },
  };
}

test("what is written after the store went back to before the data key that web and worker hold opens after both restarted", async () => {
  const postgres = await restorablePostgres();
  const { url } = postgres;
  await migrate(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await runMigrations(client).finally(() => client.end());
  const database = { url, drop: async () => undefined };
  const world = await openWorld({ redisUrl: null, database, env: { PARKADE_ENCRYPTION_KEYS: KEYS } });
  ends.push(() => world.close());
  expect(await world.db.query("select from data_keys")).toEqual([]);
  await postgres.keep();

  const worker = await world.worker();
  const encrypting = processOn(url);
  const clear = processOn(url, null);
  const text = (eventId: string) => JSON.stringify({ eventId });
  const parkOn = (db: Db, eventId: string) =>
    parkEvents(
      { ...world.deps, db },
      [
        {
          source: "orders",
          letter: deadLetter({ eventId, aggregateId: null, version: null, payload: Buffer.from(text(eventId)) }),
        },
      ],
      ADA,
    );
  const encrypt = () => createEncrypter({ db: encrypting, clock: LATER })(new AbortController().signal);
  await parkOn(world.db, "lost");
  await parkOn(clear, "lost-clear");
  await encrypt();
  const used = await world.db.query<{ key: string }>("select distinct data_key as key from dlq_event_bodies");
  expect(used).toMatchObject([{ key: expect.any(String) }]);

  await postgres.putBack();
  // What is open breaks once.
  await expect.poll(() => world.db.query("select from dlq_events").catch(() => null)).toEqual([]);
  await expect.poll(() => parkOn(world.db, "by-web").catch(() => null)).toEqual(["parked"]);
  await expect.poll(() => parkOn(clear, "by-worker").catch(() => null)).toEqual(["parked"]);
  await expect
    .poll(() =>
      encrypt().then(
        () => "done",
        () => null,
      ),
    )
    .toBe("done");
  await Promise.all(Array.from({ length: 5 }, (_, index) => parkOn(world.db, `at-once-${index}`)));
  expect(await world.db.query("select distinct data_key as key from dlq_event_bodies")).toEqual(used);
  await worker.stop("upgrade");

  const web = processOn(url);
  const rows = await web.query<{ id: string; eventId: string }>('select id, event_id as "eventId" from dlq_events');
  expect(rows).toHaveLength(7);
  for (const { id, eventId } of rows)
    expect((await readEventDetail(web, ADA, id, Date.now())).body).toMatchObject({
      text: text(eventId),
      unreadable: null,
    });
  await world.worker();
  const { id } = await world.request();
  expect(await world.ended(id)).toMatchObject({ delivered: 7, refusedByReason: {} });
  expect(world.sink.arrived.map(({ body }) => body).sort()).toEqual(rows.map(({ eventId }) => text(eventId)).sort());
});
