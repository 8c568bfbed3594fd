import { beforeAll, beforeEach, expect, test } from "vitest";
import type { AuditList } from "@/lib/guard/audit/audit.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { ControlList } from "@/lib/order/controls/controls.shapes";
import type { RedriveList } from "@/lib/redrive/redrives.shapes";
import { commandLineOfFile, consoleOfFile, rowsOf } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";

/** As a producer wrote it: with the sequence that clears a terminal. */
const AGGREGATE = "order-9\u001b[2J";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();

beforeAll(async () => {
  await addSource(parkade.deps.db, "orders");
  const letter = deadLetter({ eventId: "order-9-v3", aggregateId: AGGREGATE, errorCode: "TIMEOUT" });
  const other = deadLetter({ eventId: "order-8-v1", aggregateId: "order-8", errorCode: "INVALID" });
  const letters = [letter, other].map((each) => ({ source: "orders", letter: each }));
  await parkEvents(parkade.deps, letters, localViewer("tester"));
});
beforeEach(() => parkade.deps.db.run("truncate controls, audit_entries"));

const run = (...words: string[]) => commandLine.run(...words);

test("a source that does not exist is no control, and a search and a preview by it say so", async () => {
  const imposed = await run("control", "blacklist", "--source", "odrers", "--reason", "misspelt");
  expect(imposed).toMatchObject({
    code: 1,
    out: "",
    said: expect.stringContaining("is orders meant? (unknown-source)"),
  });
  const hint = 'There is no source "odrers": is orders meant?\n';
  expect(await run("search", "--source", "odrers")).toEqual({ code: 0, out: "", said: `${hint}No event matches.\n` });
  expect(await run("search", "--source", "odrers", "--count")).toMatchObject({ code: 0, said: hint });
  expect(await run("redrive", "--source", "odrers", "--preview")).toMatchObject({ code: 0, said: hint });
  expect((await run("redrive", "--source", "odrers", "--reason", "x")).said).toContain(hint);
});

test("a blacklist refuses what it is over, is listed with who imposed it, and ends when it is lifted", async () => {
  const imposed = await run(
    ...["control", "blacklist", "--source", "orders", "--errorCode", "TIMEOUT", "--reason", "until it is fixed"],
  );
  expect(imposed).toMatchObject({ code: 0, said: "" });
  const id = imposed.out.trim();
  expect((await run("redrive", "order-9-v3", "--preview")).out).toMatch(/blacklisted 1/);
  expect((await run("redrive", "order-8-v1", "--preview")).out).not.toMatch(/blacklisted/);

  const { out } = await run("control", "list");
  expect(rowsOf(out)).toEqual([
    [id, "blacklist", "errorCode=TIMEOUT source=orders", "1", "maria", "", "until it is fixed"],
  ]);
  expect(await run("control", "lift", id, "--reason", "it is fixed")).toEqual({
    ...{ code: 0, said: "" },
    out: "blacklist over errorCode=TIMEOUT source=orders lifted\n",
  });
  expect((await run("redrive", "order-9-v3", "--preview")).out).not.toMatch(/blacklisted/);
  expect(await run("control", "list")).toEqual({ code: 0, out: "", said: "Nothing matches.\n" });
  const ended: ControlList = JSON.parse((await run("control", "list", "--state", "ended", "--json")).out);
  expect(ended).toMatchObject({ items: [{ id, liftedBy: "maria", liftReason: "it is fixed" }], nextCursor: null });
  expect(await run("control", "lift", id)).toMatchObject({ code: 1, said: expect.stringContaining("unknown-control") });
});

test("a cooldown has an end, a control has a scope, and a repeated key imposes one control", async () => {
  const cooldown = ["control", "cooldown", "--source", "orders", "--reason", "stock is rebuilt"];
  expect(await run(...cooldown)).toMatchObject({ code: 2, said: expect.stringContaining("--until is missing") });
  expect(await run(...cooldown, "--until", "2020-01-01T00:00:00Z")).toMatchObject({
    ...{ code: 1, out: "", said: expect.stringContaining("invalid-window") },
  });
  expect(await run("control", "whitelist", "--reason", "all of it")).toMatchObject({
    ...{ code: 2, said: expect.stringContaining("name its scope") },
  });
  const until = ["--until", "2126-11-22T18:00:00+01:00", "--idempotency-key", "cooldown-1"];
  const first = await run(...cooldown, ...until);
  expect(first.code).toBe(0);
  expect((await run(...cooldown, ...until)).out).toBe(first.out);
  const [row, ...more] = rowsOf((await run("control", "list")).out);
  expect([row!.slice(0, 3), row![5], more]).toEqual([
    [first.out.trim(), "cooldown", "source=orders"],
    "2126-11-22T17:00:00.000Z",
    [],
  ]);
});

test("all controls that match are lifted together, and none without something to match", async () => {
  for (const code of ["TIMEOUT", "INVALID"]) {
    await run("control", "blacklist", "--source", "orders", "--errorCode", code, "--reason", "for now");
  }
  await run("control", "whitelist", "--aggregateId", "order-8", "--reason", "mended");
  expect(await run("control", "lift")).toMatchObject({ code: 2, said: expect.stringContaining("give the id") });
  expect(await run("control", "lift", "019aa9a0", "--source", "orders")).toMatchObject({
    code: 2,
    said: expect.stringContaining("not both"),
  });
  expect(await run("control", "lift", "--source", "orders", "--reason", "fixed")).toEqual({
    ...{ code: 0, said: "" },
    out: "2 controls lifted\n",
  });
  expect(rowsOf((await run("control", "list")).out).map(([, kind]) => kind)).toEqual(["whitelist"]);
});

test("the audit is listed by who, what and when, with its reasons", async () => {
  const imposed = await run("control", "whitelist", "--aggregateId", AGGREGATE, "--reason", "fixed\u001b[2J by hand");
  // What a producer wrote reaches no terminal as it is.
  expect((await run("control", "lift", imposed.out.trim())).out).toContain("order-9⟨001B⟩[2J");
  const { out } = await run("audit", "--by", "maria", "--action", "control", "--from", "-1h");
  expect(rowsOf(out).map((row) => row.slice(1))).toEqual([
    ["maria", "control.lifted", "1", imposed.out.trim(), "lifted"],
    ["maria", "control.imposed", "1", imposed.out.trim(), "fixed⟨001B⟩[2J by hand"],
  ]);
  expect(await run("audit", "--by", "nobody")).toEqual({ code: 0, out: "", said: "Nothing matches.\n" });
  const json: AuditList = JSON.parse((await run("audit", "--subjectId", imposed.out.trim(), "--json")).out);
  expect(json.items.map(({ action, after }) => [action, after])).toEqual([
    ["control.lifted", null],
    ["control.imposed", { kind: "whitelist", scope: { aggregateId: AGGREGATE }, expiresAt: null }],
  ]);
  expect(await run("audit", "--redriveId", "none")).toMatchObject({
    ...{ code: 1, said: expect.stringContaining("redriveId") },
  });
});

test("redrives are listed newest first, page by page, with their counts", async () => {
  const started = async (id: string) => {
    const begun = await run("verify", id, "--reason", `try ${id}`, "--detach");
    return begun.out.trim();
  };
  const [first, second] = [await started("order-9-v3"), await started("order-8-v1")];
  const { out, said } = await run("redrives", "--state", "live");
  expect(said).toBe("");
  expect(rowsOf(out).map(([id, , , by, events, , , , , reason]) => [id, by, events, reason])).toEqual([
    [second, "maria", "1", "try order-8-v1"],
    [first, "maria", "1", "try order-9-v3"],
  ]);
  const newest = await run("redrives", "--limit", "1", "--json");
  expect(newest.said).toBe("There are more than this one: --limit.\n");
  const page: RedriveList = JSON.parse(newest.out);
  expect(page.items.map(({ id }) => id)).toEqual([second]);
  const rest: RedriveList = JSON.parse((await run("redrives", "--cursor", page.nextCursor!, "--json")).out);
  expect(rest.items.map(({ id }) => id)).toEqual([first]);
  expect((await run("redrives", "--state", "DONE")).out).toBe("");
});

test("a preview and a redrive name the control that refuses, as the console does", async () => {
  const letter = deadLetter({ eventId: "order-7-v1", aggregateId: "order-7", errorCode: "LATE" });
  await parkEvents(parkade.deps, [{ source: "orders", letter }], localViewer("tester"));
  const over = ["--source", "orders", "--errorCode", "LATE", "--reason", "until it is fixed"];
  await run("control", "blacklist", ...over);
  const cause = "blacklisted by maria (error code LATE in orders): until it is fixed\n";
  expect((await run("redrive", "order-7-v1", "--preview")).out).toContain(` 1 ${cause}`);
  const refused = await run("redrive", "order-7-v1", "--reason", "it may go", "--yes");
  expect(refused).toMatchObject({ code: 4, said: expect.stringContaining(`order-7-v1 is ${cause}`) });
  const id = /^redrive +(\S+)/m.exec(refused.out)![1]!;
  await run("control", "lift", "--source", "orders", "--reason", "it is fixed", "--yes");
  expect((await run("follow", id)).said).not.toContain("blacklisted by");
});
