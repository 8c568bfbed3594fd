import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { commandLineOfFile, consoleOfFile, rowsOf } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
const parkade = consoleOfFile(() => ({ PARKADE_ARCHIVE: pathToFileURL(folder).href }));
const commandLine = commandLineOfFile();

beforeAll(async () => {
  await addSource(parkade.deps.db, "orders");
  await addSource(parkade.deps.db, "billing");
  const letters = ["order-1", "order-2", "order-3"].map((eventId) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: "order\u001b[2J", errorCode: "TIMEOUT" }),
  }));
  const same = { source: "billing", letter: deadLetter({ eventId: "order-1" }) };
  await parkEvents(parkade.deps, [...letters, same], localViewer("tester"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...words: string[]) => commandLine.run(...words);
const work = (id: string) => workBulkOperation(parkade.deps, id.trim(), new AbortController().signal);
const because = ["--reason", "the disk fills up"];

test("settled events are counted, removed into the archive, listed there and restored", async () => {
  const none = await run("remove", "--source", "orders", "--preview");
  expect(none).toMatchObject({ code: 1, out: expect.stringMatching(/would go +0\n.*3 \(not-settled 3\)/) });
  await run("ignore", "order-1", "order-2", "--source", "orders", "--reason", "test orders");
  const preview = await run("remove", "--source", "orders", "--preview");
  expect(preview).toMatchObject({
    code: 0,
    out: expect.stringMatching(/would go +2\nwould stay +1 \(not-settled 1\)/),
  });
  expect(preview.out).toContain(folder);
  expect(await run("archive", "list")).toEqual({ code: 0, out: "", said: "Nothing matches.\n" });

  const begun = await run("remove", "--source", "orders", ...because, "--detach");
  expect(begun).toMatchObject({ code: 0, said: expect.stringContaining("a worker removes the events") });
  await work(begun.out);
  expect(await run("follow", begun.out.trim())).toMatchObject({
    code: 4,
    out: expect.stringMatching(/changed +2\nrefused +1 \(not-settled 1\)/),
  });
  const listed = rowsOf((await run("archive", "list", "--source", "orders", "--errorCode", "TIMEOUT")).out);
  expect(listed.map((row) => [...row.slice(1, 6), row[9]])).toEqual(
    ["order-2", "order-1"].map((id) => ["IGNORED", "orders", id, "order⟨001B⟩[2J", "3", "maria"]),
  );

  expect(await run("archive", "restore", "order-1")).toMatchObject({ code: 0, out: "restored  1\n", said: "" });
  expect(await run("archive", "restore", "order-1")).toMatchObject({
    code: 1,
    said: "parkade: No event order-1 is in the archive (unknown-event)\n",
  });
  const rest = await run("archive", "restore", "--operation", begun.out.trim(), "--json");
  expect(JSON.parse(rest.out)).toEqual({ restored: 1, duplicates: 0, refused: [], next: null });
  expect(rowsOf((await run("search", "--status", "IGNORED")).out).map((row) => row[3])).toEqual(["order-2", "order-1"]);
});

test("what cannot be restored is named with its reason, and the rest comes back", async () => {
  const removed = await run("remove", "--status", "IGNORED", ...because, "--detach");
  await work(removed.out);
  const [second, first] = rowsOf((await run("archive", "list")).out).map(([id]) => id!);
  await parkade.deps.db.run("update archive_objects set sha256 = 'changed'");
  const refused = await run("archive", "restore", first!, second!);
  expect(refused).toMatchObject({ code: 4, out: expect.stringMatching(/restored +0\nrefused +2\n/) });
  expect(refused.said).toContain(`${first}: its object`);
  expect(refused.said).toContain("was changed");
});

test("ids are named in one way, and a producer's id of several sources with its source", async () => {
  expect(await run("archive", "restore")).toMatchObject({ code: 2 });
  const twice = await run("archive", "restore", "order-1", "--operation", "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60");
  expect(twice).toMatchObject({ code: 2, said: expect.stringContaining("by their ids, or a removal") });
  await run("ignore", "order-1", "--source", "billing", "--reason", "a test order");
  await work((await run("remove", "order-1", "--source", "billing", ...because, "--detach")).out);
  const unclear = await run("archive", "restore", "order-1");
  expect(unclear).toMatchObject({ code: 2, said: expect.stringContaining("name one with --source") });
  expect(await run("archive", "restore", "order-1", "--source", "billing")).toMatchObject({ code: 0 });
});

test("events are kept as long as is set, for all and for a source or a code, and what is due is shown", async () => {
  expect(await run("retention", "show")).toMatchObject({ code: 0, out: expect.stringMatching(/all events +30 days/) });
  expect(await run("retention", "set", "14", "--reason", "small disk")).toMatchObject({ code: 0 });
  const set = await run("retention", "set", "7", "--source", "orders", "--errorCode", "TIMEOUT", "--reason", "many");
  expect(set).toMatchObject({ code: 0, out: expect.stringMatching(/orders TIMEOUT +7 days\nall others +14 days/) });
  const due = deadLetter({ eventId: "old", aggregateId: null, failedAtMs: null });
  const clock = { ...parkade.deps.clock, wallMs: () => Date.now() - 8.5 * 86_400_000 };
  await parkEvents(
    { ...parkade.deps, clock },
    [{ source: "orders", letter: { ...due, errorCode: "TIMEOUT" } }],
    localViewer("tester"),
  );
  expect((await run("retention", "show")).out).toMatch(/\n\d{4}-\d\d-\d\d +1 expire, \d+ B\n/);
  for (const [words, said] of [
    [["set", "3"], /from 7 to 3650/],
    [["set", "soon"], /not a number of days/],
    [["set", "9", "--source", "nobody"], /there is no source/],
    [["unset"], /name the period/],
    [["unset", "--source", "billing"], /no such period/],
  ] as const) {
    expect(await run("retention", ...words, "--reason", "x"), words.join(" ")).toMatchObject({
      code: expect.toSatisfy((code: number) => code > 0),
      said: expect.stringMatching(said),
    });
  }
  const unset = await run("retention", "unset", "--source", "orders", "--errorCode", "TIMEOUT", "--reason", "as all");
  expect(unset).toMatchObject({ code: 0, out: expect.stringMatching(/^all events +14 days/) });
});

test("a day is restored, and what was changed or is missing in the archive is named", async () => {
  await parkade.deps.db.run("delete from archived_events");
  await run("ignore", "order-3", "--source", "orders", "--reason", "a test order");
  const removed = await run("remove", "order-3", "--source", "orders", ...because, "--detach");
  await work(removed.out);
  const operation = removed.out.trim();
  const day = new Date().toISOString().slice(0, 10);
  expect(await run("archive", "verify", "--operation", operation)).toEqual({
    ...{ code: 0, out: "sets    1\nevents  1\nfaults  0\n", said: "" },
  });
  expect((await run("archive", "list", "--from", "-1h", "--to", "now")).out).toContain("order-3");
  expect((await run("archive", "list", "--to", "-1h")).out).toBe("");
  const [{ key }] = (await parkade.deps.db.query<{ key: string }>(
    "select key from archive_objects where operation_id = $1",
    [operation],
  )) as [{ key: string }];
  const parquet = join(folder, key.replace(".ndjson.zst", ".parquet"));
  rmSync(parquet);
  const faulty = await run("archive", "verify", "--operation", operation);
  expect(faulty).toMatchObject({ code: 4, out: expect.stringMatching(/faults +1/) });
  expect(faulty.said).toContain(`.parquet is not in ${folder}`);
  expect(await run("archive", "verify", "--day", "2026-13-01")).toMatchObject({
    code: 1,
    said: expect.stringContaining("must be a UTC day such as 2026-11-25"),
  });
  expect(await run("archive", "verify", "--day", "1999-01-01")).toMatchObject({
    code: 1,
    said: expect.stringContaining("unknown-event"),
  });
  const other = await run("archive", "restore", "--day", day, "--source", "billing");
  expect(other).toMatchObject({ code: 1, said: expect.stringContaining("unknown-event") });
  expect(await run("archive", "restore", "--day", day)).toMatchObject({ code: 0, out: "restored  1\n" });
});
