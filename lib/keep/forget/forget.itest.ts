import { createHmac } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { removeLeftovers } from "@/lib/keep/archive/remove-leftovers";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";
import type { ForgetRequest } from "@/lib/keep/forget/forget.shapes";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { patternsOf } from "@/lib/keep/forget/forget-key.pure";
import { readForget } from "@/lib/keep/forget/forgets.read";
import { previewForget } from "@/lib/keep/forget/preview-forget";
import { TRACES } from "@/lib/keep/forget/traces.write";
import { workForget, workForgets } from "@/lib/keep/forget/work-forget";
import { removeEvents } from "@/lib/keep/removal/remove-events";
import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { archiveOfEachTest } from "@/lib/testing/test-archive";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const WHO = "grace.hopper@example.org";
/** As links of alerts have it. */
const IN_ADDRESS = encodeURIComponent(WHO);
const KEY = { tag: { name: "customer", value: WHO } } satisfies ForgetRequest["key"];

const { archive, folder } = archiveOfEachTest();

const deps = (own: ArchiveStore | null = archive) => ({ ...world.deps, archive: own });

async function forget(what: Partial<ForgetRequest> = {}, own: ArchiveStore | null = archive) {
  const request = { key: KEY, reason: "request 2026/311", idempotency: null, ...what };
  const { id } = await forgetData(world.deps, request, ADA);
  await workForget(deps(own), id, new AbortController().signal);
  await removeLeftovers(deps(own));
  return readForget(world.db, ADA, id);
}

async function remove(eventIds: string[]): Promise<void> {
  const select = { ids: await world.idsOf(eventIds) };
  await ignoreEvents(deps(), { select, reason: "test orders" }, ADA);
  const { id } = await removeEvents(deps(), { select, reason: "the disk is full" }, ADA);
  await workBulkOperation(deps(), id!, new AbortController().signal);
}

/** Of the person, and of another one beside. */
const hers = (index: number) => ({
  eventId: `order-${index}-of-${WHO}`,
  aggregateId: `account-${WHO}`,
  version: BigInt(index + 1),
  tags: { customer: WHO },
  traceId: `trace-${WHO}`,
  payload: Buffer.from(JSON.stringify({ email: WHO, n: index })),
  headers: [["x-user", WHO]] as [string, string][],
  error: { type: `Unknown<${WHO}>`, message: `no account ${WHO}`, stack: `at charge(${WHO})` },
  origin: { queue: "orders", user: WHO },
});
const others = (index: number) => ({
  eventId: `other-${index}`,
  aggregateId: `account-${index}`,
  tags: { customer: `c-${index}` },
});

/** Names of all columns of the store that can hold a text, with what a text in them looks like. */
async function textColumns(): Promise<{ table: string; column: string; type: string }[]> {
  return world.db.query(
    `select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as "table", a.attname as "column", format_type(a.atttypid, null) as type
       from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname in ('public', 'bullmq') and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0
        and not a.attisdropped and format_type(a.atttypid, null) in ('text', 'json', 'jsonb', 'bytea', 'text[]', 'character varying')
      order by 1, 2`,
  );
}

/** Where the text stands in the store, in whatever column, and in the objects of the archive. */
async function placesOf(text: string): Promise<string[]> {
  const places: string[] = [];
  for (const { table, column, type } of await textColumns()) {
    const holds =
      type === "bytea"
        ? `position(convert_to($1, 'UTF8') in "${column}") > 0 or strpos(encode("${column}", 'base64'), encode(convert_to($1, 'UTF8'), 'base64')) > 0`
        : `strpos("${column}"::text, $1) > 0`;
    const [row] = await world.db.query<{ n: number }>(`select count(*)::int as n from ${table} where ${holds}`, [text]);
    if (row!.n > 0) places.push(`${table}.${column}: ${row!.n}`);
  }
  for (const entry of await readdir(folder(), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    const plain = entry.name.endsWith(".zst") ? zstdDecompressSync(bytes) : bytes;
    if (plain.includes(text) || entry.name.includes(text)) places.push(`archive: ${entry.name}`);
  }
  return places;
}

/** Everywhere else where the product may have put a name. */
async function leaveTraces(): Promise<void> {
  const run = (sql: string, values: unknown[] = [WHO]) => world.db.run(sql, values);
  const filter = { filter: { tags: { customer: [WHO] } } };
  await appendAuditOf({ filter: { "tag.customer": WHO, q: `mail of ${WHO}\n${WHO}` } });
  await run(
    `insert into saved_views (id, name, filter, created_by) values (gen_random_uuid(), 'of ' || $1, jsonb_build_object('tags', jsonb_build_object('customer', jsonb_build_array($1::text))), 'ada')`,
  );
  await run(
    `insert into controls (id, kind, scope, value, reason, origin, created_by) values (gen_random_uuid(), 'blacklist', 'aggregateId', 'account-' || $1, 'of ' || $1, 'person', 'ada')`,
  );
  await run(
    `insert into idempotency_keys (actor, key, fingerprint, response, expires_at) values ('ada', 'k', 'x', json_build_object('answer', json_build_object('rejected', $1::text)), now() + interval '1 h')`,
  );
  await run(
    `insert into bulk_operations (id, kind, state, selection, cutoff, expected, expected_kind, audit_id, created_by, reason, finished_at)
     select gen_random_uuid(), 'ignore', 'DONE', $2::jsonb, gen_random_uuid(), 1, 'exact', (select id from audit_entries where action = 'event.exported'), 'ada', 'of ' || $1, now()`,
    [WHO, JSON.stringify(filter)],
  );
  await run(
    `insert into recipes (id, name, version, recipe, created_by) values (gen_random_uuid(), 'fix', 1, jsonb_build_object('value', $1::text), 'ada')`,
  );
  await run(
    `insert into payload_schemas (id, source_id, version, body, current, origin, created_by, reason)
     select gen_random_uuid(), id, 7, json_build_object('const', $1::text), false, 'inferred', 'ada', $1 from sources where name = 'orders'`,
  );
  await run(
    `insert into admission_samples (id, rule_id, source_id, outcome, event_id, error_code, error_message, at)
     select gen_random_uuid(), gen_random_uuid(), id, 'parked', 'order-0-of-' || $1, 'X', 'no account ' || $1, now() from sources where name = 'orders'`,
  );
  await run(
    `insert into admission_drops (event_id, source_id) select 'order-0-of-' || $1, id from sources where name = 'orders'`,
  );
  await run(
    `insert into outbox (id, aggregate_id, event_type, payload, destination) values ('m', 'order-1-of-' || $1, 'confirmed', convert_to(json_build_object('eventId', $1::text)::text, 'UTF8'), 'x')`,
  );
  await run(
    `insert into redrive_rule_trials (id, digest, result, created_by) values (gen_random_uuid(), 'd', jsonb_build_object('sample', $1::text, 'link', 'https://logs.example/?q=%22' || $2 || '%22'), 'ada')`,
    [WHO, IN_ADDRESS],
  );
  await run(`update sources set mode_reason = 'asked by ' || $1 where name = 'orders'`);
  await run(`update dlq_groups set message_pattern = 'no account ' || $1 where message_pattern is not null`);
  await run(
    `insert into event_revisions (id, revision, cause, base, actor, reason, at, payload, content_type)
     select id, 2, 'edit', 1, 'ada', 'asked by ' || $1, now(), convert_to(json_build_object('email', $1::text)::text, 'UTF8'), 'application/json'
       from dlq_events where event_id like 'order-3-%'`,
  );
  await run(
    `insert into event_bounces (id, bounce, at, sent, error_code, error_message, headers)
     select id, 1, now(), 1, error_code, $1, jsonb_build_array(jsonb_build_array('x-user', $1::text)) from dlq_events where event_id like 'order-3-%'`,
  );
}

async function appendAuditOf(after: unknown): Promise<void> {
  await world.db.transaction((tx) =>
    appendAudit(tx, {
      ...{ actor: "ada", action: "event.exported", subjectKind: "event", subjectId: null, before: null, after },
      ...{ count: 0, atMs: Date.now(), reason: `asked by ${WHO}` },
    }),
  );
}

describe("a forget", () => {
  test("leaves nothing of a person in any column of the store and in any object of the archive, and all of others", async () => {
    await world.park(7, hers);
    await world.park(3, others);
    const before = (await placesOf("other-")).length;
    await remove([hers(5).eventId, hers(6).eventId, "other-0"]);
    await restoreArchived(deps(), { ids: (await archivedIds()).filter((_, index) => index === 0) }, ADA);
    await leaveTraces();
    const worker = await world.worker();
    const redrive = await world.request({
      select: { filter: { status: ["PENDING"], tags: { customer: [WHO] } } as never },
    } as never);
    await world.ended(redrive.id);
    await worker.stop("done");
    await world.db.run("update dlq_events set confirmed_at = now() where status = 'REDRIVEN' and confirmed_at is null");
    const filled = await placesOf(WHO);
    expect(filled.length).toBeGreaterThan(25);
    const report = await forget();
    expect(report).toMatchObject({ state: "DONE", refused: {}, keyKind: "tag", stalled: null });
    expect(report.counts).toMatchObject({
      events: 6,
      revisions: 1,
      bounces: 1,
      archivedEvents: 1,
      objectsRewritten: 1,
    });
    expect(report.counts.auditEntries).toBe(1);
    expect(await placesOf(WHO)).toEqual([]);
    expect(await placesOf(IN_ADDRESS)).toEqual([]);
    expect((await placesOf("other-")).length).toBeGreaterThanOrEqual(before);
    const [other] = await archivedIds();
    expect(await restoreArchived(deps(), { ids: [other!] }, ADA)).toMatchObject({ restored: 1, refused: [] });
    expect(await world.statuses()).toEqual({ PENDING: 2, IGNORED: 1 });
  });

  test("finds a value of which a sample of an alert has the first characters, but for two, which name nobody", async () => {
    await world.park(1, hers);
    const lengths = [1, 4, 5, 12, WHO.length - 1];
    for (const length of lengths) {
      const errorText = quoted(`${"x".repeat(158 - length)} ${WHO} was not found`);
      expect(errorText.endsWith(` ${WHO.slice(0, length)}…`)).toBe(true);
      await world.db.run(
        `insert into alerts (id, rule_id, rule_name, kind, severity, key, subject, state, since, sentence, evidence)
         values (gen_random_uuid(), gen_random_uuid(), 'New', 'new-group', 'warning', $2, '{}', 'firing', now(), 'New group', $1)`,
        [JSON.stringify({ samples: [{ eventId: "another", errorText }], groups: [] }), `k-${length}`],
      );
    }
    await forget();
    for (const length of lengths) {
      const [alert] = await world.db.query<{ text: string }>(
        "select evidence->'samples'->0->>'errorText' as text from alerts where key = $1",
        [`k-${length}`],
      );
      const end = length < 3 ? ` ${WHO.slice(0, length)}…` : " [forgotten]";
      expect(alert!.text.endsWith(end), `${length}`).toBe(true);
    }
  });

  test("finds the beginning of a value that is longer than any text", async () => {
    const signs = 'aé\\"|(1.é'.repeat(60);
    const { text, json } = patternsOf([signs], signs);
    const cut = `no account ${signs.slice(0, 130)}…`;
    const [found] = await world.db.query<{ text: boolean; json: boolean }>("select $1 ~ $3 as text, $2 ~ $4 as json", [
      cut,
      JSON.stringify({ cut }),
      text,
      json,
    ]);
    expect(found).toEqual({ text: true, json: true });
  });

  test("of an aggregate and of a pointer into the payload find the same", async () => {
    await world.park(3, hers);
    await world.park(2, others);
    await remove([hers(2).eventId]);
    await expect(forget({ key: { payload: { pointer: "/email", value: WHO } } })).rejects.toMatchObject({
      code: "invalid-request",
      fields: [{ field: "source" }],
    });
    expect(await previewForget(world.db, ADA, { key: { aggregateId: `account-${WHO}` } })).toMatchObject({
      ...{ events: 2, kept: 0, archivedEvents: 1, objects: 1 },
    });
    const report = await forget({ key: { payload: { pointer: "/email", value: WHO } }, source: "orders" });
    expect(report.counts).toMatchObject({ events: 2, archivedEvents: 1, objectsRemoved: 1 });
    expect(await placesOf(WHO)).toEqual([]);
    expect(
      await readdir(folder(), { recursive: true }).then((names) => names.filter((name) => name.endsWith(".zst"))),
    ).toEqual([]);
    expect(await world.statuses()).toEqual({ PENDING: 2 });
  });

  test("says what stays and why, and a second one finishes it", async () => {
    await world.park(4, (index) => ({ ...hers(index), aggregateId: `own-${index}`, version: null }));
    const [queued, unconfirmed] = await world.idsOf([0, 1].map((index) => hers(index).eventId));
    const worker = await world.worker();
    await world.ended((await world.request({ select: { ids: [unconfirmed!] } })).id);
    await worker.stop("the queued one waits");
    const { id: waiting } = await world.request({ select: { ids: [queued!] } });
    const report = await forget();
    expect(report.counts).toMatchObject({ events: 2 });
    expect(report.refused).toEqual({ "in-redrive": 1, unconfirmed: 1 });
    expect((await world.idsOf()).sort()).toEqual([queued!, unconfirmed!].sort());
    await changeRedrive(world.deps, { id: waiting, change: { action: "cancel" } }, ADA);
    await world.worker();
    await world.ended(waiting);
    expect(await forget()).toMatchObject({ counts: { events: 1 }, refused: { unconfirmed: 1 } });
  });

  test("of a head does not free what it holds, unless all of the aggregate goes", async () => {
    await world.park(1, () => ({ eventId: "head", aggregateId: "shared", version: 1n, tags: { customer: WHO } }));
    await world.park(1, () => ({ eventId: "tail", aggregateId: "shared", version: 2n }));
    expect((await forget()).refused).toEqual({ "holds-later": 1 });
    expect(await world.statuses()).toEqual({ PENDING: 2 });
    const report = await forget({ key: { aggregateId: "shared" } });
    expect(report).toMatchObject({ counts: { events: 2 }, refused: {} });
  });

  test.each<[string, ForgetRequest["key"]]>([
    ["a tag", KEY],
    ["an aggregate", { aggregateId: "shared" }],
    ["a payload", { payload: { pointer: "/email", value: WHO } }],
  ])("by %s takes all versions of an aggregate in whatever order they arrived, as its preview says", async (_, key) => {
    // More than one step of a forget processes.
    const versions = 230;
    await world.park(versions, (index) => ({
      ...hers(index),
      aggregateId: "shared",
      version: BigInt(versions - index),
    }));
    const what = { key, source: "orders" };
    expect(await previewForget(world.db, ADA, what)).toMatchObject({ events: versions, keptByReason: {} });
    expect(await forget(what)).toMatchObject({ counts: { events: versions }, refused: {} });
    expect(await world.statuses()).toEqual({});
  });

  test("of a processed version keeps earlier ones of its aggregate from being sent behind it", async () => {
    await world.park(1, () => ({ eventId: "newer", aggregateId: "shared", version: 2n, tags: { customer: WHO } }));
    await world.worker();
    await world.ended((await world.request()).id);
    await world.db.run("update dlq_events set confirmed_at = now()");
    await world.park(1, () => ({ eventId: "older", aggregateId: "shared", version: 1n }));
    expect((await forget()).counts).toMatchObject({ events: 1 });
    await world.ended((await world.request()).id);
    expect(await world.statuses()).toEqual({ PENDING: 1 });
    // When the last event of the aggregate is forgotten, its name is, too.
    await forget({ key: { aggregateId: "shared" } });
    expect(await world.db.query("select 1 from processed_events")).toEqual([]);
  });

  test("is begun once under its key, needs the right for all sources, and shows nobody whose data it was", async () => {
    await world.park(1, hers);
    const idempotency = { actor: "ada", key: "k-1", fingerprint: "f" };
    const ask = (viewer: Viewer = ADA) =>
      forgetData(world.deps, { key: KEY, reason: "article 17", idempotency }, viewer);
    const [one, two] = [await ask(), await ask()];
    expect(two).toEqual(one);
    const clerk: Viewer = { name: "clerk", means: "session", sources: ["orders"], actions: "all" };
    await expect(ask(clerk)).rejects.toMatchObject({ code: "forbidden" });
    await expect(readForget(world.db, clerk, one.id)).rejects.toMatchObject({ code: "unknown-forget" });
    expect(JSON.stringify(await readForget(world.db, ADA, one.id))).not.toContain(WHO);
    await Promise.all([1, 2].map(() => workForget(deps(), one.id, new AbortController().signal)));
    const entries = await world.db.query<{ action: string; after: Record<string, unknown> }>(
      "select action, after from audit_entries where subject_kind = 'forget' order by id",
    );
    expect(entries).toMatchObject([
      { action: "data.forgotten", after: { keyKind: "tag" } },
      {
        action: "data.forget-ended",
        after: {
          keyKind: "tag",
          searched: ["events", "archive", "traces", "audit"],
          counts: { events: 1 },
          refused: {},
        },
      },
    ]);
    // Who has the receipt and the key can prove that it was this key, and nobody else.
    const proof = createHmac("sha256", Buffer.from(one.receipt, "hex")).update(JSON.stringify(KEY)).digest("hex");
    expect(entries[0]!.after.keyHash).toBe(proof);
    await world.db.run("delete from idempotency_keys");
    expect(await placesOf(one.receipt)).toEqual([]);
    expect(await placesOf(WHO)).toEqual([]);
  });

  test("arrives again as a new event", async () => {
    await world.park(1, hers);
    await forget();
    const letter = deadLetter(hers(0));
    expect(await parkEvents(world.deps, [{ source: "orders", letter }], ADA)).toEqual(["parked"]);
  });
});

describe("a forget beside other work", () => {
  test("deletes what was restored before its object was reached", async () => {
    await world.park(1, others);
    await remove(["other-0"]);
    await world.park(1, hers);
    await remove([hers(0).eventId]);
    const [hersId] = (
      await world.db.query<{ id: string }>("select id from archived_events where event_id like 'order%'")
    ).map(({ id }) => id);
    let restored: Promise<unknown> | null = null;
    const slow: ArchiveStore = {
      ...archive,
      get: async (key) => {
        restored ??= restoreArchived(deps(), { ids: [hersId!] }, ADA);
        await restored;
        return archive.get(key);
      },
    };
    expect(await forget({}, slow)).toMatchObject({ counts: { events: 1 } });
    await expect(restored).resolves.toMatchObject({ restored: 1 });
    expect(await placesOf(WHO)).toEqual([]);
  });

  test("leaves the key of a newer event of the same id, and what consumers reported of it", async () => {
    await world.park(1, () => ({ eventId: "twice", tags: { customer: WHO } }));
    await remove(["twice"]);
    await world.db.run("delete from event_keys");
    await world.park(1, () => ({ eventId: "twice", tags: {} }));
    expect(await forget()).toMatchObject({ counts: { archivedEvents: 1 } });
    const again = { source: "orders", letter: deadLetter({ eventId: "twice", aggregateId: null, version: null }) };
    expect(await parkEvents(world.deps, [again], ADA)).toEqual(["duplicate"]);
  });

  test("replaces a number in JSON where it is whole, and leaves JSON behind", async () => {
    const key = { tag: { name: "customer", value: "100000" } };
    await world.park(1, () => ({ eventId: "one", tags: { customer: "100000" } }));
    await appendAuditOf({ total: 100000, share: 0.1, list: [100000, 1000000], said: "of 100000, and 1000000" });
    expect((await forget({ key })).finishedAt).not.toBeNull();
    const [entry] = await world.db.query<{ after: unknown }>(
      "select after from audit_entries where after ? 'total' order by id desc limit 1",
    );
    const gone = "[forgotten]";
    expect(entry!.after).toEqual({ total: gone, share: 0.1, list: [gone, 1000000], said: `of ${gone}, and 1000000` });
  });

  test("keeps no other forget waiting when it cannot go on, and says so", async () => {
    await world.park(1, hers);
    const first = await forgetData(world.deps, { key: KEY, reason: "one", idempotency: null }, ADA);
    const other = { tag: { name: "customer", value: "c-0" } };
    await world.park(1, others);
    const second = await forgetData(world.deps, { key: other, reason: "two", idempotency: null }, ADA);
    await world.db.run("update forgets set cursor = gen_random_uuid(), phase = 'audit' where id = $1", [first.id]);
    await workForgets(deps(), new AbortController().signal);
    expect((await readForget(world.db, ADA, first.id)).stalled).toMatch(/the log of the worker says why/);
    expect((await readForget(world.db, ADA, second.id)).finishedAt).not.toBeNull();
  });

  test("of a tag leaves what is known of an aggregate that its value names by chance", async () => {
    await world.db.run(
      `insert into processed_events (consumer, source_id, event_id, aggregate_type, aggregate_id, version)
       select 'billing', id, 'e-1', '', 'c-0', 7 from sources`,
    );
    await world.park(1, () => ({ eventId: "one", tags: { customer: "c-0" } }));
    await forget({ key: { tag: { name: "customer", value: "c-0" } } });
    expect(await world.db.query("select version from processed_events")).toEqual([{ version: 7 }]);
  });
});

test("a forget has not ended while the archive keeps what it replaced, and ends once that is gone", async () => {
  await world.park(2, hers);
  await world.park(2, others);
  await remove([hers(1).eventId, "other-0"]);
  const keeping: ArchiveStore = { ...archive, remove: () => Promise.reject(new Error("the archive is gone")) };
  const { id } = await forgetData(world.deps, { key: KEY, reason: "article 17", idempotency: null }, ADA);
  const kept = workForget(deps(keeping), id, new AbortController().signal);
  await expect(kept).rejects.toThrow("3 replaced objects are still in the archive");
  expect((await readForget(world.db, ADA, id)).finishedAt).toBeNull();
  await world.db.run("update archive_leftovers set remove_at = now()");
  await workForget(deps(), id, new AbortController().signal);
  await removeLeftovers(deps());
  expect(await placesOf(WHO)).toEqual([]);
  const ids = await archivedIds();
  expect(ids).toHaveLength(1);
  expect(await restoreArchived(deps(), { ids }, ADA)).toMatchObject({ restored: 1 });
  const objects = (await readdir(folder(), { recursive: true })).filter((name) => name.endsWith(".zst"));
  expect(objects).toHaveLength(1);
});

test("a forget has its new objects on record before the archive gets them", async () => {
  await world.park(1, hers);
  await world.park(1, others);
  await remove([hers(0).eventId, "other-0"]);
  const puts: string[] = [];
  const losing: ArchiveStore = {
    ...archive,
    put: async (key) => {
      puts.push(key);
      throw new Error("the archive is gone");
    },
  };
  await expect(forget({}, losing)).rejects.toThrow("the archive is gone");
  const known = await world.db.query<{ key: string }>("select key from archive_leftovers where not replaced");
  expect(puts).not.toEqual([]);
  expect(known.map(({ key }) => key)).toEqual(expect.arrayContaining(puts));
});

describe("a restore of what is forgotten", () => {
  test("that has read its line before brings nothing back", async () => {
    await world.park(1, hers);
    await remove([hers(0).eventId]);
    const ids = await archivedIds();
    let forgetting: Promise<unknown> | null = null;
    const slow: ArchiveStore = {
      ...archive,
      get: async (key) => {
        const bytes = await archive.get(key);
        forgetting ??= forget();
        await forgetting;
        return bytes;
      },
    };
    expect(await restoreArchived(deps(slow), { ids }, ADA)).toMatchObject({
      ...{ restored: 0, duplicates: 0, refused: [{ detail: expect.stringContaining("no longer in the archive") }] },
    });
    expect(await world.statuses()).toEqual({});
    expect(await placesOf(WHO)).toEqual([]);
  });

  test("without an archive the forget says so, and goes on when there is one", async () => {
    await world.park(1, hers);
    await remove([hers(0).eventId]);
    await expect(forget({}, null)).rejects.toMatchObject({ code: "archive-unavailable" });
    const [row] = await world.db.query<{ id: string }>("select id from forgets");
    expect((await readForget(world.db, ADA, row!.id)).stalled).toContain("PARKADE_ARCHIVE");
    await workForget(deps(), row!.id, new AbortController().signal);
    await removeLeftovers(deps());
    expect(await placesOf(WHO)).toEqual([]);
  });
});

/** Deleted with the events that they belong to, or emptied of what names them: `forgotten-events.write.ts`. */
const OF_EVENTS = [
  ...[
    "dlq_events",
    "dlq_event_facts",
    "dlq_event_bodies",
    "event_revisions",
    "event_bounces",
    "event_keys",
    "archived_events",
  ],
  ...[
    "aggregate_lines",
    "processed_events",
    "redrive_items",
    "redrive_attempts",
    "send_intents",
    "admission_drops",
    "outbox",
    "audit_entries",
  ],
];

/** Columns that name no person: words of Parkade, names of sources and of operators, hashes and counts. */
const NAMES_NOBODY: Record<string, readonly string[]> = {
  // Operators write a channel and are told by it; a message is found by its rule.
  alert_channels: ["severities"],
  alert_maintenances: ["ended_by"],
  group_mutes: ["ended_by", "ended_because"],
  // Hashes, and numbers of transactions.
  dlq_groups: ["examined", "family"],
  group_aliases: ["reason", "family", "via", "awaits"],
  // Names of fields and of built-in detectors.
  mask_rules: ["*"],
  alert_outbox: ["id", "aggregate_id", "destination", "message_key", "headers"],
  alert_rules: ["severity"],
  alerts: ["severity", "acknowledged_by", "resolved_because"],
  _prisma_migrations: ["*"],
  // Ids and hashes. A check is asked for by an operator.
  audit_anchors: ["*"],
  audit_pending: ["*"],
  audit_seals: ["*"],
  audit_verifications: ["*"],
  admission_counts: ["*"],
  intake_room: ["*"],
  aggregates: ["aggregate_id", "aggregate_type"],
  archive_leftovers: ["*"],
  archive_objects: ["*"],
  rate_buckets: ["*"],
  redrive_rule_runs: ["*"],
  retention_runs: ["*"],
  settings: ["*"],
  slice_owners: ["*"],
  // Addresses that a person wrote, with placeholders in place of values; numbers that a source promises.
  sources: ["links", "contract"],
  targets: ["*"],
  worker_heartbeats: ["*"],
  // At work, and emptied at its end.
  forgets: ["key", "names", "patterns", "counts", "refused", "key_kind", "phase"],
  // People and programs that work with the console, and not those whose data events hold: an administrator renames or disables them.
  accounts: ["*"],
  sessions: ["*"],
  known_browsers: ["*"],
  api_tokens: ["*"],
  account_links: ["*"],
  device_sign_ins: ["*"],
  sign_in_tries: ["*"],
  oidc_flows: ["*"],
  oidc_logouts: ["*"],
};
const ANYWHERE =
  /^(kind|state|scope|mode|lane|origin|status|created_by|updated_by|lifted_by|cancelled_by|asked_by|decided_by|enabled_by|also_asked|authors|source|sources|fingerprint|error_code|digest|subject_kind|outcome|worker|expected_kind|refused_by_reason|failed_by_reason|bounced_by_reason|actor|key|mode_by|recent|policies|canary|brake|brake_seen|earlier|despite|target|tag|aggregate_type|config|body|name|value|event_type)$/;

test("each column of the store that can hold a text is forgotten, or names nobody", async () => {
  const replaced = new Set(
    TRACES.flatMap(({ table, text, json = [], jsonBytes = [] }) =>
      [...text, ...json, ...jsonBytes].map((column) => `${table}.${column}`),
    ),
  );
  const left = (await textColumns()).flatMap(({ table: qualified, column }) => {
    // The queue holds ids alone.
    const [schema, table] = qualified.split(".") as [string, string];
    if (schema !== "public" || OF_EVENTS.includes(table) || /^dlq_(flow|group_flow|level|group_level)/.test(table))
      return [];
    if (replaced.has(`${table}.${column}`) || ANYWHERE.test(column)) return [];
    const named = NAMES_NOBODY[table] ?? [];
    return named.includes("*") || named.includes(column) ? [] : [`${table}.${column}`];
  });
  expect(left).toEqual([]);
});

async function archivedIds(): Promise<string[]> {
  return (await world.db.query<{ id: string }>("select id from archived_events order by id")).map(({ id }) => id);
}
