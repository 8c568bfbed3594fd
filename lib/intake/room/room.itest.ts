import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDeps, setDeps } from "@/app/_server/deps";
import * as exported from "@/app/(events)/api/v1/events/export/route";
import * as events from "@/app/(events)/api/v1/events/route";
import * as metrics from "@/app/(observe)/metrics/route";
import * as readyz from "@/app/(observe)/readyz/route";
import { readEnv } from "@/lib/env";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { readStatus } from "@/lib/observe/health/status.read";
import { createDb } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { freeBytesOf, measureRoom } from "./measure-room";
import { readRoom } from "./room.read";

const GB = 2 ** 30;
const DISK = { folder: "/nowhere", freeBytesMin: GB };

let web: TestConsole;
beforeEach(async () => {
  web = await testConsole();
  await addSource(web.deps.db, "orders");
});
afterEach(() => web.close());

/** The measurement of a process that sees the disk, with a mocked probe. */
const diskHas = (freeBytes: number, disk = DISK) =>
  measureRoom(web.deps.db, { disk, storeBytesMax: null }, async () => Math.round(freeBytes));
const storeMay = (storeBytesMax: number) => measureRoom(web.deps.db, { disk: null, storeBytesMax });
const post = (eventId: string, more: object = {}) =>
  web.call(events.POST, { body: { source: "orders", eventId, errorCode: "X", payload: 1, ...more } });
const stored = async () =>
  (
    await web.deps.db.query<{ n: number }>(
      "select (select count(*) from dlq_events) + (select count(*) from event_revisions) + (select count(*) from event_keys) as n",
    )
  )[0]!.n;
const metric = async (name: string) =>
  (await web.call(metrics.GET)).text.split("\n").filter((line) => line.startsWith(`${name}{`));

describe("a disk below its limit", () => {
  test("takes nothing in, says why in each place, and goes on when a tenth more is free", async () => {
    await diskHas(GB);
    expect((await post("e-0")).status).toBe(202);
    const before = await stored();
    const line = (await web.call(exported.GET, { query: "?source=orders&reason=test" })).text;
    await diskHas(0.5 * GB);
    const sentence = /^The disk of the store has 512 MB free of the 1 GB that PARKADE_DISK_FREE_MIN keeps: no event is/;
    const refused = await post("e-1");
    expect([refused.status, refused.headers.get("retry-after"), refused.body]).toEqual([
      503,
      "15",
      expect.objectContaining({
        code: "store-full",
        detail: expect.stringMatching(
          /PARKADE_DISK_FREE_MIN.*Keep the event and send it again.*runbooks\/disk-full\.md/,
        ),
      }),
    ]);
    // A known event waits, too, and so does one of an export.
    expect((await post("e-0")).status).toBe(503);
    expect((await post("e-0", { errorCode: "Y", payload: 2 })).body.code).toBe("store-full");
    const headers = { "content-type": "application/x-ndjson" };
    expect((await web.call(events.POST, { body: line, headers })).body.code).toBe("store-full");
    expect(await stored()).toBe(before);

    const status = await readStatus(web.deps.db, localViewer());
    expect(status.intakeStops).toEqual([
      { measure: "disk", since: expect.stringMatching(/^20.*Z$/), detail: expect.stringMatching(sentence) },
    ]);
    expect(await metric("parkade_intake_stopped")).toEqual(['parkade_intake_stopped{measure="disk"} 1']);
    expect(await metric("parkade_intake_room_bytes")).toEqual(['parkade_intake_room_bytes{measure="disk"} -536870912']);

    await diskHas(GB + 0.05 * GB);
    expect((await post("e-1")).status).toBe(503);
    await diskHas(GB + 0.11 * GB);
    expect((await post("e-1")).status).toBe(202);
    expect((await readStatus(web.deps.db, localViewer())).intakeStops).toEqual([]);
    // Between the two limits it goes on taking in, until the lower one is passed again.
    await diskHas(GB + 0.05 * GB);
    expect((await post("e-2")).status).toBe(202);
  });

  test("keeps its time of stop through measurements, and through a restart of all processes", async () => {
    await diskHas(5);
    const since = async () => (await readRoom(web.deps.db)).map(({ stopped, sinceMs }) => ({ stopped, sinceMs }));
    const first = await since();
    await diskHas(7);
    expect(await since()).toEqual(first);
    const other = createDb(web.database.url, { max: 1 });
    const deps = { ...web.deps, db: other };
    const arrivals = [{ source: "orders", letter: deadLetter() }];
    await expect(parkEvents(deps, arrivals, localViewer())).rejects.toMatchObject({ code: "store-full" });
    await other.end();
    // The console stays ready, and readiness names it.
    await web.deps.db.run(
      "insert into worker_heartbeats (id, started_at, seen_at, info) values (gen_random_uuid(), now(), now(), '{}')",
    );
    const answer = await readyz.GET();
    expect(answer.status).toBe(200);
    expect((await answer.json()).checks.intake).toEqual({
      ok: false,
      detail: expect.stringMatching(/PARKADE_DISK_FREE_MIN keeps/),
    });
  });

  test("counts no more once nobody has measured it for half a minute", async () => {
    await diskHas(5);
    await web.deps.db.run("update intake_room set measured_at = now() - interval '29 s'");
    expect((await post("e-1")).status).toBe(503);
    await web.deps.db.run("update intake_room set measured_at = now() - interval '31 s'");
    expect((await post("e-1")).status).toBe(202);
    expect(await metric("parkade_intake_stopped")).toEqual([]);
    // The next measurement goes on where the last one ended.
    await diskHas(GB + 1);
    expect((await post("e-2")).status).toBe(503);
  });

  test("of two processes with different limits the stricter one decides", async () => {
    await diskHas(1.5 * GB, { ...DISK, freeBytesMin: 2 * GB });
    await diskHas(1.5 * GB);
    expect((await post("e-1")).body.detail).toMatch(/of the 2 GB/);
    expect(await metric("parkade_intake_stopped")).toEqual(['parkade_intake_stopped{measure="disk"} 1']);
  });
});

describe("a store above its size", () => {
  test("is measured once in ten seconds by all processes together, and both webs refuse", async () => {
    await storeMay(1_000_000);
    const [first] = await readRoom(web.deps.db);
    expect(first).toMatchObject({ measure: "store", stopped: true, leftBytes: expect.any(Number) });
    await web.deps.db.run("create table filler as select repeat('x', 500) as x from generate_series(1, 10000)");
    await storeMay(1_000_000);
    expect(await readRoom(web.deps.db)).toEqual([first]);
    await web.deps.db.run("update intake_room set measured_at = now() - interval '11 s'");
    await storeMay(1_000_000);
    expect((await readRoom(web.deps.db))[0]!.leftBytes).toBeLessThan(first!.leftBytes - 5_000_000);

    // A second web, which measures nothing.
    const second = createDeps(
      readEnv({ DATABASE_URL: web.database.url }),
      createLog({ process: "b", level: "silent" }),
    );
    expect((await post("e-1")).body.detail).toMatch(
      /The store has .* of the 977 KB that PARKADE_STORE_SIZE_MAX allows/,
    );
    setDeps(second);
    expect((await post("e-1")).status).toBe(503);
    setDeps(web.deps);
    await second.close();
  });

  test("a web measures by itself from its start, and takes events in again under a higher limit", async () => {
    const small = createDeps(
      readEnv({ DATABASE_URL: web.database.url, PARKADE_STORE_SIZE_MAX: "1MiB" }),
      createLog({ process: "b", level: "silent" }),
    );
    setDeps(small);
    await expect.poll(async () => (await post("e-1")).status).toBe(503);
    await small.close();
    setDeps(web.deps);
    await storeMay(900 * GB);
    // The lower limit ends with its last measurement.
    await web.deps.db.run("update intake_room set measured_at = now() - interval '31 s' where limit_bytes < 2000000");
    expect((await post("e-1")).status).toBe(202);
  });
});

test("without limits nothing is measured; a folder that is not there is an error of the round, and no state", async () => {
  await measureRoom(web.deps.db, web.deps.env.room);
  expect(await readRoom(web.deps.db)).toEqual([]);
  expect((await post("e-0")).status).toBe(202);
  expect(await freeBytesOf(".")).toBeGreaterThan(0);
  await expect(measureRoom(web.deps.db, { disk: DISK, storeBytesMax: null })).rejects.toThrow(/ENOENT/);
  expect(await readRoom(web.deps.db)).toEqual([]);
});
