import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { ruleRequestSchema } from "@/lib/intake/admission/admission.shapes";
import { createAdmissionRule } from "@/lib/intake/admission/admission-rules";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { listArchivedEvents } from "@/lib/keep/archive/archived-events.read";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import { readHoldingLater, readParkedBehind } from "@/lib/keep/removal/held-tails.read";
import { previewRemoval } from "@/lib/keep/removal/removal-preview.read";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { removeIdleAggregates } from "@/lib/order/idle-aggregates.write";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { Selection } from "@/lib/selection/selection.shapes";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { mendAllLines } from "@/lib/testing/lines";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { countingRows } from "@/lib/testing/rows-looked-at";
import { archiveOfEachTest, EVERY_ARCHIVED } from "@/lib/testing/test-archive";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const ALL = { filter: {} } satisfies Selection;

const { archive, folder } = archiveOfEachTest();

const deps = (own: ArchiveStore | null = archive) => ({ ...world.deps, archive: own });

async function request(select: Selection = ALL, viewer: Viewer = ADA): Promise<string> {
  const { id } = await removeEvents(deps(), { select, reason: "the disk is full" }, viewer);
  return id!;
}
const work = (id: string, own: ArchiveStore | null = archive) =>
  workBulkOperation(deps(own), id, new AbortController().signal);
const operation = (id: string) => readBulkOperation(world.db, ADA, id);

async function remove(select: Selection = ALL): Promise<string> {
  const id = await request(select);
  await work(id);
  return id;
}

/** Parks events and settles most: 0, 1 stay PENDING, 2, 3 are IGNORED, the rest REDRIVEN. */
async function parkSettled(count: number): Promise<void> {
  await world.park(count, (index) => ({ aggregateId: `order-${index}`, version: 1n }));
  await world.db.run(
    `with moved as (
       update dlq_events set status = case when right(event_id, 4)::int < 4 then 'IGNORED' else 'REDRIVEN' end,
              confirmed_at = case when right(event_id, 4)::int >= 4 then now() end
        where right(event_id, 4)::int > 1
       returning source_id, error_code, fingerprint, first_seen, status)
     , levels as (
       insert into dlq_levels (source_id, error_code, status, hour, n)
       select source_id, error_code, s, date_trunc('hour', first_seen, 'UTC'), sum(n)
         from moved cross join lateral (values ('PENDING', -1), (moved.status, 1)) v(s, n) group by 1, 2, 3, 4)
     , groups as (
       insert into dlq_group_levels (fingerprint, source_id, status, n)
       select fingerprint, source_id, s, sum(n)
         from moved cross join lateral (values ('PENDING', -1), (moved.status, 1)) v(s, n) group by 1, 2, 3)
     insert into dlq_flow (minute, source_id, error_code, fingerprint, kind, n)
     select date_trunc('minute', now(), 'UTC'), source_id, error_code, fingerprint,
            case status when 'IGNORED' then 'ignored' else 'redriven' end, 1 from moved`,
  );
  await mendAllLines(world.db);
}

/** As the quiet window does, without its audit: no consumer reports anything. */
async function confirmByQuiet(): Promise<void> {
  await world.db.run(
    `with confirmed as (
       update dlq_events e set confirmed_at = now(), confirmed_redrive = i.redrive_id
         from redrive_items i where i.id = e.id returning i.redrive_id)
     update redrives r set confirmed = c.n
       from (select redrive_id, count(*) as n from confirmed group by 1) c where c.redrive_id = r.id`,
  );
  await mendAllLines(world.db);
}

const TABLES = ["dlq_events", "dlq_event_facts", "dlq_event_bodies", "event_revisions", "event_bounces", "event_keys"];

async function rows(): Promise<Record<string, string[]>> {
  const read = TABLES.map(async (table) => {
    const found = await world.db.query<{ row: string }>(`select t::text as row from ${table} t order by 1`);
    return [table, found.map(({ row }) => row)] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

const restore = (ids: string[]) => restoreArchived(deps(), { ids }, ADA);
const archivedIds = async () => (await listArchivedEvents(world.db, ADA, EVERY_ARCHIVED)).items.map(({ id }) => id);

describe("a removal", () => {
  test("moves settled events into the archive, says what stays and why, and all of it comes back", async () => {
    await parkSettled(10);
    const before = await rows();
    expect(await previewRemoval(world.db, ADA, { select: ALL, nowMs: Date.now(), place: "x" })).toMatchObject({
      removable: 8,
      kept: 2,
      byStatus: { PENDING: 2, IGNORED: 2, REDRIVEN: 6 },
    });
    const id = await remove();
    expect(await operation(id)).toMatchObject({
      state: "DONE",
      changed: 8,
      refused: 2,
      refusedByReason: { "not-settled": 2 },
    });
    expect(await world.statuses()).toEqual({ PENDING: 2 });
    for (const table of TABLES.slice(0, 3)) expect((await rows())[table], table).toHaveLength(2);
    // An event that is archived is known by its key.
    expect((await rows()).event_keys).toHaveLength(10);
    expect(await world.broken()).toEqual([]);
    const ids = await archivedIds();
    expect(ids).toHaveLength(8);
    await world.db.run("update aggregates set lease_until = null");
    await removeIdleAggregates(world.db, null);
    expect(await world.db.query("select from aggregates")).toEqual([]);
    expect(await restore(ids)).toEqual({ restored: 8, duplicates: 0, refused: [], next: null });
    expect(await rows()).toEqual(before);
    expect(await archivedIds()).toEqual([]);
    // Their versions are in the rows of their aggregates again.
    expect(await world.broken()).toEqual([]);
  });

  test("waits for the confirmation of what was redriven: its redrive counts on it", async () => {
    await world.park(3);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    const unconfirmed = await remove();
    expect(await operation(unconfirmed)).toMatchObject({ changed: 0, refusedByReason: { unconfirmed: 3 } });
    await confirmEvents(world.deps, { source: "orders", eventIds: ["event-0001"] }, ADA);
    const preview = await previewRemoval(world.db, ADA, { select: ALL, nowMs: Date.now(), place: "x" });
    expect(preview).toMatchObject({ removable: 1, kept: 2, keptByReason: { unconfirmed: 2 } });
    await remove();
    expect(await world.event("event-0001")).toBeUndefined();
    expect(await world.statuses()).toEqual({ REDRIVEN: 2 });
  });

  test("names each event once in one audit entry, and finds it again by what it is", async () => {
    await parkSettled(6);
    const id = await remove();
    const [entry] = await world.db.query(
      `select a.actor, a.reason, a.action, count(s.event_id)::int as events from audit_entries a
         join bulk_operations o on o.audit_id = a.id join audit_subjects s on s.entry_id = a.id
        where o.id = $1 group by a.id`,
      [id],
    );
    expect(entry).toEqual({ actor: "ada", reason: "the disk is full", action: "event.removed", events: 4 });
    const found = async (query: Partial<typeof EVERY_ARCHIVED>) =>
      (await listArchivedEvents(world.db, ADA, { ...EVERY_ARCHIVED, ...query } as typeof EVERY_ARCHIVED)).items.map(
        ({ eventId }) => eventId,
      );
    expect(await found({ aggregateId: "order-4" } as never)).toEqual(["event-0004"]);
    expect(await found({ eventId: "event-0002" } as never)).toEqual(["event-0002"]);
    expect(await found({ operation: id } as never)).toHaveLength(4);
    expect(await found({ source: "billing" } as never)).toEqual([]);
    expect(await found({ errorCode: "UPSTREAM_5XX" } as never)).toHaveLength(4);
    const clerk: Viewer = { ...ADA, sources: ["billing"] };
    expect((await listArchivedEvents(world.db, clerk, EVERY_ARCHIVED)).items).toEqual([]);
    await expect(restoreArchived(deps(), { ids: await archivedIds() }, clerk)).rejects.toMatchObject({
      code: "unknown-event",
    });
  });

  test("writes an object for each source, and cuts a chunk whose payloads are many bytes", async () => {
    await addSource(world.db, "billing");
    const payload = Buffer.alloc(3_000_000, 120);
    const letters = Array.from({ length: 6 }, (_, n) => ({
      source: n % 2 ? "orders" : "billing",
      letter: deadLetter({ eventId: `large-${n}`, payload, aggregateId: null, version: null }),
    }));
    for (const letter of letters) await parkEvents(world.deps, [letter], ADA);
    // A mend has made the current revisions small: what is archived is all of them.
    await world.db.run(
      `insert into event_revisions (id, revision, cause, base, actor, at, payload, content_type)
       select id, 2, 'mend', 1, 'ada', now(), '{}', 'application/json' from dlq_events`,
    );
    await world.db.run("update dlq_events set status = 'IGNORED', revision = 2");
    await world.db.run("update dlq_event_facts set payload_bytes = 2");
    await remove();
    expect(await world.statuses()).toEqual({});
    const objects = await world.db.query<{ source: string; events: number }>(
      "select source, events from archive_objects order by id",
    );
    expect(objects.reduce((sum, { events }) => sum + events, 0)).toBe(6);
    expect(new Set(objects.map(({ source }) => source))).toEqual(new Set(["orders", "billing"]));
    // Five payloads make a chunk: two objects of the first, and one of the second.
    expect(objects).toHaveLength(3);
    await world.db.run("truncate dlq_levels, dlq_group_levels, dlq_flow");
    const ids = await archivedIds();
    expect(await restore(ids)).toMatchObject({ restored: 6 });
    await world.db.run("truncate dlq_levels, dlq_group_levels, dlq_flow, dlq_events, aggregate_lines, archived_events");
  });

  test("does not let an aggregate go back behind a version that was processed", async () => {
    const version = (n: bigint) => ({ source: "orders", letter: deadLetter({ eventId: `v${n}`, version: n }) });
    await parkEvents(world.deps, [version(5n)], ADA);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    await confirmByQuiet();
    await remove();
    expect(await world.event("v5")).toBeUndefined();
    await parkEvents(world.deps, [version(4n), version(6n)], ADA);
    expect(await world.event("v4")).toMatchObject({ admission: "superseded" });
    expect(await world.event("v6")).toMatchObject({ admission: null });
  });

  test("leaves an event without a body where it is, and its neighbours go", async () => {
    await parkSettled(6);
    await world.db.run(
      "delete from dlq_event_bodies where id = (select id from dlq_events where event_id = 'event-0004')",
    );
    const id = await remove();
    expect(await operation(id)).toMatchObject({
      state: "DONE",
      changed: 3,
      refusedByReason: { "not-settled": 2, "no-body": 1 },
    });
    await world.db.run(
      "update dlq_event_facts f set payload_bytes = 0 from dlq_events e where e.id = f.id and e.event_id = 'event-0004'",
    );
    await world.db.run(
      "insert into dlq_event_bodies (id, payload, content_type) select id, '', 'x' from dlq_events where event_id = 'event-0004'",
    );
  });

  test("holds its events while the archive takes them: a release waits, and finds nothing", async () => {
    await parkSettled(6);
    const id = await request();
    const [ignored] = await world.idsOf(["event-0002"]);
    let released: Promise<unknown> | null = null;
    let ended = false;
    const waits = async () => {
      const rows = await world.db.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return rows.length > 0 || ended;
    };
    const meanwhile = faulty({
      put: async (key, bytes) => {
        released ??= releaseEvents(world.deps, { select: { ids: [ignored!] }, reason: "needed" }, ADA).finally(() => {
          ended = true;
        });
        await expect.poll(waits).toBe(true);
        await archive.put(key, bytes);
      },
    });
    await work(id, meanwhile);
    expect(await released).toMatchObject({ changed: 0, refused: { "not-ignored": 1 } });
    expect(await archivedIds()).toContain(ignored);
  });
});

describe("what meets a removal", () => {
  /** The removal of everything, with `other` begun while the archive takes its events, and waiting for them. */
  async function whileArchiving(other: () => Promise<unknown>): Promise<unknown> {
    const id = await request();
    let outcome: Promise<unknown> | null = null;
    const own = faulty({
      put: async (key, bytes) => {
        outcome ??= other();
        await expect.poll(async () => (await waiting()) > 0).toBe(true);
        await archive.put(key, bytes);
      },
    });
    await work(id, own);
    return outcome;
  }
  const waiting = async () =>
    (
      await world.db.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
    ).length;

  test.each([
    ["is restored, and bounces with its history", () => archive, "bounced", { status: "PENDING", bounces: 1 }, 0],
    ["is parked as a new event where the archive gives nothing back", () => faulty(AWAY), "parked", { bounces: 0 }, 1],
    [
      "is parked as a new event where it takes too long to be restored",
      () => faulty(SLOW),
      "parked",
      { bounces: 0 },
      1,
    ],
    ["is parked as a new event where no archive is configured", () => null, "parked", { bounces: 0 }, 1],
  ])("an event that comes back %s (I1)", async (_, own, outcome, event, archivedStill) => {
    await world.park(1, () => ({ eventId: "comes-back" }));
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    await confirmEvents(world.deps, { source: "orders", eventIds: ["comes-back"] }, ADA);
    const letter = deadLetter({
      eventId: "comes-back",
      aggregateId: null,
      version: null,
      redrive: { redriveId: id, attempt: 1 },
    });
    const arrive = () => parkEvents({ ...world.deps, archive: own() }, [{ source: "orders", letter }], ADA);
    expect(await whileArchiving(arrive)).toEqual([outcome]);
    expect(await world.event("comes-back")).toMatchObject(event);
    expect(await archivedIds()).toHaveLength(archivedStill);
  });

  const again = (eventId: string, change: Partial<DeadLetter> = {}) => ({
    source: "orders",
    letter: deadLetter({ eventId, aggregateId: null, version: null, ...change }),
  });

  test("an IGNORED event that arrives again is a duplicate, and stays in the archive", async () => {
    await parkSettled(4);
    await remove();
    for (const own of [archive, null, faulty(AWAY)]) {
      expect(await parkEvents(deps(own), [again("event-0002")], ADA)).toEqual(["duplicate"]);
    }
    expect(await archivedIds()).toHaveLength(2);
    expect(await world.event("event-0002")).toBeUndefined();
  });

  test("an IGNORED event that arrives with other bytes comes back for them, and stays IGNORED", async () => {
    await parkSettled(4);
    await remove();
    const [other, third] = ["1", "2"].map((text) => again("event-0002", { payload: Buffer.from(text) }));
    expect(await parkEvents(deps(archive), [other!], ADA)).toMatchObject([{ kind: "changed", revision: 2 }]);
    expect(await world.event("event-0002")).toMatchObject({ status: "IGNORED", revision: 2 });
    await world.db.run("delete from restored_events");
    await remove();
    // Each revision is known in the archive.
    for (const known of [other!, again("event-0002")])
      expect(await parkEvents(deps(null), [known], ADA)).toEqual(["duplicate"]);
    expect(await parkEvents(deps(archive), [third!], ADA)).toMatchObject([{ kind: "changed", revision: 3 }]);
  });

  test("and stays so beside an event that the archive does not give back: that one alone is parked as a new one", async () => {
    await parkSettled(5);
    await remove();
    const batch = ["event-0004", "event-0002", "event-0003"].map((eventId) => again(eventId));
    expect(await parkEvents(deps(faulty(AWAY)), batch, ADA)).toEqual(["parked", "duplicate", "duplicate"]);
    expect(await world.statuses()).toEqual({ PENDING: 3 });
  });

  test("an archive that did not answer is not asked again with each batch", async () => {
    await parkSettled(7);
    await remove();
    let asked = 0;
    const away = faulty({
      get: (key) => {
        asked++;
        return AWAY.get!(key);
      },
    });
    for (const eventId of ["event-0004", "event-0005", "event-0006"])
      expect(await parkEvents(deps(away), [again(eventId)], ADA)).toEqual(["parked"]);
    expect(asked).toBe(1);
  });

  test("a rule drops no arrival of an event that was sent and lies in the archive", async () => {
    await parkSettled(5);
    await remove();
    const when = [{ field: "errorCode", is: "equals", value: "NOISE" }];
    const rule = { name: "noise", source: "orders", when, do: { drop: true }, enabled: true, reason: "noise" };
    await createAdmissionRule(world.deps, ruleRequestSchema.parse(rule), ADA);
    const noise = { errorCode: "NOISE" };
    const outcomes = await parkEvents(deps(), [again("event-0004", noise), again("noise", noise)], ADA);
    expect(outcomes).toEqual(["bounced", "dropped"]);
    expect(await world.event("event-0004")).toMatchObject({ status: "PENDING", bounces: 1 });
  });

  test("of a batch with an archived event and new ones each gets its own outcome, in two batches at once, too", async () => {
    await parkSettled(6);
    await remove();
    const letter = (eventId: string) => ({
      source: "orders",
      letter: deadLetter({ eventId, aggregateId: null, version: null }),
    });
    const batch = () => parkEvents(deps(), ["event-0004", "new", "event-0003"].map(letter), ADA);
    const outcomes = await Promise.all([batch(), batch()]);
    expect(outcomes.map(([first]) => first).sort()).toEqual(["bounced", "duplicate"]);
    expect(outcomes.map(([, second]) => second).sort()).toEqual(["duplicate", "parked"]);
    expect(outcomes.map(([, , third]) => third)).toEqual(["duplicate", "duplicate"]);
    expect(await world.event("event-0004")).toMatchObject({ status: "PENDING", bounces: 1 });
  });

  test("a confirmation of an event that has left changes nothing", async () => {
    await parkSettled(3);
    const confirm = () => confirmEvents(world.deps, { source: "orders", eventIds: ["event-0002"] }, ADA);
    await whileArchiving(() => releaseEvents(world.deps, { select: ALL, reason: "needed" }, ADA));
    expect(await confirm()).toMatchObject({ changed: 0 });
    expect(await archivedIds()).toHaveLength(1);
  });

  test("a cancel ends it between two chunks, also while the archive says nothing", async () => {
    await parkSettled(5);
    const id = await request();
    let asked = false;
    const silent = faulty({
      put: async () => {
        asked = true;
        await cancelBulkOperation(world.deps, { id }, ADA);
      },
      get: async (key) => archive.get(key),
    });
    await expect(work(id, silent)).rejects.toMatchObject({ code: "archive-unavailable" });
    expect(asked).toBe(true);
    expect(await operation(id)).toMatchObject({ state: "CANCELLED", changed: 0 });
    expect(await archivedIds()).toEqual([]);
    expect(await world.statuses()).toEqual({ PENDING: 2, IGNORED: 2, REDRIVEN: 1 });
  });
});

describe("the order of an aggregate", () => {
  const version = (n: bigint, eventId = `v${n}`) => ({ source: "orders", letter: deadLetter({ eventId, version: n }) });
  const ignore = (eventId: string) =>
    world.idsOf([eventId]).then((ids) => ignoreEvents(world.deps, { select: { ids }, reason: "known" }, ADA));

  test("is kept: an IGNORED version stays while later ones wait behind it, and goes when they have left", async () => {
    await parkEvents(world.deps, [version(3n), version(4n)], ADA);
    await ignore("v3");
    const preview = () => previewRemoval(world.db, ADA, { select: ALL, nowMs: Date.now(), place: "x" });
    expect(await preview()).toMatchObject({
      removable: 0,
      bytes: 0,
      kept: 2,
      keptByReason: { "holds-later": 1, "not-settled": 1 },
    });
    const kept = await remove();
    expect(await operation(kept)).toMatchObject({
      changed: 0,
      refusedByReason: { "holds-later": 1, "not-settled": 1 },
    });
    await ignore("v4");
    expect(await preview()).toMatchObject({ removable: 2, kept: 0 });
    await remove();
    expect(await world.statuses()).toEqual({});
  });

  test("is asked of its line: no event of its history is looked up", async () => {
    await parkEvents(world.deps, [version(3n), version(4n), version(5n)], ADA);
    const [first, ...later] = await world.idsOf(["v3", "v4", "v5"]);
    expect(await readHoldingLater(world.db, [first!])).toEqual(new Set([first]));
    expect(new Set(await readParkedBehind(world.db, [first!]))).toEqual(new Set(later));
    const facts = countingRows(world.db, "dlq_event_facts");
    await readHoldingLater(facts.db, [first!]);
    await readParkedBehind(facts.db, [first!]);
    expect(facts.rows()).toBe(0);
  });

  test("an event that comes back from the archive is sent again: its report has no event's name", async () => {
    await parkEvents(world.deps, [version(5n)], ADA);
    await world.worker();
    await world.ended((await world.request()).id);
    await confirmByQuiet();
    await remove();
    expect(await parkEvents(deps(), [version(5n)], ADA)).toEqual(["bounced"]);
    await world.db.run("update dlq_events set cooldown_until = null");
    const again = await world.ended((await world.request()).id);
    expect(again).toMatchObject({ delivered: 1, deduplicated: 0, refused: 0 });
  });

  test("an event of before producers comes back for a letter of its producer", async () => {
    const letter = {
      ...version(5n).letter,
      producer: "/shop/eu",
      headers: [["ce_source", "/shop/eu"]] as [string, string][],
    };
    await parkEvents(world.deps, [{ source: "orders", letter }], ADA);
    for (const table of ["event_keys", "dlq_events"]) await world.db.run(`update ${table} set producer = ''`);
    await world.worker();
    await world.ended((await world.request()).id);
    await confirmByQuiet();
    await remove();
    expect(await parkEvents(deps(), [{ source: "orders", letter }], ADA)).toEqual(["bounced"]);
  });

  test("a restored version counts by itself again, and the archived ones below it go on to count", async () => {
    await parkEvents(world.deps, [version(4n), version(5n)], ADA);
    await world.worker();
    await world.ended((await world.request()).id);
    await confirmByQuiet();
    await remove();
    const reported = async () =>
      (await world.db.query<{ version: string }>("select version::text from processed_events")).map(
        (row) => row.version,
      );
    expect(await reported()).toEqual(["5"]);
    const [v5] = (await listArchivedEvents(world.db, ADA, { ...EVERY_ARCHIVED, eventId: "v5" } as never)).items;
    await restore([v5!.id]);
    expect(await reported()).toEqual(["4"]);
    await restore(await archivedIds());
    expect(await reported()).toEqual([]);
  });
});

/** An archive that does one thing wrong. */
type Fault = {
  put?: (key: string, bytes: Uint8Array) => Promise<void>;
  get?: (key: string) => Promise<Uint8Array | null>;
};
function faulty({ put, get }: Fault): ArchiveStore {
  return {
    place: archive.place,
    put: put ?? ((key, bytes) => archive.put(key, bytes)),
    get: get ?? ((key) => archive.get(key)),
    list: (prefix) => archive.list(prefix),
    remove: (key) => archive.remove(key),
    close: async () => undefined,
  };
}

const SLOW: Fault = { get: () => Promise.reject(new DomainError("read-timeout", "The statement took too long")) };
const AWAY: Fault = {
  get: () => Promise.reject(new DomainError("archive-unavailable", "The archive does not answer")),
};

test("two workers at one operation: each event leaves once", async () => {
  await parkSettled(60);
  const before = await rows();
  const id = await request();
  await Promise.all([work(id), work(id)]);
  expect(await operation(id)).toMatchObject({ state: "DONE", changed: 58 });
  const ids = await archivedIds();
  expect(ids).toHaveLength(58);
  expect(await restore(ids)).toMatchObject({ restored: 58 });
  expect(await rows()).toEqual(before);
});

describe("an archive that fails", () => {
  test("says so on the operation, and nothing is removed until it answers", async () => {
    await parkSettled(5);
    const id = await request();
    const changed = faulty({ get: async () => Buffer.from("other bytes") });
    await expect(work(id, changed)).rejects.toMatchObject({ code: "archive-unavailable" });
    expect(await operation(id)).toMatchObject({
      state: "RUNNING",
      stalled: expect.stringContaining("did not return what was written"),
    });
    const lost = faulty({ get: async () => null });
    await expect(work(id, lost)).rejects.toMatchObject({ code: "archive-unavailable" });
    await expect(work(id, null)).rejects.toMatchObject({ code: "archive-unavailable" });
    expect(await operation(id)).toMatchObject({ stalled: expect.stringContaining("PARKADE_ARCHIVE") });
    expect(await archivedIds()).toEqual([]);
    expect(await world.statuses()).toEqual({ PENDING: 2, IGNORED: 2, REDRIVEN: 1 });
    await work(id);
    expect(await operation(id)).toMatchObject({ state: "DONE", changed: 3, stalled: null });
  });

  test("is asked for before anything is queued, and a cancel ends what waits for it", async () => {
    await parkSettled(5);
    const none = removeEvents(deps(null), { select: ALL, reason: "disk" }, ADA);
    await expect(none).rejects.toMatchObject({ code: "archive-unavailable" });
    const id = await request();
    await expect(work(id, null)).rejects.toThrow();
    await cancelBulkOperation(world.deps, { id }, ADA);
    expect(await operation(id)).toMatchObject({ state: "CANCELLED", stalled: null });
  });
});

describe("a restore", () => {
  test("refuses the events of an object that was changed or is missing, and brings the others", async () => {
    await parkSettled(5);
    await remove({ ids: await world.idsOf(["event-0002"]) });
    await remove({ ids: await world.idsOf(["event-0003"]) });
    await remove({ ids: await world.idsOf(["event-0004"]) });
    const keys = await world.db.query<{ key: string; eventId: string }>(
      `select o.key, a.event_id as "eventId" from archive_objects o join archived_events a on a.object_id = o.id order by 2`,
    );
    const bytes = Buffer.from((await archive.get(keys[0]!.key))!);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(join(folder(), keys[0]!.key), bytes);
    await archive.remove(keys[1]!.key);
    const answer = await restore(await archivedIds());
    expect(answer).toMatchObject({ restored: 1, duplicates: 0 });
    expect(answer.refused.map(({ detail }) => detail).sort()).toEqual([
      expect.stringContaining("SHA-256"),
      expect.stringContaining("is not in"),
    ]);
    expect(await archivedIds()).toHaveLength(2);
    expect(await world.event("event-0004")).toMatchObject({ status: "REDRIVEN" });
  });

  test("of an event that came in again is a duplicate, and of one whose source is gone it says what to do", async () => {
    await parkSettled(5);
    await remove();
    const [id] = (await listArchivedEvents(world.db, ADA, { ...EVERY_ARCHIVED, eventId: "event-0004" } as never)).items;
    const letter = deadLetter({ eventId: "event-0004", aggregateId: null, version: null });
    // Without an archive it is a new event.
    expect(await parkEvents(world.deps, [{ source: "orders", letter }], ADA)).toEqual(["parked"]);
    expect(await restore([id!.id])).toEqual({ restored: 0, duplicates: 1, refused: [], next: null });
    await world.db.run("update sources set name = 'renamed' where name = 'orders'");
    const answer = await restore((await archivedIds()).slice(0, 1));
    expect(answer.refused[0]!.detail).toContain('source "orders" does not exist');
    await world.db.run("delete from dlq_events where event_id = 'event-0004'");
    await world.db.run("truncate dlq_levels, dlq_group_levels, dlq_flow, dlq_events, aggregate_lines, archived_events");
  });

  test("in two requests at once brings each event once", async () => {
    await parkSettled(40);
    const before = await rows();
    await remove();
    const ids = await archivedIds();
    const answers = await Promise.all([1, 2, 3].map(() => restore(ids).catch(() => null)));
    expect(answers.reduce((sum, answer) => sum + (answer?.restored ?? 0), 0)).toBe(38);
    expect(await rows()).toEqual(before);
  });
});
