import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test, vi } from "vitest";
import { setDeps } from "@/app/_server/deps";
import { READINESS_KEPT } from "@/app/_server/readiness";
import * as events from "@/app/(events)/api/v1/events/route";
import * as readyz from "@/app/(observe)/readyz/route";
import { writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { createDb } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { ResponseCache } from "@/lib/retry/cache/response-cache";
import { manualClock } from "@/lib/retry/testing/manual-clock";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { redisInstalled, testRedis } from "@/lib/testing/redis";
import { disksMountable, mountDisk } from "@/lib/testing/small-disk";
import { startPostgres } from "../../scripts/embedded-postgres.ts";
import { migrate } from "../../scripts/migrate.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function opened(env: Record<string, string> = {}): Promise<TestConsole> {
  const console = await testConsole(env);
  cleanups.push(() => console.close());
  return console;
}

/** Simulates a long-running worker that has just evaluated the alert rules. */
async function beat(console: TestConsole): Promise<void> {
  const info = { running: [], targets: {}, bucket: null } as never;
  await writeHeartbeat(console.deps.db, { id: uuidv7(1), startedAtMs: 1, info });
  await console.deps.db.run("update alert_evaluation set stored_at = now()");
}

/** The checks that fail, by name; the answers of one second are the same. */
async function unfit(): Promise<{ status: number; failing: Record<string, string> }> {
  const answer = await readyz.GET();
  const { checks }: { checks: Record<string, { ok: boolean; detail: string }> } = await answer.json();
  const failing = Object.entries(checks).filter(([, check]) => !check.ok);
  return { status: answer.status, failing: Object.fromEntries(failing.map(([name, { detail }]) => [name, detail])) };
}
const readyAgain = { interval: 300 };

describe("/readyz", () => {
  test("names the worker that is missing", async () => {
    const console = await opened();
    expect(await unfit()).toEqual({ status: 503, failing: { worker: expect.stringMatching(/no worker is alive/) } });
    await beat(console);
    await expect.poll(unfit, readyAgain).toEqual({ status: 200, failing: {} });
    await console.deps.db.run("update worker_heartbeats set seen_at = now() - interval '20 s'");
    await expect.poll(unfit, readyAgain).toMatchObject({ status: 503, failing: { worker: expect.anything() } });
  });

  test("says that no alerts are evaluated, and stays ready: people must reach the console", async () => {
    const console = await opened();
    await beat(console);
    await console.deps.db.run("update alert_evaluation set stored_at = now() - interval '61 s'");
    const alerts = expect.stringMatching(/^no alert rule has been evaluated since .*: nobody is notified$/);
    expect(await unfit()).toEqual({ status: 200, failing: { alerts } });
  });

  test("asks its dependencies once for all who ask within a second", async () => {
    const console = await opened();
    const clock = manualClock();
    setDeps({ ...console.deps, readiness: new ResponseCache(READINESS_KEPT, clock) });
    const ping = vi.spyOn(console.deps.lane, "ping");
    await Promise.all([unfit(), unfit(), unfit()]);
    await clock.advance(999);
    await unfit();
    expect(ping).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    await unfit();
    expect(ping).toHaveBeenCalledTimes(2);
  });

  test("names a store that is read-only", async () => {
    const console = await opened();
    await beat(console);
    const name = new URL(console.database.url).pathname.slice(1);
    await console.deps.db.run(`alter database ${name} set default_transaction_read_only = on`);
    await console.deps.db.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    const other = await createDb(console.database.url, { max: 1 });
    cleanups.push(() => other.end());
    // The connection that set it keeps its own setting until it is replaced.
    await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await expect
      .poll(unfit, readyAgain)
      .toMatchObject({ status: 503, failing: { store: expect.stringMatching(/read-only/) } });
  });

  test.skipIf(!redisInstalled)("names a Redis that refuses writes, and one that is gone", async () => {
    const redis = await testRedis();
    cleanups.push(() => redis.stop());
    const console = await opened({ REDIS_URL: redis.url });
    await beat(console);
    expect(await unfit()).toEqual({ status: 200, failing: {} });
    const admin = new Redis(redis.url);
    await once(admin, "ready");
    await admin.config("SET", "maxmemory", "1");
    await expect
      .poll(unfit, readyAgain)
      .toEqual({ status: 503, failing: { queue: expect.stringMatching(/refuses to write.*memory is full/) } });
    await admin.config("SET", "maxmemory", "0");
    await expect.poll(unfit, readyAgain).toEqual({ status: 200, failing: {} });
    admin.disconnect();
    await redis.kill();
    await expect
      .poll(unfit, readyAgain)
      .toEqual({ status: 503, failing: { queue: expect.stringMatching(/cannot be reached/) } });
  });
});

describe("a full disk", () => {
  test.skipIf(!disksMountable)("refuses events with 503 until there is room, and loses none", async () => {
    const disk = mountDisk(400);
    cleanups.push(() => disk.unmount());
    chmodSync(disk.path, 0o755);
    const server = await startPostgres({ dataDir: join(disk.path, "data"), ephemeral: true });
    cleanups.push(() => server.stop("immediate"));
    await migrate(server.url);
    const console = await opened({ DATABASE_URL: server.url });
    await addSource(console.deps.db, "orders");
    await beat(console);
    let sent = 0;
    const park = () =>
      console.call(events.POST, {
        body: {
          source: "orders",
          eventId: `event-${sent++}`,
          errorCode: "X",
          payload: randomBytes(75_000).toString("base64"),
        },
      });
    const taken = async () => (await park()).status;
    expect(await taken()).toBe(202);
    disk.fill();
    const answers = [];
    for (let tries = 0; tries < 40; tries++) answers.push(await park());
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body, headers } of refused) {
      expect([status, body.code, headers.get("retry-after")]).toEqual([503, "store-unavailable", "5"]);
    }
    await expect
      .poll(unfit, readyAgain)
      .toMatchObject({ status: 503, failing: { store: expect.stringMatching(/disk is full|cannot be reached/) } });
    disk.makeRoom();
    await expect.poll(taken, { interval: 200 }).toBe(202);
    await beat(console);
    await expect.poll(unfit, readyAgain).toEqual({ status: 200, failing: {} });
    const [row] = await console.deps.db.query<{ n: number }>("select count(*) as n from dlq_events");
    expect(row!.n).toBeGreaterThanOrEqual(2 + answers.length - refused.length);
  });
});
