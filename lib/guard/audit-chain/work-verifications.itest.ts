import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { parseAnchorLocations } from "@/lib/guard/audit-chain/anchors/anchor-location.pure";
import { type AnchorPlace, openAnchorPlaces } from "@/lib/guard/audit-chain/anchors/anchor-places";
import { writeAnchors } from "@/lib/guard/audit-chain/anchors/write-anchors";
import { requestVerification } from "@/lib/guard/audit-chain/request-verification";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { readChain, readVerification } from "@/lib/guard/audit-chain/verifications.read";
import { workVerifications } from "@/lib/guard/audit-chain/work-verifications";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

const ADA = localViewer("ada");
const log = createLog({ level: "silent", process: "test" });
let database: TestDatabase;
let db: Db;
let folder: string;
let second: string;
let places: AnchorPlace[];
let aheadMs: number;
const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };

beforeEach(async () => {
  database = await testDatabase();
  db = createDb(database.url, { max: 3 });
  folder = await mkdtemp(join(tmpdir(), "anchors-"));
  second = await mkdtemp(join(tmpdir(), "anchors-"));
  aheadMs = 0;
  places = openAnchorPlaces(parseAnchorLocations(`file://${second} file://${folder}`), { clock, keys: null });
});
afterEach(async () => {
  await Promise.all(places.map((place) => place.close()));
  await db.end();
  await database.drop();
  await rm(folder, { recursive: true });
  await rm(second, { recursive: true });
});

const append = (subjectId: string) =>
  db.transaction((tx) =>
    appendAudit(tx, {
      ...{ actor: "ada", action: "setting.changed", subjectKind: "setting", subjectId, count: 1 },
      ...{ before: null, after: { on: true }, atMs: clock.wallMs() },
    }),
  );

const anchor = (to = places) => writeAnchors({ db, clock, places: to, everyMs: 3_600_000 });

async function check() {
  const { id } = await requestVerification(db, ADA, clock.wallMs());
  await workVerifications({ db, clock, log, places });
  return readVerification(db, ADA, id);
}

const filesOf = async (place = folder) =>
  (await readdir(place, { recursive: true }))
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => join(place, name))
    .sort();

test("the end of the chain is written to each place when due, and a place that refuses keeps none back", async () => {
  await append("a");
  await sealEntries(db);
  const refusing = { ...places[0]!, write: () => Promise.reject(new Error("the disk is full")) };
  await expect(anchor([refusing, places[1]!])).rejects.toThrow("could not be anchored everywhere");
  expect([await filesOf(second), await filesOf()]).toMatchObject([{ length: 0 }, { length: 1 }]);
  await anchor();
  await anchor();
  expect([await filesOf(second), await filesOf()]).toMatchObject([{ length: 1 }, { length: 1 }]);
  const written = await readFile((await filesOf(second))[0]!, "utf8");
  const { at, chainHash } = JSON.parse(written) as Record<string, string>;
  expect(JSON.parse(written)).toEqual({ parkade: "audit-anchor", seq: 1, chainHash, at });
  aheadMs = 3_600_000;
  await anchor();
  expect([await filesOf(second), await filesOf()]).toMatchObject([{ length: 2 }, { length: 2 }]);
  const { anchors, head } = await readChain(db, ADA);
  expect(anchors.map(({ chainHash: hash }) => hash)).toEqual([head!.chainHash, head!.chainHash]);
});

test("a chain that is cut off is found by what stands outside, after the store forgot its anchors", async () => {
  for (const name of ["a", "b", "c"]) await append(name);
  await sealEntries(db);
  await anchor();
  expect(await check()).toMatchObject({ good: true, seals: 3, entries: 3, anchors: 4, first: null });
  await db.run("truncate audit_anchors, audit_verifications");
  await db.run("delete from audit_entries where id = (select entry_id from audit_seals where seq = 3)");
  await db.run("delete from audit_seals where seq = 3");
  const bad = await check();
  expect(bad).toMatchObject({ good: false, first: { code: "truncated", seq: 3 } });
  expect((await readChain(db, ADA)).standing).toMatchObject({ id: bad.id });
});

test("an anchor that was changed outside is found, and said after a changed entry", async () => {
  await append("a");
  await sealEntries(db);
  await anchor();
  const [file] = await filesOf();
  const line = await readFile(file!, "utf8");
  await writeFile(file!, line.replace(/"chainHash":"[0-9a-f]+"/, `"chainHash":"${"f".repeat(64)}"`));
  expect((await check()).findings).toMatchObject([
    { code: "rewritten", seq: 1, detail: expect.stringContaining(file!.slice(folder.length + 1)) },
  ]);
  await db.run("update audit_entries set actor = 'eve'");
  expect((await check()).findings.map(({ code }) => code)).toEqual(["changed", "rewritten"]);
});

test("an anchor with the signature of an earlier release is compared like others", async () => {
  await append("a");
  await sealEntries(db);
  await anchor();
  const [file] = await filesOf();
  await writeFile(file!, (await readFile(file!, "utf8")).replace("}", `,"signature":"${"a".repeat(64)}"}`));
  expect(await check()).toMatchObject({ good: true, anchors: 4 });
});

test("anchors that know the same cut end are one finding, which names the places", async () => {
  for (const name of ["a", "b"]) await append(name);
  await sealEntries(db);
  for (let hour = 0; hour < 3; hour++) {
    await anchor();
    aheadMs += 3_600_000;
  }
  await db.run("delete from audit_entries where id = (select entry_id from audit_seals where seq = 2)");
  await db.run("delete from audit_seals where seq = 2");
  const { findings, findingsTotal } = await check();
  expect([findings.length, findingsTotal]).toEqual([1, 1]);
  const named = places.flatMap(({ place }) => [`${place}: audit-anchors/`, `record of ${place} and 2 more`]);
  for (const place of named) expect(findings[0]!.detail).toContain(place);
});

test("anchors are compared an object at a time, however many there are, and a place that fails is named", async () => {
  await append("a");
  await sealEntries(db);
  await anchor();
  // More than a call of a function takes as arguments.
  const lines = 150_000;
  const seen: number[] = [];
  const { place, read } = places[1]!;
  const many: AnchorPlace = {
    ...places[1]!,
    read: async function* () {
      for await (const object of read()) {
        yield Array.from({ length: lines }, () => object[0]!);
        // Between two objects the check says that it is alive.
        await db.run("update audit_verifications set worked_at = now() - interval '1 hour'");
        yield object;
        const [row] = await db.query<{ age: number }>(
          "select extract(epoch from now() - worked_at)::int as age from audit_verifications",
        );
        seen.push(row!.age);
      }
      throw new DomainError("archive-unavailable", "The disk is gone");
    },
  };
  const { id } = await requestVerification(db, ADA, clock.wallMs());
  await workVerifications({ db, clock, log, places: [many] });
  expect(seen[0]).toBeLessThan(60);
  expect(await readVerification(db, ADA, id)).toMatchObject({
    ...{ good: true, anchors: lines + 1 + 2, fault: `The anchors in ${place} could not be read: The disk is gone` },
  });
});

test("regular checks and anchors go on at once after the clock was set back by an hour", async () => {
  await append("a");
  await sealEntries(db);
  const regular = () => workVerifications({ db, clock, log, places: [] });
  const made = async () => {
    const [row] = await db.query(
      "select (select count(*)::int from audit_verifications) as checks, (select count(*)::int from audit_anchors) as anchors",
    );
    return row;
  };
  aheadMs = 3_600_000;
  await regular();
  await anchor();
  expect(await made()).toEqual({ checks: 1, anchors: 2 });
  aheadMs = 0;
  for (const _ of [1, 2]) {
    await regular();
    await anchor();
    expect(await made()).toEqual({ checks: 2, anchors: 4 });
  }
});

test("regular checks look at what is new, and a check whose worker died is done by another", async () => {
  await append("a");
  await sealEntries(db);
  await workVerifications({ db, clock, log, places: [] });
  const extents = () => db.query("select extent, seals, good from audit_verifications order by id");
  expect(await extents()).toEqual([{ extent: "whole", seals: 1, good: true }]);
  await append("b");
  await sealEntries(db);
  aheadMs = 301_000;
  await workVerifications({ db, clock, log, places: [] });
  expect(await extents()).toEqual([
    { extent: "whole", seals: 1, good: true },
    { extent: "recent", seals: 1, good: true },
  ]);
  const { id } = await requestVerification(db, ADA, clock.wallMs());
  await db.run("update audit_verifications set started_at = now(), worked_at = now() where id = $1", [id]);
  await workVerifications({ db, clock, log, places: [] });
  expect(await readVerification(db, ADA, id)).toMatchObject({ finishedAt: null, good: null });
  await db.run("update audit_verifications set worked_at = now() - interval '4 minutes' where id = $1", [id]);
  await workVerifications({ db, clock, log, places: [] });
  expect(await readVerification(db, ADA, id)).toMatchObject({ good: true, seals: 2 });
});

test("what a check found stays, and the regular checks after it look at what is new alone", async () => {
  await append("a");
  await sealEntries(db);
  await check();
  await append("new");
  await sealEntries(db);
  await db.run("update audit_entries set actor = 'eve' where subject_id = 'new'");
  const bad = await check();
  expect(bad).toMatchObject({ good: false, first: { code: "changed", seq: 2 } });
  const regular = async () => {
    await append("b");
    await sealEntries(db);
    aheadMs += 301_000;
    await workVerifications({ db, clock, log, places: [] });
  };
  await regular();
  await regular();
  expect(await readChain(db, ADA)).toMatchObject({
    ...{ last: { extent: "recent", good: true, seals: 1 }, lastWhole: { id: bad.id }, standing: { id: bad.id } },
  });
});

test("a finding ends with a check of everything that read every anchor, and with no other", async () => {
  await append("a");
  await sealEntries(db);
  await db.run("update audit_entries set actor = 'eve'");
  const bad = await check();
  await db.run("update audit_entries set actor = 'ada'");
  const standing = async () => (await readChain(db, ADA)).standing?.id ?? null;
  const unread: AnchorPlace = {
    ...places[1]!,
    read: async function* () {
      yield [];
      throw new DomainError("archive-unavailable", "gone");
    },
  };
  await requestVerification(db, ADA, clock.wallMs());
  await workVerifications({ db, clock, log, places: [unread] });
  const { last } = await readChain(db, ADA);
  expect([last?.good, await standing()]).toEqual([true, bad.id]);
  await check();
  expect(await standing()).toBeNull();
  // One that could not be done brings none back.
  await db.run("update audit_verifications set good = null, fault = 'gone' where id = $1", [(await check()).id]);
  expect(await standing()).toBeNull();
});

test("of checks with findings the first and the last hundred are kept", async () => {
  await db.run(
    `insert into audit_verifications (id, extent, requested_by, requested_at, finished_at, good, result)
     select ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'recent', 'worker', now(), now(), r.good, '{"head": null}'
       from generate_series(1, 200) i, (values (false, 0), (null, 1)) r (good, n) where i % 2 = r.n`,
  );
  await db.run(
    "insert into audit_verifications (id, extent, requested_by, requested_at, finished_at, good) select gen_random_uuid(), 'recent', 'worker', now(), now(), b from unnest('{f,f,f,f,f}'::boolean[]) b",
  );
  const { id } = await check();
  const kept = await db.query<{ good: boolean | null; n: number; first: string }>(
    "select good, count(*) as n, min(id::text) as first from audit_verifications group by good order by good",
  );
  expect(kept).toEqual([
    { good: false, n: 101, first: "00000000-0000-7000-8000-000000000002" },
    { good: true, n: 1, first: id },
    { good: null, n: 100, first: "00000000-0000-7000-8000-000000000001" },
  ]);
});

test("a request joins the check of everything that waits, and not one that runs", async () => {
  const ask = () => requestVerification(db, ADA, clock.wallMs());
  const asked = await Promise.all([ask(), ask(), ask()]);
  expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
  // A check that runs may have passed what the viewer means.
  await db.run("update audit_verifications set started_at = now(), worked_at = now()");
  expect((await ask()).id).not.toBe(asked[0]!.id);
  expect(await db.query("select from audit_verifications")).toHaveLength(2);
});

test("an anchor of the three chains of an earlier release is left out", async () => {
  await append("a");
  await sealEntries(db);
  await anchor();
  const [file] = await filesOf();
  const line = await readFile(file!, "utf8");
  const earlier = { ...JSON.parse(line), scope: "messages", seq: 48_211, chainHash: "f".repeat(64) };
  await writeFile(file!, `${JSON.stringify(earlier)}\n${line}`);
  expect(await check()).toMatchObject({ good: true, anchors: 4 });
});

test("who does not see every source sees nothing of the chain", async () => {
  const clerk = { ...ADA, sources: ["orders"] };
  await expect(readChain(db, clerk)).rejects.toMatchObject({ code: "forbidden" });
  await expect(requestVerification(db, clerk, 0)).rejects.toMatchObject({
    code: "forbidden",
  });
});
