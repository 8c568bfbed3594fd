import { beforeAll, expect, test } from "vitest";
import { appendAudit, appendSubjects } from "@/lib/guard/audit/audit.write";
import type { AnchorPlace } from "@/lib/guard/audit-chain/anchors/anchor-places";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { workVerifications } from "@/lib/guard/audit-chain/work-verifications";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();
const entries: string[] = [];

beforeAll(async () => {
  const { db, clock } = parkade.deps;
  for (const subjectId of ["a", "b", "c"]) {
    const facts = { actor: "ada", action: "setting.changed", subjectKind: "setting" as const, subjectId, count: 1 };
    entries.push(
      await db.transaction((tx) => appendAudit(tx, { ...facts, before: null, after: 1, atMs: clock.wallMs() })),
    );
  }
  await sealEntries(db);
});

/** The program asks, and a worker's round does the check. @param progress what the program says before that round */
async function run(places: AnchorPlace[] = [], progress = "") {
  const { ended, said } = commandLine.begin(["verify-audit"]);
  const { db, clock, log } = parkade.deps;
  const asked = () =>
    db.query("select from audit_verifications where finished_at is null and requested_by <> 'worker'");
  await expect.poll(asked, { timeout: 10_000, interval: 20 }).toHaveLength(1);
  await expect.poll(said, { timeout: 10_000, interval: 20 }).toContain(progress);
  await workVerifications({ db, clock, log, places });
  return ended;
}

test("ends with 0 when everything is good", async () => {
  const good = await run();
  expect(good).toMatchObject({ code: 0, out: expect.stringMatching(/^result +good\nentries +3\nseals +3\n/) });
});

test("says what is a later change of an entry, and no count before there is one", async () => {
  const { db, clock } = parkade.deps;
  await db.transaction((tx) => appendSubjects(tx, entries[0]!, [uuidv7(clock.wallMs())]));
  await sealEntries(db);
  const { code, out, said } = await run([], "The check waits for a worker");
  expect([code, out]).toEqual([0, expect.stringMatching(/^seals +4, 1 of them for a later change of an entry$/m)]);
  expect(said).not.toContain("0 seals");
});

test("ends with 1 when an anchor says otherwise, and when anchors could not be read", async () => {
  const other: AnchorPlace = {
    ...{ place: "s3://anchors", write: async () => {}, close: async () => {} },
    read: async function* () {
      yield [{ seq: 2, chainHash: "f".repeat(64), atMs: 0, place: "s3://anchors" }];
    },
  };
  expect(await run([other])).toMatchObject({
    ...{ code: 1, out: expect.stringMatching(/^result +bad\n/) },
    said: expect.stringContaining(`rewritten: entry ${entries[1]}, number 2: `),
  });
  const away: AnchorPlace = {
    ...{ place: "s3://anchors", write: async () => {}, close: async () => {} },
    // biome-ignore lint/correctness/useYield: it fails before it has anything
    read: async function* () {
      throw new DomainError("archive-unavailable", "the bucket does not answer");
    },
  };
  expect(await run([away])).toMatchObject({
    ...{ code: 1, out: expect.stringMatching(/^result +good\n/) },
    said: expect.stringContaining("The anchors in s3://anchors could not be read: the bucket does not answer"),
  });
});

test("ends with 1 and names the first bad entry after a change past the product", async () => {
  await parkade.deps.db.run("update audit_entries set actor = 'eve' where id = any($1::uuid[])", [entries.slice(1)]);
  const bad = await run();
  expect(bad).toMatchObject({ code: 1, out: expect.stringMatching(/^result +bad\n/) });
  expect(bad.said).toMatch(
    new RegExp(`changed: entry ${entries[1]}, number 2: .+\n(.|\n)*changed: entry ${entries[2]}`),
  );
  expect(bad.said).not.toContain(entries[0]);
});
