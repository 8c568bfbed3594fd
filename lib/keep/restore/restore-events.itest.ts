import { describe, expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type Arrival, readOrReject } from "@/lib/intake/arrival.shapes";
import { readEventIn } from "@/lib/intake/event-in.shapes";
import { parkEvents } from "@/lib/intake/park-events";
import { exportRecords } from "@/lib/keep/records/export-records";
import { restoreEvents, type StoredArrival } from "@/lib/keep/restore/restore-events";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

// What the flow counted in the store that the events came from is not moved with them.
const world = worldOfEachTest({ invariants: false });
const broken = async () => (await world.broken()).filter((row) => (row as { rollup?: string }).rollup !== "flow");
const ADA = localViewer("ada");
const DAY_MS = 86_400_000;

async function exported(): Promise<string[]> {
  const lines: string[] = [];
  const deps = { ...world.deps, lists: world.db };
  for await (const piece of await exportRecords(deps, ADA, { filter: {}, reason: "a copy" }, Date.now()))
    lines.push(...piece);
  return lines;
}

function read(line: string): Arrival | { rejection: unknown } {
  const bytes = Buffer.from(line.trimEnd());
  const options = { payloadBytesMax: 1e6, headersMax: 200, defaultSource: null };
  return readOrReject(() => readEventIn(bytes, { start: 0, end: bytes.length }, options));
}

function restorable(lines: readonly string[]): StoredArrival[] {
  return lines.map((line) => {
    const arrival = read(line);
    if ("rejection" in arrival || !arrival.stored) throw new Error(`no event of an export: ${JSON.stringify(arrival)}`);
    return arrival as StoredArrival;
  });
}

const restore = (lines: readonly string[], viewer: Viewer = ADA) =>
  restoreEvents(world.deps, restorable(lines), viewer);

const TABLES = ["dlq_events", "dlq_event_facts", "dlq_event_bodies", "event_revisions", "event_bounces", "event_keys"];

/** Every column of everything that an event consists of, as text. */
async function rows(db: Db): Promise<Record<string, unknown[]>> {
  const read = TABLES.map(async (table) => {
    const found = await db.query<{ row: string }>(`select t::text as row from ${table} t order by t::text`);
    return [table, found.map(({ row }) => row)] as const;
  });
  const groups = await db.query<{ row: string }>(
    "select (fingerprint, error_code, exception_type, message_pattern, first_frame)::text as row from dlq_groups order by 1",
  );
  return { ...Object.fromEntries(await Promise.all(read)), groups: groups.map(({ row }) => row) };
}

/** As retention or another machine leaves it: nothing of the events, and of what counted them. */
async function forget(): Promise<void> {
  await world.db.run(
    `truncate ${TABLES.join(", ")}, dlq_groups, dlq_levels, dlq_group_levels, dlq_flow, audit_entries, audit_subjects`,
  );
}

const STRANGE = [
  deadLetter({ eventId: "inline", payload: Buffer.from('{ "n": 12345678901234567890.10,"n":2 , "s":"\\ud800" }') }),
  deadLetter({ eventId: "lines", payload: Buffer.from('{\n  "pretty": true\n}\n') }),
  deadLetter({ eventId: "space", payload: Buffer.from(' {"a":1}') }),
  deadLetter({ eventId: "mark", payload: Buffer.from("\ufeff{}") }),
  deadLetter({ eventId: "bytes", payload: Buffer.from([0, 255, 10, 13, 128]), contentType: "application/x-avro" }),
  deadLetter({ eventId: "empty", payload: Buffer.alloc(0), contentType: "text/plain" }),
  deadLetter({ eventId: "deep", payload: Buffer.from("[".repeat(300) + "]".repeat(300)) }),
  deadLetter({
    eventId: "bare \u2028 \u00e9 \ud83d\ude00 \\ \" '",
    aggregateId: null,
    aggregateType: null,
    version: null,
    eventType: null,
    traceId: null,
    error: { type: null, message: null, stack: null },
    attempts: 0,
    failedAtMs: null,
    headers: [
      ["", "no name"],
      ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      ["raw", "AAH/", "bytes"],
      ["typed", '{"!":"long","value":"9223372036854775807"}', "amqp"],
    ],
    tags: {},
    origin: { convention: "none", key: null, nested: { list: [1, null, { a: "\n" }] } },
  }),
  deadLetter({ eventId: "far", version: 9_223_372_036_854_775_807n, aggregateId: "other" }),
  deadLetter({ eventId: "7", producer: "/shop/eu" }),
  deadLetter({ eventId: "7", producer: `/shop/${"\u20ac".repeat(300)}` }),
  deadLetter({
    eventId: "7",
    producer: "/shop/eu",
    payload: Buffer.from("{}"),
    origin: { offset: "7" },
    headers: [["b", ""]],
  }),
];

async function parkStrange(): Promise<void> {
  await parkEvents(
    world.deps,
    STRANGE.map((letter) => ({ source: "orders", letter })),
    ADA,
  );
}

/** What edits, mends, bounces and redrives leave, written at once: each column has another value than its default. */
async function giveHistory(): Promise<void> {
  const { db } = world;
  const [id] = await world.idsOf(["bytes"]);
  await db.run(
    `update dlq_events set attempts = 2147483647, bounces = 2, redrives = 3, failures = 4, revision = 3,
            last_attempt_at = '2026-01-02T03:04:05.678901Z', redrive_at = '2026-01-02T03:04:06.000001Z',
            cooldown_until = '2036-01-02T03:04:07Z', last_operator = 'bob "b"', admission = 'confirm',
            bounced_redrives = array['00000000-0000-7000-8000-000000000001','00000000-0000-7000-8000-000000000002']::uuid[]
      where id = $1`,
    [id],
  );
  await db.run(
    `insert into event_revisions (id, revision, cause, base, bounce, actor, reason, at, patch, operation_id, payload, content_type, headers)
     values ($1, 2, 'edit', 1, null, 'ada', 'wrong "sku"', '2026-01-02T03:04:08.123456Z',
             '[{"op":"replace","value":12345678901234567890}]', null, '\\x000aff', 'text/plain', '[["b","2"],["","x"]]'),
            ($1, 3, 'mend', 2, null, 'ada', null, '2026-01-02T03:04:09Z', '{}', '00000000-0000-7000-8000-000000000003',
             '\\x', 'text/plain', '[]'),
            ($1, 4, 'bounce', 2, 2, 'orders', null, '2026-01-02T03:04:10Z', null, null, '\\x7b7d', 'application/json', '[]')`,
    [id],
  );
  await db.run("update event_revisions set hash = sha256(payload) where id = $1", [id]);
  await db.run(
    "update dlq_event_facts set payload_bytes = 0, last_error_code = 'LATER', last_error = 'later' where id = $1",
    [id],
  );
  await db.run(
    `insert into event_bounces (id, bounce, at, redrive_id, sent, error_code, error_type, error_message, error_detail, headers, origin, admission)
     values ($1, 1, '2026-01-02T03:04:05Z', null, 1, 'EARLIER', null, null, null, '[]', '{}', null),
            ($1, 2, '2026-01-02T03:04:10Z', '00000000-0000-7000-8000-000000000001', 2, 'LATER', 'E', 'm', 's', '[["a",null]]',
             '{"offset":12345678901234567890}', '{"rules":[]}')`,
    [id],
  );
  await db.run(
    "update dlq_event_bodies set admission = '{\"n\":12345678901234567890}', origin = '{\"big\":12345678901234567890}' where id = $1",
    [id],
  );
}

describe("an export that is restored", () => {
  test("is what it was, byte for byte and column for column (I14)", async () => {
    await parkStrange();
    await giveHistory();
    const before = await rows(world.db);
    expect(before.event_revisions).toHaveLength(4);
    const lines = await exported();
    await forget();
    expect(await restore(lines)).toEqual(lines.map(() => "restored"));
    expect(await rows(world.db)).toEqual(before);
    expect(await exported()).toEqual(lines);
    expect(await restore(lines)).toEqual(lines.map(() => "duplicate"));
    expect(await rows(world.db)).toEqual(before);
  });

  test("can be redriven: what was QUEUED is PENDING, what was sent or ignored stays so", async () => {
    await world.park(6);
    await world.db.run("update dlq_events set status = 'REDRIVEN', redrive_at = now() where event_id = 'event-0001'");
    await world.db.run("update dlq_events set status = 'IGNORED' where event_id = 'event-0002'");
    await world.db.run("update dlq_events set status = 'QUEUED' where event_id = 'event-0003'");
    const lines = await exported();
    await forget();
    await restore(lines);
    expect(await world.statuses()).toEqual({ PENDING: 4, REDRIVEN: 1, IGNORED: 1 });
    expect(await broken()).toEqual([]);
    await world.worker();
    const { id } = await world.request();
    expect(await world.ended(id)).toMatchObject({ delivered: 4 });
    expect(await broken()).toEqual([]);
  });

  test("is stored once when it is restored by two at the same time, and when its source is unknown not at all", async () => {
    await world.park(200);
    const lines = await exported();
    await forget();
    const both = await Promise.all([restore(lines), restore(lines.toReversed())]);
    const restored = both.flat().filter((outcome) => outcome === "restored");
    expect(restored).toHaveLength(200);
    expect(both.flat().filter((outcome) => outcome === "duplicate")).toHaveLength(200);
    const elsewhere = lines.map((line) => line.replace('"source":"orders"', '"source":"gone"'));
    expect(new Set(await restore(elsewhere))).toEqual(new Set(["unknown-source"]));
  });

  test("goes to the day of its id, and is refused where no day can be made for it", async () => {
    await addSource(world.db, "billing");
    await parkEvents(world.deps, [{ source: "orders", letter: deadLetter() }], ADA);
    const [line] = await exported();
    const { stored } = JSON.parse(line!);
    const at = (ms: number, name: string) =>
      line!.replace(stored.id, uuidv7(ms)).replace('"event-1"', JSON.stringify(name)).replace("orders", "billing");
    const now = Date.now();
    const outcomes = await restore([
      at(now - 90 * DAY_MS, "old"),
      at(now + 2 * DAY_MS, "to come"),
      at(now - 500 * DAY_MS, "ancient"),
      line!.replace('"event-1"', '"another"'),
    ]);
    expect(outcomes).toEqual([
      "restored",
      { rejection: expect.objectContaining({ field: "stored.id", detail: expect.stringContaining("in the future") }) },
      {
        rejection: expect.objectContaining({ field: "stored.id", detail: expect.stringContaining("leave stored out") }),
      },
      { rejection: expect.objectContaining({ field: "stored.id", detail: expect.stringContaining("another event") }) },
    ]);
    expect(await world.event("another")).toBeUndefined();
    const keys = await world.db.query("select from event_keys where event_id = 'another'");
    expect(keys).toEqual([]);
  });

  test("is refused while it lies in the archive, under whatever source: it is restored from there", async () => {
    await addSource(world.db, "billing");
    await world.park(1);
    const lines = await exported();
    await forget();
    await world.db.run(
      `insert into archived_events (id, object_id, source_id, source, event_id, error_code, status, payload_bytes)
       select $1, $1, id, name, 'event-0000', 'X', 'IGNORED', 1 from sources where name = 'orders'`,
      [JSON.parse(lines[0]!).stored.id],
    );
    const foreign = lines.map((line) => line.replace('"source":"orders"', '"source":"billing"'));
    for (const line of [lines, foreign]) {
      expect(await restore(line)).toEqual([
        { rejection: expect.objectContaining({ detail: expect.stringContaining("lies in the archive") }) },
      ]);
    }
    expect(await world.db.query("select from archived_events")).toHaveLength(1);
    expect(await world.statuses()).toEqual({});
  });

  test("with an origin of null is stored with none, and its page opens", async () => {
    await world.park(1);
    const [line] = await exported();
    await forget();
    expect(await restore([line!.replace(/"origin":\{[^}]*\}/, '"origin":null')])).toEqual(["restored"]);
    const [id] = await world.idsOf();
    expect((await readEventDetail(world.db, ADA, id!, Date.now())).origin).toEqual({});
  });

  test("keeps its neighbours when the store refuses a value", async () => {
    await world.park(5);
    const lines = await exported();
    await forget();
    // Valid by its form, and no time of the calendar that PostgreSQL has.
    const broken = lines.map((line, index) =>
      index === 2 ? line.replace(/"firstSeen":"[^"]+"/, '"firstSeen":"2026-02-30T00:00:00Z"') : line,
    );
    const outcomes = await restore(broken);
    expect(outcomes.filter((outcome) => outcome === "restored")).toHaveLength(4);
    expect(outcomes[2]).toMatchObject({ rejection: { field: "stored" } });
  });

  test("is for who may restore", async () => {
    await world.park(1);
    const lines = await exported();
    const sender: Viewer = { ...ADA, actions: ["ingest"] };
    await expect(restore(lines, sender)).rejects.toMatchObject({ code: "forbidden" });
  });
});

test("a line that contradicts itself is refused with its field", async () => {
  await parkEvents(world.deps, [{ source: "orders", letter: deadLetter() }], ADA);
  const line = JSON.parse((await exported())[0]!);
  for (const [member, value, field, words] of [
    ["revision", 7, "stored.revision", "revisions does not hold"],
    ["status", "LOST", "stored.status", "must be one of"],
    ["firstSeen", "yesterday", "stored.firstSeen", "UTC time"],
    ["id", "00000000-0000-4000-8000-000000000001", "stored.id", "version 7"],
    ["bounces", -1, "stored.bounces", "negative"],
    ["redrives", 2_000_000_000, "stored.redrives", "at most 1000000"],
    ["status", "REDRIVEN", "stored.redriveAt", "is missing"],
    ["confirmedAt", "2026-01-01T00:00:00Z", "stored.confirmedAt", "the event is PENDING"],
    ["bounced", [{ bounce: 1 }], "stored.bounced[0]", "missing"],
    ["revisions", [{ revision: 1 }], "stored.revisions[0]", "above 1"],
    ["colour", "red", "stored.colour", "unknown"],
  ] as [string, unknown, string, string][]) {
    const changed = { ...line, stored: { ...line.stored, [member]: value } };
    const { rejection } = read(JSON.stringify(changed)) as { rejection: { field: string; detail: string } };
    expect(rejection.field, member).toContain(field);
    expect(rejection.detail).toContain(words);
  }
});
