import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { addMaskRule } from "@/lib/guard/masking/mask-rules";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { countMend, previewMend } from "@/lib/repair/mends/preview-mend";
import { requestMend, requestUndoMend } from "@/lib/repair/mends/request-mend";
import { listRecipes } from "@/lib/repair/recipes/recipes.read";
import { mendCountRequestSchema, mendPreviewSchema } from "@/lib/repair/recipes/recipes.shapes";
import { deleteRecipe, saveRecipe } from "@/lib/repair/recipes/save-recipe";
import { reviseEvents } from "@/lib/repair/revisions/revise-events.write";
import type { Recipe, RecordedRecipe } from "@/lib/selection/operations/recipe.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { waitForLocks } from "@/lib/testing/waiting-for-locks";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const CHUNK = 1_000;
/** Of a second chunk, where only its beginning matters. */
const MORE = 50;
const add = (path: string, value: unknown): Recipe => ({ kind: "json-patch", patch: [{ op: "add", path, value }] });
const RENAME: Recipe = { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] };
const ada = localViewer("ada");

const world = worldOfEachTest();
afterEach(async () => {
  const left = await world.db.query(
    "select operation_id from mend_items i join bulk_operations o on o.id = i.operation_id where o.state <> 'RUNNING'",
  );
  expect(left).toEqual([]);
});

const bytes = (text: string) => new TextEncoder().encode(text);
const payloadOf = (index: number) => `{"custId": 90071992547409${String(index).padStart(5, "0")} , "n":1.0}`;
const parkMany = (count: number) => world.park(count, (index) => ({ payload: bytes(payloadOf(index)) }));

type Change = { select?: Selection; recipe?: Recipe; breaking?: boolean; key?: string; viewer?: Viewer };
async function request({
  select = { filter: {} },
  recipe = RENAME,
  breaking = false,
  key,
  viewer = ada,
}: Change = {}): Promise<string> {
  const idempotency = key === undefined ? null : { actor: viewer.name, key, fingerprint: key };
  const answer = await requestMend(
    world.deps,
    { select, recipe, reason: "renamed by the producer", breaking, idempotency },
    viewer,
  );
  expect(answer).toMatchObject({ state: "RUNNING", changed: 0, ids: null });
  return answer.id!;
}
const undo = async (operation: string) =>
  (await requestUndoMend(world.deps, { select: { operation }, reason: "the wrong field", idempotency: null }, ada)).id!;
const work = (id: string) => workBulkOperation(world.deps, id, new AbortController().signal);
const operation = async (id: string) => (await readBulkOperation(world.db, ada, id))!;
const until = (id: string, wanted: (operation: BulkOperationOut) => boolean) =>
  expect.poll(async () => wanted(await operation(id)), { interval: 20 }).toBe(true);

const GATE = 4_711;

/** Each chunk from this one on waits within its transaction, until the function that is returned lets all of them go. */
async function holdChunks(from: "first" | "second"): Promise<() => Promise<void>> {
  await world.db.run(`create function wait_at_gate() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end'`);
  await world.db.run(`create trigger gate before update on bulk_operations for each row
    when (new.cursor is distinct from old.cursor and (${from === "first"} or old.cursor is not null))
    execute function wait_at_gate()`);
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = world.db.transaction(async (tx) => {
    // It waits for the test, which may be slow: without this PostgreSQL ends it, and the gate opens.
    await tx.query("set local idle_in_transaction_session_timeout = 0");
    await tx.query("select pg_advisory_xact_lock($1)", [GATE]);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return async () => {
    released.resolve();
    await holder;
  };
}

/** So many statements wait for a lock, the one at the gate among them. */
const waiting = (count: number) => waitForLocks(world.db, count);

/** Current payloads by event id. */
async function payloads(): Promise<Map<string, string>> {
  const rows = await world.db.query<{ id: string; text: string }>(
    `select e.event_id as id, convert_from(coalesce(r.payload, b.payload), 'utf8') as text
       from dlq_events e join dlq_event_bodies b on b.id = e.id
       left join event_revisions r on r.id = e.id and r.revision = e.revision`,
  );
  return new Map(rows.map(({ id, text }) => [id, text]));
}

/** Each event has one further revision, its current one, with the bytes of the recipe. */
async function mendedOnce(count: number): Promise<void> {
  const [row] = await world.db.query(
    `select count(*)::int as revisions, count(distinct r.id)::int as events, bool_and(e.revision = 2 and r.revision = 2) as current,
            bool_and(convert_from(r.payload, 'utf8') = replace(convert_from(b.payload, 'utf8'), 'custId', 'customerId')) as exact
       from event_revisions r join dlq_events e on e.id = r.id join dlq_event_bodies b on b.id = r.id`,
  );
  expect(row).toEqual({ revisions: count, events: count, current: true, exact: true });
}

async function audited(id: string, count: number): Promise<void> {
  const { auditId } = await operation(id);
  const rows = await world.db.query<{ n: number; events: number }>(
    "select count(*)::int as n, count(distinct event_id)::int as events from audit_subjects where entry_id = $1",
    [auditId],
  );
  expect(rows).toEqual([{ n: count, events: count }]);
}

describe("a mend", () => {
  test("and its undo are shown to who sees all sources of their events, however these were named", async () => {
    await parkMany(3);
    const [event] = await world.idsOf();
    const clerk = (source: string): Viewer => ({ ...ada, means: "token", name: "eve", sources: [source] });
    for (const select of [{ ids: [event!] }, { filter: { source: ["orders"] } }]) {
      const id = await request({ select });
      await work(id);
      const undone = await undo(id);
      await work(undone);
      for (const each of [id, undone]) {
        expect(await readBulkOperation(world.db, clerk("orders"), each)).toMatchObject({ id: each, state: "DONE" });
        await expect(readBulkOperation(world.db, clerk("stock"), each)).rejects.toMatchObject({
          code: "unknown-operation",
        });
      }
    }
  });

  test("whose stored recipe is refused since an upgrade ends, changes nothing and says why", async () => {
    await parkMany(3);
    const refused: RecordedRecipe[] = [
      { kind: "form", steps: [{ op: "copy", from: "header:authorization", to: "/token" }] },
      { kind: "jsonata", expression: "$" },
    ];
    for (const recipe of refused) {
      const id = await request();
      await world.db.run(
        "update bulk_operations set options = options - 'masks' || jsonb_build_object('recipe', $2::jsonb) where id = $1",
        [id, JSON.stringify(recipe)],
      );
      await work(id);
      const refusedByReason = { "invalid-recipe": 3 };
      expect(await operation(id)).toMatchObject({ state: "DONE", changed: 0, refused: 3, refusedByReason });
    }
    expect(await world.db.query("select 1 from event_revisions")).toEqual([]);
  });

  test("goes on where its worker was killed: each event is revised once, and keeps every other byte", async () => {
    const events = CHUNK + MORE;
    await parkMany(events);
    const release = await holdChunks("second");
    const first = await world.doomedWorker();
    const id = await request();
    await until(id, ({ changed }) => changed === CHUNK);
    await waiting(1);
    first.kill("SIGKILL");
    expect(await operation(id)).toMatchObject({
      state: "RUNNING",
      changed: CHUNK,
      expected: { value: events, kind: "exact" },
    });
    await release();
    await world.worker();
    await until(id, ({ state }) => state === "DONE");
    expect(await operation(id)).toMatchObject({ changed: events, refused: 0, recipe: RENAME });
    await mendedOnce(events);
    await audited(id, events);
  });

  test("that two workers carry out is carried out once", async () => {
    await parkMany(CHUNK + MORE);
    const release = await holdChunks("first");
    const id = await request();
    const both = [work(id), work(id)];
    await waiting(2);
    await release();
    await Promise.all(both);
    expect(await operation(id)).toMatchObject({ state: "DONE", changed: CHUNK + MORE, refused: 0 });
    await mendedOnce(CHUNK + MORE);
    await audited(id, CHUNK + MORE);
  });

  test("that is asked for twice under one key is one mend, also when it has ended by then", async () => {
    await parkMany(3);
    const id = await request({ key: "k" });
    await work(id);
    const again = await requestMend(
      world.deps,
      {
        select: { filter: {} },
        recipe: RENAME,
        reason: "renamed by the producer",
        breaking: false,
        idempotency: { actor: "ada", key: "k", fingerprint: "k" },
      },
      ada,
    );
    expect(again.id).toBe(id);
    await expect(request({ key: "other" })).rejects.toMatchObject({
      code: "would-change-nothing",
      fields: [{ detail: "unchanged: 3" }],
    });
    await mendedOnce(3);
  });

  test("leaves what was queued, ignored and revised after its request as it is, but for the ignored", async () => {
    await parkMany(4);
    const ids = await world.idsOf();
    const id = await request();
    await world.request({ select: { ids: [ids[0]!] } });
    await ignoreEvents(world.deps, { select: { ids: [ids[1]!] }, reason: "known" }, ada);
    const edited = {
      id: ids[2]!,
      base: 1,
      payload: bytes("edited"),
      contentType: "text/plain",
      headers: [],
      patch: null,
    };
    await world.db.transaction((tx) =>
      reviseEvents(tx, {
        cause: "edit",
        actor: "bob",
        reason: null,
        operationId: null,
        atMs: Date.now(),
        revisions: [edited],
      }),
    );
    await work(id);
    expect(await operation(id)).toMatchObject({
      state: "DONE",
      changed: 2,
      refusedByReason: { "event-queued": 1, "stale-revision": 1 },
    });
    const now = await payloads();
    expect([...now.values()].filter((text) => text.includes("customerId"))).toHaveLength(2);
    expect([...now.values()]).toContain("edited");
  });

  test("looks for an event that would change before its transaction, which may take long", async () => {
    await parkMany(2);
    const open: number[] = [];
    const { checkPayloads } = world.deps;
    const inForce: typeof checkPayloads.inForce = async (...asked) => {
      const [row] = await world.db.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`,
      );
      open.push(row!.n);
      return checkPayloads.inForce(...asked);
    };
    const deps = { ...world.deps, checkPayloads: { ...checkPayloads, inForce } };
    const mend = { select: { filter: {} }, recipe: RENAME, reason: "renamed", breaking: false, idempotency: null };
    await requestMend(deps, mend, ada);
    expect(open).toEqual([0]);
  });

  test("is refused as a whole when it changes nothing, fails for all or breaks the schema of all", async () => {
    await world.source("strict", { schema: { type: "object", required: ["custId"] } });
    await parkMany(2);
    await world.park(2, (index) => ({ eventId: `strict-${index}`, payload: bytes('{"custId":1}') }), "strict");
    const strict: Selection = { filter: { source: ["strict"] } };
    await expect(request({ recipe: { kind: "form", steps: [{ op: "remove", at: "/absent" }] } })).rejects.toMatchObject(
      {
        code: "would-change-nothing",
      },
    );
    await expect(request({ select: strict })).rejects.toMatchObject({
      code: "would-change-nothing",
      fields: [{ detail: "schema-mismatch: 2" }],
    });
    await expect(
      request({ recipe: { kind: "json-patch", patch: [{ op: "test", path: "/custId", value: "x" }] } }),
    ).rejects.toMatchObject({ code: "would-change-nothing", fields: [{ detail: "test-failed: 4" }] });
    await expect(request({ recipe: { kind: "json-patch", patch: "[" } })).rejects.toMatchObject({
      code: "invalid-recipe",
    });
    expect(await world.db.query("select 1 from bulk_operations union all select 1 from mend_items")).toEqual([]);

    const id = await request();
    await work(id);
    expect(await operation(id)).toMatchObject({ changed: 2, refusedByReason: { "breaks-schema": 2 } });
    const all = await request({ select: strict, breaking: true });
    await work(all);
    expect(await operation(all)).toMatchObject({ changed: 2, refused: 0 });
  });

  test("names what its schema never decides apart from what breaks it, and revises the neighbours of both", async () => {
    await world.source("hostile", { schema: { properties: { a: { type: "string", pattern: "^(a+)+$" } } } });
    const stuck = `{"custId":1,"a":"${"a".repeat(60)}!"}`;
    const texts = ['{"custId":1,"a":"aa"}', stuck, '{"custId":1,"a":7}', '{"custId":1,"a":"a"}'];
    await world.park(4, (index) => ({ payload: bytes(texts[index]!) }), "hostile");
    const id = await request();
    await work(id);
    expect(await operation(id)).toMatchObject({
      changed: 2,
      refusedByReason: { "schema-timeout": 1, "breaks-schema": 1 },
    });
  });

  test("is judged by the schema that is in force when it is carried out, not when it was previewed", async () => {
    const source = await world.source("moved", { schema: { required: ["custId"] } });
    await world.park(2, (index) => ({ payload: bytes(`{"custId":1,"n":${index}}`) }), "moved");
    const select = { filter: { source: ["moved"] } };
    const recipe = add("/done", true);
    const preview = mendPreviewSchema.parse({ select, recipe });
    // A page ends after 150 ms: here no time passes.
    const deps = { ...world.deps, clock: { ...world.deps.clock, nowMs: () => 0 } };
    const { items } = await previewMend(deps, preview, ada);
    expect(items.map(({ outcome }) => outcome)).toEqual(["changed", "changed"]);
    const id = await request({ select, recipe });
    await world.db.run("update payload_schemas set current = false where source_id = $1", [source]);
    await world.db.run(
      `insert into payload_schemas (id, source_id, version, body, current, origin, created_by)
       values (gen_random_uuid(), $1, 2, $2::json, true, 'uploaded', 'tester')`,
      [source, JSON.stringify({ properties: { n: { const: 0 } } })],
    );
    await work(id);
    expect(await operation(id)).toMatchObject({ changed: 1, refusedByReason: { "breaks-schema": 1 } });
  });
});

test("a field whose name no store holds is mended, and named", async () => {
  await world.park(1, () => ({ payload: bytes('{"a\\u0000": 1}') }));
  const id = await request({
    recipe: { kind: "json-patch", patch: '[{"op":"replace","path":"/a\\u0000","value":2}]' },
  });
  await work(id);
  expect(await operation(id)).toMatchObject({ state: "DONE", changed: 1, refusedByReason: {} });
  const [row] = await world.db.query<{ patch: unknown }>("select patch from event_revisions");
  expect(row!.patch).toEqual({ places: ["/a\u2400"] });
});

describe("undo of a mend", () => {
  test("makes the arrived bytes current again, but for what was sent, queued or revised since", async () => {
    await parkMany(6);
    const ids = await world.idsOf();
    const before = await payloads();
    const id = await request();
    await work(id);
    // One is sent and comes back with other bytes' errors, one is queued, one is mended further.
    await world.db.run(
      `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at, revision)
       values ($1, gen_random_uuid(), 1, 1, 'failed', 't', 'k', now(), 2)`,
      [ids[0]],
    );
    await world.request({ select: { ids: [ids[1]!] } });
    const further = await request({ select: { ids: [ids[2]!] }, recipe: add("/more", 1) });
    await work(further);

    expect((await operation(id)).undo).toBeNull();
    const undone = await undo(id);
    expect((await operation(id)).undo).toEqual({ id: undone, running: true, changed: 0 });
    await work(undone);
    expect(await operation(undone)).toMatchObject({
      state: "DONE",
      kind: "undo-mend",
      changed: 3,
      refusedByReason: { "sent-since": 1, "event-queued": 1, "stale-revision": 1 },
    });
    expect((await operation(id)).undo).toEqual({ id: undone, running: false, changed: 3 });
    await audited(undone, 3);
    const now = await payloads();
    expect([...now].filter(([key, text]) => before.get(key) === text)).toHaveLength(3);
    const [revisions] = await world.db.query("select count(*)::int as n from event_revisions");
    expect(revisions).toEqual({ n: 7 });
  });

  test("is refused while the mend runs, for what is no mend, and for a mend that changed nothing", async () => {
    await parkMany(2);
    const id = await request();
    await expect(undo(id)).rejects.toMatchObject({ code: "illegal-transition" });
    await cancelBulkOperation(world.deps, { id }, ada);
    await expect(undo(id)).rejects.toMatchObject({ code: "would-change-nothing" });
    await expect(undo("019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60")).rejects.toMatchObject({ code: "unknown-operation" });
  });
});

describe("a preview", () => {
  /** A page ends when its time is over: with this clock it never is, however slow the machine is. */
  const withStoppedClock = () => ({ ...world.deps, clock: { ...world.deps.clock, nowMs: () => 0 } });
  const preview = (change: object, viewer = ada) =>
    previewMend(
      withStoppedClock(),
      mendPreviewSchema.parse({ select: { filter: {} }, recipe: RENAME, ...change }),
      viewer,
    );
  const count = (change: object = {}) =>
    countMend(
      withStoppedClock(),
      mendCountRequestSchema.parse({ select: { filter: {} }, recipe: RENAME, ...change }),
      ada,
    );

  beforeEach(async () => {
    await world.source("strict", { schema: { type: "object", required: ["custId"] } });
    await world.park(40, (index) => ({ payload: bytes(index % 4 === 0 ? "{}" : payloadOf(index)) }));
    await world.park(3, (index) => ({ eventId: `strict-${index}`, payload: bytes('{"custId":1}') }), "strict");
    await world.park(2, (index) => ({ eventId: `bad-${index}`, payload: bytes("{bad") }));
  });

  test("ends with its time within what it has read, goes on where it stopped, and ends with its client", async () => {
    await world.park(12, (index) => ({
      eventId: `large-${index}`,
      payload: bytes(`{"custId":"${"x".repeat(400_000)}"}`),
    }));
    let nowMs = 0;
    const looking = () => {
      nowMs += 200;
      return nowMs;
    };
    const deps = { ...world.deps, clock: { ...world.deps.clock, nowMs: looking } };
    const request = { select: { filter: {} }, recipe: RENAME };
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | null = ""; cursor !== null; pages++) {
      const page: Awaited<ReturnType<typeof preview>> = await previewMend(
        deps,
        mendPreviewSchema.parse({ ...request, limit: 50, ...(cursor === "" ? {} : { cursor }) }),
        ada,
      );
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toHaveLength(57);
    expect(new Set(seen).size).toBe(57);
    expect(pages).toBeGreaterThan(3);

    let [calls, looked] = [0, 0];
    for (let cursor: string | null = ""; cursor !== null; calls++) {
      const counted: Awaited<ReturnType<typeof count>> = await countMend(
        deps,
        mendCountRequestSchema.parse({ ...request, ...(cursor === "" ? {} : { cursor }) }),
        ada,
      );
      looked = counted.looked;
      cursor = counted.nextCursor;
    }
    expect(looked).toBe(57);
    expect(calls).toBeGreaterThan(2);

    const gone = AbortSignal.abort(new Error("the client has gone"));
    await expect(previewMend(deps, mendPreviewSchema.parse(request), ada, gone)).rejects.toThrow("has gone");
    await expect(countMend(deps, mendCountRequestSchema.parse(request), ada, gone)).rejects.toThrow("has gone");
  });

  test("pages over every event once, counts all and shows one outcome alone, as it was at its first page; stores nothing", async () => {
    const seen: Awaited<ReturnType<typeof preview>>["items"] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await preview({ limit: 7, ...(cursor ? { cursor } : {}) });
      seen.push(...page.items);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(45);
    expect(seen).toHaveLength(45);
    const by = Map.groupBy(seen, ({ outcome }) => outcome);
    expect(Object.fromEntries([...by].map(([outcome, items]) => [outcome, items.length]))).toEqual({
      changed: 30,
      unchanged: 10,
      "breaks-schema": 3,
      failed: 2,
    });
    expect(by.get("changed")![0]).toMatchObject({
      reason: null,
      differences: [
        { at: "/custId", before: expect.stringMatching(/^90071992547409\d{5}$/), after: null },
        { at: "/customerId", before: null, after: expect.stringMatching(/^90071992547409\d{5}$/) },
      ],
    });
    expect(by.get("failed")![0]).toMatchObject({ reason: "not-json", detail: "its payload is not JSON in UTF-8" });

    const counts = await count();
    expect(counts).toMatchObject({
      ...{ looked: 45, changed: 30, unchanged: 10, breaksSchema: 3, failed: { "not-json": 2 }, refused: {} },
      ...{ kind: "exact", nextCursor: null },
    });
    expect(new Set(counts.samples.map(({ outcome }) => outcome)).size).toBe(4);
    const first = await preview({ outcome: "breaks-schema", limit: 2 });
    const second = await preview({ outcome: "breaks-schema", limit: 2, cursor: first.nextCursor });
    expect([...first.items, ...second.items].map(({ outcome, detail }) => [outcome, detail])).toEqual(
      Array(3).fill(["breaks-schema", expect.stringContaining("custId")]),
    );

    const page = await preview({ limit: 44 });
    await expect(preview({ limit: 44, recipe: add("/a", 1), cursor: page.nextCursor })).rejects.toMatchObject({
      code: "invalid-cursor",
    });
    await world.park(5, (index) => ({ eventId: `later-${index}` }));
    expect((await preview({ limit: 44, cursor: page.nextCursor })).items).toHaveLength(1);
    expect(await world.db.query("select 1 from event_revisions union all select 1 from bulk_operations")).toEqual([]);
  });

  test("is of no event with masked values for users who may not reveal: preview, request and work leave it alone", async () => {
    await world.park(1, () => ({ eventId: "secret", payload: bytes('{"password":"hunter2","a":1}') }));
    await world.park(1, () => ({ eventId: "open", payload: bytes('{"a":1}') }));
    const limited: Viewer = { name: "eve", means: "session", sources: "all", actions: ["view", "edit"] };
    const select = { ids: await world.idsOf(["secret"]) };
    const recipes: Recipe[] = [
      add("/a", 2),
      add("/password", "x"),
      { kind: "form", steps: [{ op: "copy", from: "/password", to: "/b" }] },
      { kind: "form", steps: [{ op: "set", at: "/hit", value: 1, when: { at: "/password", equals: "hunter2" } }] },
    ];
    for (const recipe of recipes) {
      const { items } = await preview({ select, recipe }, limited);
      expect(items).toMatchObject([{ outcome: "refused", reason: "masked", differences: [] }]);
      await expect(request({ select, recipe, viewer: limited })).rejects.toMatchObject({
        code: "forbidden",
        message: expect.stringMatching(/eve may not reveal them: ask an administrator for the right "reveal"/),
      });
    }
    const both = { filter: { eventId: ["secret", "open"] } };
    const id = await request({ select: both, recipe: add("/a", 2), viewer: limited });
    await work(id);
    expect(await operation(id)).toMatchObject({ changed: 1, refusedByReason: { masked: 1 } });
    await expect(request({ select, viewer: { ...limited, actions: ["view"] } })).rejects.toMatchObject({
      code: "forbidden",
    });
  });
});

test("what a recipe of somebody who may reveal does with a masked value is previewed without the value", async () => {
  await addMaskRule(world.deps, { kind: "pointer", pattern: "/customer/name", enabled: true }, ada);
  const payload = bytes(JSON.stringify({ customer: { name: "Ada Lovelace" }, n: 1 }));
  await world.park(1, () => ({ eventId: "named", payload }));
  const select = { filter: { eventId: ["named"] } };
  const recipe: Recipe = { kind: "form", steps: [{ op: "copy", from: "/customer/name", to: "/note" }] };
  const { items } = await previewMend(world.deps, mendPreviewSchema.parse({ select, recipe }), ada);
  expect(items).toMatchObject([
    { outcome: "changed", differences: [{ at: "/note", before: null, after: `"${REDACTED}"` }] },
  ]);
});

test("a recipe is saved in versions, seen by those who see its source, and deleted with all of them", async () => {
  const save = (recipe: Recipe, source: string | null = "orders") =>
    saveRecipe(world.deps, { name: "rename", recipe, source }, ada);
  await save(RENAME);
  const second = await save(add("/a", 1));
  expect(second).toMatchObject({ version: 2, createdBy: "ada" });
  expect((await listRecipes(world.deps, ada)).items).toEqual([second]);
  const other: Viewer = { name: "eve", means: "session", sources: ["strict"], actions: "all" };
  expect((await listRecipes(world.deps, other)).items).toEqual([]);
  await expect(deleteRecipe(world.deps, second.id, other)).rejects.toMatchObject({ code: "unknown-recipe" });
  await expect(saveRecipe(world.deps, { name: "x", recipe: RENAME, source: null }, other)).rejects.toMatchObject({
    code: "forbidden",
  });
  await expect(save(RENAME, null)).rejects.toMatchObject({ code: "name-taken" });
  await expect(save({ kind: "json-patch", patch: "(" })).rejects.toMatchObject({ code: "invalid-recipe" });
  await deleteRecipe(world.deps, second.id, ada);
  expect(await world.db.query("select 1 from recipes")).toEqual([]);
  const audit = await world.db.query("select action from audit_entries where subject_kind = 'recipe' order by id");
  expect(audit.map(({ action }) => action)).toEqual(["recipe.saved", "recipe.saved", "recipe.deleted"]);
});
