import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { listAudit } from "@/lib/guard/audit/audit-list.read";
import { auditQuery } from "@/lib/guard/audit/audit-query.shapes";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { ensurePartitions, partitionDays } from "@/lib/intake/partitions.write";
import { listArchivedEvents } from "@/lib/keep/archive/archived-events.read";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { changeRetention } from "@/lib/keep/retention/change-retention";
import { runRetention } from "@/lib/keep/retention/expire-events";
import type { Retention } from "@/lib/keep/retention/retention.pure";
import { previewRetention, showRetention } from "@/lib/keep/retention/show-retention.read";
import { readStatus } from "@/lib/observe/health/status.read";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { archiveOfEachTest, EVERY_ARCHIVED } from "@/lib/testing/test-archive";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const DAY_MS = 86_400_000;

const { archive } = archiveOfEachTest();

const deps = (own: ArchiveStore | null = archive) => ({ ...world.deps, archive: own });
const wallOf = (daysAgo: number) => Date.now() - daysAgo * DAY_MS;
const clockOf = (daysAgo: number) => ({ ...systemClock, wallMs: () => wallOf(daysAgo) });

/** Parks an event as it was parked some days ago. */
async function park(eventId: string, daysAgo: number, change: Partial<DeadLetter> = {}, source = "orders") {
  const failedAtMs = wallOf(daysAgo);
  const letter = deadLetter({ eventId, aggregateId: null, version: null, failedAtMs, ...change });
  await parkEvents({ ...world.deps, clock: clockOf(daysAgo) }, [{ source, letter }], ADA);
}

const round = (own: ArchiveStore | null = archive, daysAgo = 0) =>
  runRetention({ ...deps(own), upkeepDb: world.db, clock: clockOf(daysAgo) });
const operations = () =>
  world.db.query<{ id: string; state: string; changed: number; refused: Record<string, number>; fault: string | null }>(
    `select id, state, changed, refused_by_reason as refused, fault from bulk_operations where kind = 'expire' order by id`,
  );
const work = async (own: ArchiveStore | null = archive) => {
  for (const { id, state } of await operations())
    if (state === "RUNNING") await workBulkOperation(deps(own), id, new AbortController().signal);
};
const expire = async () => {
  await round();
  await work();
};
const stored = async () =>
  (await world.db.query<{ id: string }>("select event_id as id from dlq_events order by 1")).map(({ id }) => id);
const bounced = async (eventId: string) => {
  await world.db.run(
    `insert into event_bounces (id, bounce, at, sent, error_code, headers, origin)
     select id, 1, now() - interval '6 days', 1, error_code, '[]', '{}' from dlq_events where event_id = $1`,
    [eventId],
  );
  await world.db.run("update dlq_events set bounces = 1 where event_id = $1", [eventId]);
};
const archived = async () => (await listArchivedEvents(world.db, ADA, EVERY_ARCHIVED)).items;
const retain = (days: number, rules: { source?: string; errorCode?: string; days: number }[] = [], viewer = ADA) => {
  const named = rules.map((rule) => ({
    source: rule.source ?? null,
    errorCode: rule.errorCode ?? null,
    days: rule.days,
  }));
  return changeRetention(world.deps, { days, rules: named }, viewer);
};
const preview = (viewer: Viewer = ADA, periods: Retention | null = null) =>
  previewRetention(world.db, viewer, { periods, nowMs: Date.now() });

const ignore = async (eventId: string) =>
  ignoreEvents(world.deps, { select: { ids: await world.idsOf([eventId]) }, reason: "not needed" }, ADA);

describe("events of a day that is older than they are kept", () => {
  test("expire into the archive, whatever their state, are counted, and come back as they were", async () => {
    await park("old-pending", 31.5);
    await park("old-ignored", 31.5);
    await park("young", 29);
    await ignore("old-ignored");
    expect((await preview()).days).toMatchObject([{ expires: 2, keptByReason: {} }]);
    await expire();
    expect(await operations()).toMatchObject([{ state: "DONE", changed: 2, refused: {} }]);
    expect(await stored()).toEqual(["young"]);
    expect((await archived()).map(({ eventId, status, removedBy }) => [eventId, status, removedBy])).toEqual(
      expect.arrayContaining([
        ["old-pending", "PENDING", "retention"],
        ["old-ignored", "IGNORED", "retention"],
      ]),
    );
    const flow = await world.db.query("select kind, sum(n)::int as n from dlq_flow group by kind order by kind");
    expect(flow).toEqual([
      { kind: "expired", n: 1 },
      { kind: "ignored", n: 1 },
      { kind: "parked", n: 3 },
    ]);
    expect(await world.broken()).toEqual([]);
    const ids = (await archived()).map(({ id }) => id);
    expect(await restoreArchived(deps(), { ids }, ADA)).toMatchObject({ restored: 2 });
    expect(await world.statuses()).toEqual({ PENDING: 2, IGNORED: 1 });
    expect(await world.broken()).toEqual([]);
    // What was restored is needed: it stays, also when the next day comes.
    await round(archive, -1);
    await work();
    expect(await stored()).toEqual(["old-ignored", "old-pending", "young"]);
  });

  test("are counted by other periods before these are in force", async () => {
    await park("old", 20);
    expect((await preview()).days).toEqual([]);
    const rule = (errorCode: string | null) => ({ source: "orders", errorCode, days: 7 });
    expect((await preview(ADA, { days: 30, rules: [rule(null)] })).days).toMatchObject([{ expires: 1 }]);
    expect((await preview(ADA, { days: 30, rules: [rule("OTHER")] })).days).toEqual([]);
    expect((await preview()).days).toEqual([]);
  });

  test("are looked at once a day, by whichever worker is first", async () => {
    await park("old", 31.5);
    expect((await Promise.all([round(), round(), round()])).sort()).toEqual([0, 0, 1]);
    await work();
    expect(await stored()).toEqual([]);
    // Its producer's clock is years ahead.
    await park("late", 31.5, { failedAtMs: Date.UTC(2040, 0, 1) });
    expect(await round()).toBe(0);
    // The day that follows, by the clock of the worker.
    expect(await round(archive, -1)).toBe(1);
    await work();
    expect(await stored()).toEqual([]);
  });

  test("are of whole days in UTC: the last event of a day is kept for all of the days", async () => {
    const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const at = (ms: number) => ({ ...world.deps, clock: { ...systemClock, wallMs: () => ms } });
    const letter = (eventId: string) => ({
      source: "orders",
      letter: deadLetter({ eventId, aggregateId: null, version: null, failedAtMs: null }),
    });
    await parkEvents(at(midnight - 30 * DAY_MS - 1), [letter("before-midnight")], ADA);
    await parkEvents(at(midnight - 30 * DAY_MS), [letter("at-midnight")], ADA);
    await expire();
    expect(await stored()).toEqual(["at-midnight"]);
  });

  test("go by the period of their source and code, the most specific one", async () => {
    await addSource(world.db, "billing");
    await park("all", 8);
    await park("code", 8, { errorCode: "TIMEOUT" });
    await park("source", 8, {}, "billing");
    await park("both", 8, { errorCode: "TIMEOUT" }, "billing");
    await retain(30, [
      { source: "billing", days: 7 },
      { errorCode: "TIMEOUT", days: 7 },
      { source: "billing", errorCode: "TIMEOUT", days: 20 },
    ]);
    await expire();
    expect(await stored()).toEqual(["all", "both"]);
    // A longer period of its own holds against a shorter one of all.
    await retain(7, [{ source: "billing", errorCode: "TIMEOUT", days: 20 }]);
    await expire();
    expect(await stored()).toEqual(["both"]);
    expect((await operations()).at(-1)).toMatchObject({ changed: 1, refused: { "not-due": 1 } });
  });

  test("are looked at again on the day of a change of the periods", async () => {
    await retain(7, [{ source: "orders", days: 30 }]);
    await park("ten", 10);
    await expire();
    expect(await stored()).toEqual(["ten"]);
    await retain(7);
    await expire();
    expect(await stored()).toEqual([]);
  });

  test("stay when a period is made longer while they expire", async () => {
    await park("old", 20);
    await retain(14);
    await round();
    await retain(30);
    await work();
    expect(await operations()).toMatchObject([{ state: "DONE", changed: 0, refused: { "not-due": 1 } }]);
    expect(await stored()).toEqual(["old"]);
  });

  test("stay while they are sent, unconfirmed or recently changed, and while they hold others; the preview says so", async () => {
    await park("sent", 31.5);
    await park("revised", 31.5);
    await park("head", 31.5, { aggregateId: "order-1", version: 1n });
    await park("tail", 2, { aggregateId: "order-1", version: 2n });
    await park("goes", 31.5);
    await park("queued", 31.5);
    await world.request({ select: { ids: await world.idsOf(["sent"]) } });
    const sending = await world.worker();
    await expect.poll(async () => (await world.event("sent")).status).toBe("REDRIVEN");
    await sending.stop("the send is over");
    await world.request({ select: { ids: await world.idsOf(["queued"]) } });
    await world.db.run(
      `insert into event_revisions (id, revision, cause, base, actor, at, payload, content_type)
       select id, 2, 'edit', 1, 'ada', now(), '{}', 'application/json' from dlq_events where event_id = 'revised'`,
    );
    await world.db.run("update dlq_events set revision = 2 where event_id = 'revised'");
    await world.db.run(
      "update dlq_event_facts f set payload_bytes = 2 from dlq_events e where e.id = f.id and e.event_id = 'revised'",
    );
    const kept = { "in-redrive": 1, unconfirmed: 1, recent: 1, "holds-later": 1 };
    expect((await preview()).days).toMatchObject([{ expires: 1, keptByReason: kept }]);
    await expire();
    expect((await operations()).at(-1)).toMatchObject({ changed: 1, refused: kept });
    expect(await stored()).toEqual(["head", "queued", "revised", "sent", "tail"]);
  });

  test("stay when they came back in the last seven days, however old their letter is", async () => {
    await park("old", 31.5);
    await park("back", 31.5);
    await bounced("back");
    expect((await preview()).days).toMatchObject([{ expires: 1, keptByReason: { recent: 1 } }]);
    await expire();
    expect(await stored()).toEqual(["back"]);
  });

  test("stay where they hold one that is due and stays, or that has a longer period; the preview says so", async () => {
    await retain(30, [{ errorCode: "TIMEOUT", days: 7 }]);
    await park("due", 10, { aggregateId: "order-1", version: 1n, errorCode: "TIMEOUT" });
    await park("longer", 9, { aggregateId: "order-1", version: 2n });
    await park("other", 10, { aggregateId: "order-2", version: 1n, errorCode: "TIMEOUT" });
    await park("stays", 9, { aggregateId: "order-2", version: 2n, errorCode: "TIMEOUT" });
    await bounced("stays");
    const days = (await preview()).days!;
    expect(days.map(({ expires, bytes, keptByReason }) => [expires, bytes, keptByReason])).toEqual([
      [0, 0, { "holds-later": 2 }],
      [0, 0, { recent: 1 }],
    ]);
    await expire();
    expect((await operations()).reduce((sum, { changed }) => sum + changed, 0)).toBe(0);
    expect(await stored()).toEqual(["due", "longer", "other", "stays"]);
  });

  test("leave in one go, heads and tails, where both are due", async () => {
    await park("head", 32.5, { aggregateId: "order-1", version: 1n });
    await park("tail", 31.5, { aggregateId: "order-1", version: 2n });
    expect((await preview()).days).toMatchObject([{ expires: 1 }, { expires: 1 }]);
    await expire();
    expect(await stored()).toEqual([]);
  });

  test("leave in one operation in whatever order they arrived, though its chunks part an aggregate; a later one in a redrive keeps the others", async () => {
    const versions = [4n, 3n, 2n, 1n];
    // A chunk has 16 MiB: two of these do not fit into one.
    const payload = Buffer.alloc(9 * 1024 * 1024, "x");
    for (const version of versions) await park(`v${version}`, 31.5, { aggregateId: "order-1", version, payload });
    await park("q4", 31.5, { aggregateId: "order-2", version: 4n });
    await world.request({ select: { ids: await world.idsOf(["q4"]) } });
    for (const version of [3n, 2n, 1n]) await park(`q${version}`, 31.5, { aggregateId: "order-2", version });
    const kept = { "holds-later": 3, "in-redrive": 1 };
    expect((await preview()).days).toMatchObject([{ expires: 4, keptByReason: kept }]);
    await expire();
    expect(await operations()).toMatchObject([{ state: "DONE", changed: 4, refused: kept }]);
    expect(await stored()).toEqual(["q1", "q2", "q3", "q4"]);
  });

  test("that arrive again are restored: nothing is parked twice, and they do not expire at once", async () => {
    await park("again", 31.5);
    await expire();
    expect(await stored()).toEqual([]);
    const letter = deadLetter({ eventId: "again", aggregateId: null, version: null });
    expect(await parkEvents(deps(), [{ source: "orders", letter }], ADA)).toEqual(["duplicate"]);
    expect(await stored()).toEqual(["again"]);
    await round(archive, -1);
    await work();
    expect(await stored()).toEqual(["again"]);
  });
});

describe("retention", () => {
  test("drops the tables of emptied days, and an event that comes back makes them again", async () => {
    await park("old", 31.5);
    const day = Math.floor(wallOf(31.5) / DAY_MS) * DAY_MS;
    await expire();
    expect(await partitionDays(world.db)).toContain(day);
    await round();
    for (const table of ["dlq_events", "dlq_event_bodies", "dlq_event_facts", "event_bounces"] as const) {
      expect(await partitionDays(world.db, table), table).not.toContain(day);
    }
    const [event] = await archived();
    expect(await restoreArchived(deps(), { ids: [event!.id] }, ADA)).toMatchObject({ restored: 1 });
    await round();
    expect(await partitionDays(world.db)).toContain(day);
    expect(await stored()).toEqual(["old"]);
  });

  test("keeps the tables of a day with an event, which may be edited or bounce for the first time, and makes those it lacks", async () => {
    await park("old", 15);
    await round();
    const [id] = await world.idsOf();
    const edit = { id: id!, base: 1, text: "{}", reason: "renamed", headersMax: 100 };
    expect((await editEvent(deps(), edit, ADA)).revision).toBe(2);
    // As a release before has left it.
    const name = new Date(wallOf(15)).toISOString().slice(0, 10).replaceAll("-", "");
    await world.db.run(`drop table event_bounces_${name}`);
    await ensurePartitions(world.db, Date.now());
    await bounced("old");
    expect(await world.event("old")).toMatchObject({ bounces: 1 });
  });

  test("leaves a day that is being read, and goes on", async () => {
    await park("old", 31.5);
    await expire();
    const day = Math.floor(wallOf(31.5) / DAY_MS) * DAY_MS;
    await world.db.transaction(async (tx) => {
      await tx.query("select count(*) from dlq_events", []);
      await round();
      expect(await partitionDays(tx)).toContain(day);
    });
    await round();
    expect(await partitionDays(world.db)).not.toContain(day);
  });

  test("removes nothing without an archive, and says so", async () => {
    await park("old", 31.5);
    expect(await round(null)).toBe(0);
    expect(await stored()).toEqual(["old"]);
    expect(await showRetention(world.db, ADA, null)).toMatchObject({
      days: 30,
      rules: [],
      place: null,
      lookedAt: null,
    });
  });

  test("stands still while the archive is away, says why, and goes on", async () => {
    await park("old", 31.5);
    await round();
    const away = new DomainError("archive-unavailable", "The archive s3://x does not answer");
    const broken: ArchiveStore = { ...archive, place: "s3://x", put: () => Promise.reject(away) };
    await expect(work(broken)).rejects.toBe(away);
    expect(await operations()).toMatchObject([{ state: "RUNNING", changed: 0, fault: away.message }]);
    expect((await readStatus(world.db, ADA)).trouble).toMatchObject({ archive: away.message });
    expect(await stored()).toEqual(["old"]);
    // The days that pass meanwhile wait for it: they do not make an operation each.
    expect(await round(broken, -1)).toBe(0);
    await work();
    expect(await operations()).toMatchObject([{ state: "DONE", changed: 1, fault: null }]);
  });

  test("shows a viewer the events, periods and changes of their sources alone", async () => {
    await addSource(world.db, "billing");
    await park("orders", 31.5);
    await park("billing", 31.5, {}, "billing");
    const clerk: Viewer = { ...ADA, sources: ["billing"] };
    expect((await preview(clerk)).days).toMatchObject([{ expires: 1 }]);
    expect((await preview()).days).toMatchObject([{ expires: 2 }]);
    await expect(retain(7, [], clerk)).rejects.toMatchObject({ code: "forbidden" });
    await retain(30, [
      { source: "orders", days: 9 },
      { source: "billing", days: 8 },
    ]);
    const named = async (viewer: Viewer) =>
      (await showRetention(world.db, viewer, "x")).rules.map(({ source }) => source);
    expect(await named(clerk)).toEqual(["billing"]);
    expect(await named(ADA)).toEqual(["orders", "billing"]);
    const query = auditQuery.read(new URLSearchParams({ action: "retention.changed" }), Date.now());
    expect((await listAudit(world.db, clerk, query)).items).toEqual([]);
    expect((await listAudit(world.db, ADA, query)).items).toHaveLength(1);
  });

  test("is not changed over what another has changed since it was read", async () => {
    const { changedAt } = await showRetention(world.db, ADA, "x");
    const change = (days: number, at: string | null) =>
      changeRetention(world.deps, { days, rules: [], changedAt: at }, ADA);
    const both = await Promise.allSettled([change(7, changedAt), change(14, changedAt)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await expect(change(20, changedAt)).rejects.toMatchObject({ code: "stale-settings" });
    await change(20, (await showRetention(world.db, ADA, "x")).changedAt);
    const entries = await world.db.query<{ before: number; after: number }>(
      "select before->'days' as before, after->'days' as after from audit_entries where action = 'retention.changed' order by id",
    );
    expect(entries[0]!.before).toBe(30);
    expect(entries[1]).toEqual({ before: entries[0]!.after, after: 20 });
  });

  test("is changed as a whole, with an audit entry, and refuses a source that does not exist", async () => {
    await retain(14, [{ source: "orders", days: 7 }]);
    expect(await showRetention(world.db, ADA, "x")).toMatchObject({
      days: 14,
      rules: [{ source: "orders", errorCode: null, days: 7 }],
      changedBy: "ada",
    });
    const [entry] = await world.db.query(
      "select actor, before->'days' as before, after->'days' as after from audit_entries where action = 'retention.changed'",
    );
    expect(entry).toEqual({ actor: "ada", before: 30, after: 14 });
    const orders = { source: "orders", days: 7 };
    await expect(retain(14, [{ source: "nobody", days: 7 }, { days: 7 }, orders, orders])).rejects.toMatchObject({
      code: "invalid-config",
      fields: [{ field: "rules[0].source" }, { field: "rules[1]" }, { field: "rules[3]" }],
    });
  });
});
