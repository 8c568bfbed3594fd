import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { writeHeartbeat } from "@/lib/observe/health/heartbeat.write";
import { readStatus } from "@/lib/observe/health/status.read";
import { uuidv7 } from "@/lib/platform/ids";
import { writeConsumer } from "@/lib/sources/source-consumers.write";
import type { TargetEngine } from "@/lib/sources/sources.shapes";
import { addSource } from "@/lib/testing/letters";
import { storeOfFile } from "@/lib/testing/store-of-file";

const { db } = storeOfFile({ max: 2 });

test("the worst of what the live workers say of their token buckets; each beat counts who is alive", async () => {
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: null, worker: { alive: 0 } });
  const beat = async (id: string, bucket?: "shared" | "local" | "unreachable") =>
    (await writeHeartbeat(db, { id, startedAtMs: Date.now(), info: { running: 0, targets: {}, bucket } })).alive;
  const [one, two, three] = [uuidv7(Date.now()), uuidv7(Date.now()), uuidv7(Date.now())] as const;
  expect(await beat(one, "shared")).toBe(1);
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: "shared", worker: { alive: 1 } });
  expect(await beat(two, "local")).toBe(2);
  expect(await beat(one, "shared")).toBe(2);
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: "local" });
  expect(await beat(three, "unreachable")).toBe(3);
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: "unreachable" });
  await db.run("update worker_heartbeats set seen_at = now() - interval '20 s' where id = any($1)", [[two, three]]);
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: "shared", worker: { alive: 1 } });
  // A worker of an older release says nothing of it.
  await beat(one);
  expect(await readStatus(db, localViewer())).toMatchObject({ bucket: null });
});

test("names the targets whose breaker is open and the sources that fail", async () => {
  expect((await readStatus(db, localViewer())).trouble).toEqual({
    openBreakers: [],
    failingSources: [],
    archive: null,
    alerts: null,
    channelsOff: 0,
  });
  const sourceId = await addSource(db, "orders");
  await addSource(db, "billing");
  await db.run("update targets set breaker_force = 'open' where name = 'billing'");
  const [source] = await db.query<{ modeAt: string }>(
    `update sources set kind = 'rabbitmq' where id = $1 returning mode_at::text as "modeAt"`,
    [sourceId],
  );
  await writeConsumer(db, {
    ...{ sourceId, worker: "w-1", modeAt: source!.modeAt, ratePerSecond: null },
    ...{ state: "failing", lag: null, parked: 0, parts: [], lastError: "wrong password", retryAtMs: null },
    lastErrorAtMs: Date.now(),
  });
  const engine = { breaker: { state: "open", forced: false, waitMs: 700 } } as TargetEngine;
  const info = { running: 0, targets: { "orders.slow": engine, orders: { ...engine, breaker: null } } };
  await writeHeartbeat(db, { id: uuidv7(Date.now()), startedAtMs: Date.now(), info });
  expect((await readStatus(db, localViewer())).trouble).toEqual({
    openBreakers: ["billing", "orders.slow"],
    failingSources: ["orders"],
    archive: null,
    alerts: null,
    channelsOff: 0,
  });
});

test("the throughput of a lane counts sends, and no dry run", async () => {
  const lanes = async () =>
    (await readStatus(db, localViewer())).lanes.map((lane) => [lane.lane, lane.ratePerSecondNow]);
  const tick = async (mode: "deliver" | "verify", lane: "main" | "slow", delivered: number) => {
    const id = uuidv7(Date.now());
    await db.run(
      `insert into redrives (id, state, mode, lane, selection, cutoff, slices, created_by, reason)
       values ($1, 'RUNNING', $2, $3, '{}', $1, 1, 'tester', 'test')`,
      [id, mode, lane],
    );
    await db.run("insert into redrive_ticks (redrive_id, at, delivered) values ($1, now(), $2)", [id, delivered]);
  };
  await tick("verify", "slow", 6_000);
  expect(await lanes()).toEqual([
    ["main", 0],
    ["slow", 0],
  ]);
  await tick("deliver", "slow", 150);
  await tick("deliver", "main", 30);
  expect(await lanes()).toEqual([
    ["main", 1],
    ["slow", 5],
  ]);
});

test("changes when an alert begins, fires or ends, which leaves no audit entry", async () => {
  const changes = async () => (await readStatus(db, localViewer())).changes;
  const said = [await changes()];
  const id = uuidv7(Date.now());
  await db.run(
    `insert into alerts (id, rule_id, rule_name, kind, severity, key, subject, state, since, sentence)
     values ($1, $1, 'late', 'age', 'warning', 'k', '{}', 'pending', now(), 'late')`,
    [id],
  );
  said.push(await changes());
  for (const state of ["firing", "resolved"]) {
    await db.run("update alerts set state = $2, fired_at = now(), resolved_at = now() where id = $1", [id, state]);
    said.push(await changes());
  }
  const [none, pending, firing, resolved] = said;
  expect(new Set([none, pending, firing]).size).toBe(3);
  expect(resolved).toBe(none);
});
