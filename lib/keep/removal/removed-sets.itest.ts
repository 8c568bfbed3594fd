import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { RestoreRequest, VerifyRequest } from "@/lib/keep/archive/archive.shapes";
import { removeLeftovers } from "@/lib/keep/archive/remove-leftovers";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { setKeysBeside } from "@/lib/keep/archive/sets/set-key.pure";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const DAYS = ["2026-11-23", "2026-11-24", "2026-11-25"];

let folder: string;
let archive: ArchiveStore;
const open = (...encryptionKeys: Uint8Array[]) =>
  openArchiveStore(parseArchiveLocation(pathToFileURL(folder).href), { clock: systemClock, encryptionKeys });
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
  archive = open();
  await addSource(world.db, "billing");
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Parks events at noon of a day, and ignores them. */
async function parkIgnored(day: string, source: string, eventIds: string[]): Promise<string[]> {
  const clock = { ...systemClock, wallMs: () => Date.parse(`${day}T12:00:00Z`) };
  const letters = eventIds.map((eventId) => ({
    source,
    letter: deadLetter({ eventId, aggregateId: null, version: null }),
  }));
  await parkEvents({ ...world.deps, clock }, letters, ADA);
  const ids = await world.idsOf(eventIds);
  await ignoreEvents(world.deps, { select: { ids }, reason: "known" }, ADA);
  return ids;
}

async function remove(ids: string[], own = archive): Promise<string> {
  const deps = { ...world.deps, archive: own };
  const { id } = await removeEvents(deps, { select: { ids }, reason: "the disk is full" }, ADA);
  await workBulkOperation(deps, id!, new AbortController().signal);
  return id!;
}
const restore = (request: RestoreRequest, own = archive) =>
  restoreArchived({ ...world.deps, archive: own }, request, ADA);
const verify = (request: VerifyRequest, own = archive) => verifyArchive({ db: world.db, archive: own }, request, ADA);

async function keys(): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of archive.list("")) found.push(key);
  return found;
}
type Named = { key: string; day: string; source: string; events: number };
const objects = () =>
  world.db.query<Named>("select key, day::text as day, source, events from archive_objects order by day, source, id");

/** Each event of each day of both sources, and what became of them in the archive. */
async function removeDays(own = archive): Promise<string> {
  const ids: string[] = [];
  for (const day of DAYS)
    for (const source of ["orders", "billing"])
      ids.push(...(await parkIgnored(day, source, [`${source}-${day}-1`, `${source}-${day}-2`])));
  return remove(ids, own);
}

describe("a removal of several days and sources", () => {
  test("writes a set for each, in folders of their names, and each manifest says what the set holds", async () => {
    const operation = await removeDays();
    const named = await objects();
    expect(named.map(({ day, source, events }) => [day, source, events])).toEqual(
      DAYS.flatMap((day) => ["billing", "orders"].map((source) => [day, source, 2])),
    );
    const all = named.flatMap(({ key }) => Object.values(setKeysBeside(key)));
    expect(await keys()).toEqual(all.toSorted());
    for (const { key, day, source } of named) {
      expect(key).toMatch(new RegExp(`^events/day=${day}/source=${source}/${operation}-[0-9a-f-]{36}\\.ndjson\\.zst$`));
      const { lines, parquet, manifest } = setKeysBeside(key);
      const said = JSON.parse(readFileSync(join(folder, manifest), "utf8"));
      const file = (name: string) => {
        const bytes = readFileSync(join(folder, name));
        return { key: name, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
      };
      const at = `${day}T12:00:00.000000Z`;
      expect(said).toMatchObject({
        format: 1,
        operationId: operation,
        source,
        day,
        events: 2,
        firstSeen: { min: at, max: at },
      });
      expect([said.lines, said.parquet]).toEqual([file(lines), file(parquet)]);
    }
    expect(await restore({ operation })).toMatchObject({ restored: 8, next: expect.any(String) });
  });

  test("that dies leaves no object behind: what it has written is removed when its time is over", async () => {
    const ids = await parkIgnored(DAYS[0]!, "orders", ["one", "two"]);
    const dying: ArchiveStore = {
      ...archive,
      put: async (key, bytes) => {
        await archive.put(key, bytes);
        if (key.endsWith(".json")) throw new Error("the process is gone");
      },
    };
    await expect(remove(ids, dying)).rejects.toThrow("the process is gone");
    const left = await keys();
    expect(left).toHaveLength(3);
    await removeLeftovers({ ...world.deps, archive });
    expect(await keys()).toEqual(left);
    await world.db.run("update archive_leftovers set remove_at = now()");
    await remove(ids);
    await removeLeftovers({ ...world.deps, archive });
    const [{ key }] = (await objects()) as [Named];
    expect(await keys()).toEqual(Object.values(setKeysBeside(key)).toSorted());
    expect(await world.db.query("select 1 from archive_leftovers")).toEqual([]);
  });

  test("writes the manifest of a set when its other objects lie in the archive and were read back", async () => {
    const steps: string[] = [];
    const watched: ArchiveStore = {
      ...archive,
      put: async (key, bytes) => {
        await archive.put(key, bytes);
        steps.push(`put ${key}`);
      },
      get: async (key) => {
        steps.push(`get ${key}`);
        return archive.get(key);
      },
    };
    await remove(await parkIgnored(DAYS[0]!, "orders", ["one"]), watched);
    const [{ key }] = (await objects()) as [Named];
    const { lines, parquet, manifest } = setKeysBeside(key);
    const begun = steps.indexOf(`put ${manifest}`);
    expect(steps.slice(0, begun).sort()).toEqual([lines, parquet].flatMap((of) => [`get ${of}`, `put ${of}`]).sort());
    expect(steps.slice(begun)).toEqual([`put ${manifest}`, `get ${manifest}`]);
  });

  test("removes nothing when one of its objects does not come back as it was written", async () => {
    const ids = await parkIgnored(DAYS[0]!, "orders", ["one", "two"]);
    for (const ending of [".ndjson.zst", ".parquet", ".manifest.json"]) {
      const changed: ArchiveStore = {
        ...archive,
        get: async (key) => {
          const bytes = await archive.get(key);
          return key.endsWith(ending) ? Buffer.concat([bytes!, Buffer.from([0])]) : bytes;
        },
      };
      const deps = { ...world.deps, archive: changed };
      const { id } = await removeEvents(deps, { select: { ids }, reason: "disk" }, ADA);
      const work = workBulkOperation(deps, id!, new AbortController().signal);
      await expect(work).rejects.toMatchObject({
        code: "archive-unavailable",
        message: expect.stringContaining(ending),
      });
      expect(await readBulkOperation(world.db, ADA, id!)).toMatchObject({ changed: 0 });
      expect(await objects()).toEqual([]);
      expect(await world.statuses()).toEqual({ IGNORED: 2 });
      await cancelBulkOperation(world.deps, { id: id! }, ADA);
    }
  });
});

describe("a restore of a day", () => {
  test("brings its events and no others, of one source or of all, however many sets they are in", async () => {
    await removeDays();
    const more = await parkIgnored(DAYS[1]!, "orders", ["a", "b", "c", "d", "e"]);
    for (const id of more) await remove([id]);
    expect(await restore({ day: DAYS[1]!, source: "billing" })).toEqual({
      restored: 2,
      duplicates: 0,
      refused: [],
      next: null,
    });
    const first = await restore({ day: DAYS[1]! });
    expect(first).toMatchObject({ restored: 5, next: expect.any(String) });
    expect(await restore({ day: DAYS[1]!, after: first.next! })).toMatchObject({ restored: 2, next: null });
    const left = await world.db.query(
      "select distinct o.day::text as day from archived_events a join archive_objects o on o.id = a.object_id order by 1",
    );
    expect(left).toEqual([{ day: DAYS[0] }, { day: DAYS[2] }]);
    await expect(restore({ day: DAYS[1]! })).rejects.toMatchObject({
      code: "unknown-event",
      fields: [{ field: "day" }],
    });
  });
});

describe("a verification", () => {
  test.each([
    ["that is not sealed", []],
    ["that is sealed", [randomBytes(32)]],
  ])(
    "of an archive %s finds each change of any of its objects, and each that is missing",
    async (_, encryptionKeys) => {
      const own = open(...encryptionKeys);
      await removeDays(own);
      const whole = await verify({ day: DAYS[0]! }, own);
      expect(whole).toEqual({ sets: 2, events: 4, faults: [], next: null });
      const [{ key }] = (await objects()) as [Named];
      for (const object of Object.values(setKeysBeside(key))) {
        const path = join(folder, object);
        const bytes = readFileSync(path);
        const places = [0, 9, 20, bytes.length >> 1, bytes.length - 17, bytes.length - 1];
        for (const at of places) {
          const changed = Buffer.from(bytes);
          changed[at]! ^= 1;
          writeFileSync(path, changed);
          const { faults } = await verify({ day: DAYS[0]! }, own);
          expect(faults, `${object} at ${at}`).toMatchObject([{ object }]);
          expect(faults[0]!.detail).toContain(object);
        }
        rmSync(path);
        expect((await verify({ day: DAYS[0]! }, own)).faults).toEqual([
          { object, detail: `${object} is not in ${folder}` },
        ]);
        writeFileSync(path, bytes);
      }
      expect(await verify({ day: DAYS[0]! }, own)).toEqual(whole);
      const away = openArchiveStore(parseArchiveLocation(`${pathToFileURL(folder).href}/not-mounted`), {
        clock: systemClock,
      });
      await expect(verify({}, away)).rejects.toMatchObject({ code: "archive-unavailable" });
    },
  );

  test("goes through all sets, some at a time, those of restored events among them", async () => {
    const operation = await removeDays();
    const more = await parkIgnored(DAYS[0]!, "orders", ["a", "b", "c", "d"]);
    for (const id of more) await remove([id]);
    await restore({ day: DAYS[0]! });
    const first = await verify({});
    expect(first).toMatchObject({ sets: 8, faults: [], next: expect.any(String) });
    expect(await verify({ after: first.next! })).toEqual({ sets: 2, events: 2, faults: [], next: null });
    expect(await verify({ operation })).toMatchObject({ sets: 6, events: 12 });
    expect(await verify({ source: "billing", day: DAYS[1]! })).toMatchObject({ sets: 1, events: 2 });
    const clerk = { ...ADA, sources: ["billing"] };
    expect(await verifyArchive({ db: world.db, archive }, {}, clerk)).toMatchObject({ sets: 3 });
  });

  test("of a sealed archive whose key is lost says so of each object, and a restore of each event", async () => {
    const ids = await parkIgnored(DAYS[0]!, "orders", ["one"]);
    await remove(ids, open(randomBytes(32)));
    const said = /PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY/;
    for (const own of [open(), open(randomBytes(32))]) {
      const { faults } = await verify({}, own);
      expect(faults).toHaveLength(3);
      for (const { detail } of faults) expect(detail).toMatch(said);
      expect(await restore({ ids }, own)).toMatchObject({
        restored: 0,
        refused: [{ id: ids[0], detail: expect.stringMatching(said) }],
      });
    }
  });
});
