import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readEventDetail, readPayload } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { readOrReject } from "@/lib/intake/arrival.shapes";
import type { DeadLetter } from "@/lib/intake/dead-letter.pure";
import { readEventIn } from "@/lib/intake/event-in.shapes";
import { parkEvents } from "@/lib/intake/park-events";
import { countPage } from "@/lib/keep/encryption/body-counts.write";
import { createEncrypter } from "@/lib/keep/encryption/encrypt-stored";
import { readEncryption } from "@/lib/keep/encryption/encryption.read";
import { rewrapKeys } from "@/lib/keep/encryption/rewrap-keys";
import { nextEvents } from "@/lib/keep/encryption/stored-bodies.write";
import { previewForget } from "@/lib/keep/forget/preview-forget";
import { type ReadableRecord, readRecords } from "@/lib/keep/records/event-records.read";
import { exportRecords } from "@/lib/keep/records/export-records";
import { restoreEvents, type StoredArrival } from "@/lib/keep/restore/restore-events";
import { systemClock } from "@/lib/platform/clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { readEnv } from "@/lib/platform/env";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import { createLog } from "@/lib/platform/log";
import { readMasterKeys } from "@/lib/platform/sealing/master-keys";
import { Sealing } from "@/lib/platform/sealing/sealing";
import { compareRevisions, readRevisions } from "@/lib/repair/revisions/event-revisions.read";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { deadLetter } from "@/lib/testing/letters";
import { manualClock } from "@/lib/testing/manual-clock";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { startWorker } from "@/workers/worker";

const newKey = () => randomBytes(32).toString("base64");
const [A, B] = [newKey(), newKey()];
const ADA = localViewer("ada");

/** Like an IBAN, with a checksum that is wrong: one with the right checksum is masked. */
const CANARY = "DE00120300000000202051";
const FIRST = `{"iban": "${CANARY}", "big": 9007199254740993, "a":1,"a":2}`;
const EDITED = `{"iban":"${CANARY}","edited":true}`;
const BOUNCED = `{"iban":"${CANARY}","enriched":true}`;
const secret = (payload: string): Partial<DeadLetter> => ({
  payload: Buffer.from(payload),
  headers: [
    ["x-iban", CANARY],
    ["x-tenant", null],
    ["x-bytes", "AQI=", "bytes"],
  ],
  error: {
    type: "com.acme.Refused",
    message: "the bank refused it",
    stack: `com.acme.Refused\n\tat com.acme.Bank.pay(Bank.java:7)\nCaused by: ${CANARY}`,
  },
});

/** Every value of every table that holds the canary, as text or as bytes. */
async function leaks(db: Db): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and not c.relispartition`,
  );
  const found: string[] = [];
  const forms = [CANARY, Buffer.from(CANARY).toString("hex")];
  for (const { name } of tables) {
    const rows = await db.query<{ row: string }>(`select t::text as row from ${name} t`);
    for (const { row } of rows) if (forms.some((form) => row.includes(form))) found.push(`${name}: ${row}`);
  }
  return found;
}

async function exported(db: Db): Promise<string[]> {
  const lines: string[] = [];
  const deps = { db, lists: db, clock: systemClock, log: createLog({ level: "silent", process: "test" }) };
  for await (const piece of await exportRecords(deps, ADA, { filter: {}, reason: "a test" }, Date.now()))
    lines.push(...piece);
  return lines;
}

function restorable(line: string): StoredArrival {
  const bytes = Buffer.from(line.trimEnd());
  const options = { payloadBytesMax: 1e6, headersMax: 200, defaultSource: null };
  return readOrReject(() => readEventIn(bytes, { start: 0, end: bytes.length }, options)) as StoredArrival;
}

describe("bodies under a key", () => {
  const world = worldOfEachTest({ invariants: false, env: { PARKADE_ENCRYPTION_KEYS: `a=${A}` } });
  const edit = async (id: string, base: number, text: string) =>
    editEvent(
      world.deps,
      { ...{ id, base, text, reason: "mended", breaking: true, idempotency: null }, headersMax: 200 },
      ADA,
    );
  const comesBack = (redriveId: string, payload: string) =>
    parkEvents(
      world.deps,
      [
        {
          source: "orders",
          letter: deadLetter({
            ...{ eventId: "event-0000", aggregateId: null, version: null, redrive: { redriveId, attempt: 1 } },
            ...secret(payload),
          }),
        },
      ],
      ADA,
    );

  test("are in no table as they are, and go out byte for byte in each of their revisions", async () => {
    await world.park(1, () => secret(FIRST));
    const [id] = (await world.idsOf()) as [string];
    await world.worker();
    const first = await world.ended((await world.request()).id);
    expect(first.refusedByReason).toEqual({});
    expect(world.sink.arrived.map(({ body }) => body)).toEqual([FIRST]);
    expect(world.sink.arrived[0]!.headers["x-iban"]).toBe(CANARY);
    // The bytes that were sent make no revision, others do.
    await comesBack(first.id, FIRST);
    expect((await readRevisions(world.db, ADA, id)).total).toBe(1);
    await world.db.run("update dlq_events set cooldown_until = null");
    const again = await world.ended((await world.request({ select: { ids: [id] } })).id);
    await comesBack(again.id, BOUNCED);
    await edit(id, 2, EDITED);
    await world.ended((await world.request({ select: { ids: [id] } })).id);
    expect(world.sink.arrived.map(({ body }) => body)).toEqual([FIRST, FIRST, EDITED]);
    expect(world.sink.arrived[2]!.headers["x-iban"]).toBe(CANARY);
    expect(await leaks(world.db)).toEqual([]);

    const detail = await readEventDetail(world.db, ADA, id, Date.now());
    expect(detail).toMatchObject({ body: { text: EDITED, unreadable: null }, payloadBytes: EDITED.length });
    expect(detail.headers).toEqual([
      ["x-iban", CANARY],
      ["x-tenant", null],
      ["x-bytes", "AQI=", "bytes"],
    ]);
    expect(detail.errorDetail.stack).toContain(CANARY);
    expect(JSON.stringify(detail.history).match(new RegExp(`by: ${CANARY}`, "g"))).toHaveLength(3);
    expect((await world.db.transaction((tx) => readPayload(tx, ADA, id, 1))).payload.toString()).toBe(FIRST);
    expect(await readRevisions(world.db, ADA, id)).toMatchObject({
      items: [{ bytes: EDITED.length }, { bytes: BOUNCED.length, cause: "bounce" }, { bytes: FIRST.length }],
    });
    const compared = await compareRevisions(world.db, ADA, id, { from: 1, to: 2 });
    expect(compared).toMatchObject({ equal: { payload: false, headers: true }, to: { body: { text: BOUNCED } } });
    const broken = (await world.broken()).filter((row) => (row as { rollup?: string }).rollup !== "flow");
    expect(broken).toEqual([]);
  });

  test("have a fault in the place of the stack where only the newest arrival cannot be decrypted", async () => {
    await world.park(1, () => secret(FIRST));
    await world.worker();
    const { id: redrive } = await world.ended((await world.request()).id);
    await comesBack(redrive, FIRST);
    await world.db.run("update event_bounces set data_key = gen_random_uuid()");
    const [id] = (await world.idsOf()) as [string];
    const detail = await readEventDetail(world.db, ADA, id, Date.now());
    expect(detail.body).toMatchObject({ text: FIRST, unreadable: null });
    expect(detail.errorDetail.stack).toMatch(/^\(it cannot be decrypted: the store lacks its data key .+\)$/);
  });

  test("are compared with a letter that has lost its marks and names the record that was sent", async () => {
    await world.park(1, () => ({ ...secret(FIRST), origin: { key: "b3JkZXI=" } }));
    await world.worker();
    await world.ended((await world.request()).id);
    await world.db.run("update redrive_items set sent_record = 'orders [3] offset 330'");
    const comes = (eventId: string, payload: string) => {
      const lost = { eventId, failedRecord: "orders [3] offset 330", origin: { key: "b3JkZXI=" } };
      const letter = deadLetter({ aggregateId: null, version: null, ...secret(payload), ...lost });
      return parkEvents(world.deps, [{ source: "orders", letter }], ADA);
    };
    expect(await comes("of-another-record", FIRST.replace("7", "8"))).toEqual(["parked"]);
    expect(await comes("of-that-record", FIRST)).toEqual(["bounced"]);
  });

  test("leave in an export whole, and come back encrypted", async () => {
    await world.park(1, () => secret(FIRST));
    const [id] = (await world.idsOf()) as [string];
    await edit(id, 1, EDITED);
    const [line] = (await exported(world.db)) as [string];
    expect(restorable(line).letter.payload.toString()).toBe(FIRST);
    expect(restorable(line).stored.state.revisions[0]!.payloadBase64).toBe(Buffer.from(EDITED).toString("base64"));
    await world.db.run(
      "truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_revisions, event_bounces, event_keys, audit_entries, audit_subjects, dlq_levels, dlq_group_levels",
    );
    expect(await restoreEvents(world.deps, [restorable(line)], ADA)).toEqual(["restored"]);
    expect(await leaks(world.db)).toEqual([]);
    expect(await exported(world.db)).toEqual([line]);
  });

  test("that become clear while their event is read are a fault of it, and are no empty values", async () => {
    await world.park(1, () => secret(FIRST));
    const [id] = (await world.idsOf()) as [string];
    await edit(id, 1, EDITED);
    const changing = {
      ...world.db,
      query: async (text: string, ...rest: [unknown[]]) => {
        const sealedValues = text.includes("from event_revisions") && text.includes("data_key is not null");
        if (sealedValues) await withKeys(world.url, [`a=${A}`, "none"], encryptAll);
        return world.db.query(text, ...rest);
      },
    } as Db;
    expect(await readRecords(changing, [id])).toEqual([
      { id, fault: expect.stringContaining("it was decrypted while it was read") },
    ]);
    const [after] = await readRecords(world.db, [id]);
    expect(restorable((after as ReadableRecord).line).stored.state.revisions[0]!.payloadBase64).toBe(
      Buffer.from(EDITED).toString("base64"),
    );
  });

  test("are readable by others after a store that lacks the data key has taken over", async () => {
    const sealing = sealingA();
    const park = async (eventId: string) => {
      const db = createDb(world.url, { max: 1, sealing });
      const letter = deadLetter({ eventId, ...secret(FIRST) });
      await parkEvents({ ...world.deps, db }, [{ source: "orders", letter }], ADA).finally(() => db.end());
    };
    await park("before");
    await world.db.run("delete from data_keys");
    await park("after");
    const ids = await world.idsOf(["before", "after"]);
    await withKeys(world.url, [`a=${A}`], async (db) => {
      const details = await Promise.all(ids.map((id) => readEventDetail(db, ADA, id, Date.now())));
      expect(details.map(({ body }) => body.text)).toEqual([FIRST, FIRST]);
    });
  });

  test("many that begin at once need one data key, with one connection as well", async () => {
    const db = createDb(world.url, { max: 1, sealing: sealingA() });
    try {
      const begin = Array.from({ length: 5 }, (_, index) =>
        parkEvents(
          { ...world.deps, db },
          [{ source: "orders", letter: deadLetter({ eventId: `at-once-${index}`, ...secret(FIRST) }) }],
          ADA,
        ),
      );
      expect((await Promise.all(begin)).flat()).toEqual(Array(5).fill("parked"));
      expect(await db.query("select distinct data_key from dlq_event_bodies")).toHaveLength(1);
    } finally {
      await db.end();
    }
  });
});

const sealingA = () => new Sealing(readMasterKeys({ keys: `a=${A}`, keyId: null, secretFiles: null }), systemClock);

/** A process with these keys. */
async function withKeys<T>(
  url: string,
  [keys, keyId]: [string | null, string?],
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const master = readMasterKeys({ keys, keyId: keyId ?? null, secretFiles: null });
  const db = createDb(url, { max: 3, sealing: new Sealing(master, systemClock) });
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

const LATER = { ...systemClock, wallMs: () => systemClock.wallMs() + 3_600_000 };

/** All of what a worker with these keys has to encrypt or decrypt. */
const encryptAll = (db: Db) =>
  createEncrypter({ db, clock: { ...LATER, nowMs: () => 0 } })(new AbortController().signal);

describe("a key that is missing", () => {
  const world = worldOfEachTest({ env: { PARKADE_ENCRYPTION_KEYS: `b=${B}` } });

  test("makes its bodies unreadable and no others: they are refused, named and kept", async () => {
    const of = (eventId: string) => [{ source: "orders", letter: deadLetter({ eventId, ...secret(FIRST) }) }];
    await withKeys(world.url, [`a=${A}`], (db) => parkEvents({ ...world.deps, db }, of("lost"), ADA));
    await parkEvents(world.deps, of("kept"), ADA);
    const [lost, kept] = (await world.idsOf(["lost", "kept"])) as [string, string];
    const fault = "it cannot be decrypted: the encryption key a is missing";
    const detail = await readEventDetail(world.db, ADA, lost, Date.now());
    expect(detail).toMatchObject({ body: { text: null, base64: "", unreadable: fault }, headers: [] });
    expect((await readEventDetail(world.db, ADA, kept, Date.now())).body.text).toBe(FIRST);
    await expect(world.db.transaction((tx) => readPayload(tx, ADA, lost))).rejects.toMatchObject({
      code: "unreadable-body",
    });
    await expect(exported(world.db)).rejects.toThrow(`Event ${lost} cannot be exported: ${fault}`);
    const pointer = { payload: { pointer: "/iban", value: CANARY } };
    expect(await previewForget(world.db, ADA, { key: pointer, source: "orders" })).toMatchObject({
      ...{ events: 1, kept: 1, keptByReason: { "unreadable-body": 1 } },
    });

    await world.worker();
    const { id } = await world.request();
    expect(await readEncryption(world.db, { ...ADA, sources: ["orders"] })).toBeNull();
    expect(await world.ended(id)).toMatchObject({ delivered: 1, refusedByReason: { "unreadable-body": 1 } });
    expect(world.sink.arrived.map(({ body }) => body)).toEqual([FIRST]);
    const [item] = await world.db.query<{ detail: string; attempts: number }>(
      "select detail, attempts from redrive_items where id = $1",
      [lost],
    );
    expect(item).toEqual({ detail: fault, attempts: 0 });
    expect(await readEncryption(world.db, ADA)).toMatchObject({
      writes: "encrypted",
      keys: [
        { key: "a", current: false, missing: true, dataKeys: 1 },
        { key: "b", current: true, missing: false, dataKeys: 1 },
      ],
    });
  });
});

describe("events that are stored already", () => {
  const world = worldOfEachTest();
  const stored = () =>
    world.db.query(
      `select id, 1 as number, payload, headers, error_detail, data_key, sealed from dlq_event_bodies
       union all select id, revision, payload, headers, null, data_key, sealed from event_revisions order by 1, 2`,
    );

  test("are encrypted, and put back as they were, by whichever worker; the audit has both", async () => {
    await world.park(450, () => secret(FIRST));
    const [id] = (await world.idsOf()) as [string];
    const revision = { id, base: 1, text: EDITED, reason: "mended", breaking: true, idempotency: null };
    await editEvent(world.deps, { ...revision, headersMax: 200 }, ADA);
    const before = await stored();
    expect(await readEncryption(world.db, ADA)).toBeNull();
    await withKeys(world.url, [`a=${A}`], async (db) => {
      await Promise.all([encryptAll(db), encryptAll(db)]);
      await encryptAll(db);
      expect(await leaks(db)).toEqual([]);
      expect((await readEventDetail(db, ADA, id, Date.now())).body.text).toBe(EDITED);
      expect(await readEncryption(db, ADA)).toMatchObject({
        keys: [{ key: "a", dataKeys: 1, bodies: 451 }],
        clearBodies: 0,
        older: { becomes: "encrypted", ended: true, changed: 451, unreadable: 0 },
      });
      // Those that a process without keys stores meanwhile, are found behind the end.
      await world.park(451, () => secret(FIRST));
      expect(await leaks(db)).not.toEqual([]);
      await encryptAll(db);
      expect(await leaks(db)).toEqual([]);
    });
    await withKeys(world.url, [`a=${A}`, "none"], encryptAll);
    expect((await stored()).slice(0, before.length)).toEqual(before);
    const audit = await world.db.query(
      "select action, after, count from audit_entries where action like 'encryption.%' order by id",
    );
    expect(audit).toMatchObject([
      { action: "encryption.begun", after: { encrypts: true } },
      { action: "encryption.ended", count: 451 },
      { action: "encryption.begun", after: { encrypts: false } },
      { action: "encryption.ended" },
    ]);
  });

  test("are taken when they are ten minutes old, and the work has not ended before", async () => {
    await world.park(3, () => secret(FIRST));
    const [, , youngest] = (await world.idsOf()) as [string, string, string];
    await withKeys(world.url, [`a=${A}`], async (db) => {
      const sealed = deadLetter({ eventId: "of-the-new-configuration", ...secret(FIRST) });
      await parkEvents({ ...world.deps, db }, [{ source: "orders", letter: sealed }], ADA);
      const clock = manualClock({ wallMs: uuidv7TimeMs(youngest) + 1_000 });
      const encrypter = createEncrypter({ db, clock });
      const roundAfter = async (ms: number) => {
        await clock.advance(ms);
        await encrypter(new AbortController().signal);
        return {
          status: await readEncryption(db, ADA),
          audit: await db.query("select action, count from audit_entries where action like 'encryption.%' order by id"),
        };
      };
      const waits = new Date(uuidv7TimeMs(youngest) + 600_000).toISOString();
      const waiting = {
        status: { clearBodies: 3, older: { ended: false, waitsUntil: waits, changed: 0 } },
        audit: [{ action: "encryption.begun", count: 0 }],
      };
      expect(await roundAfter(0)).toMatchObject(waiting);
      expect(await roundAfter(540_000)).toMatchObject(waiting);
      const { status, audit } = await roundAfter(60_000);
      expect(status).toMatchObject({ clearBodies: 0, older: { ended: true, waitsUntil: null, changed: 3 } });
      expect(audit).toEqual([...waiting.audit, { action: "encryption.ended", count: 3 }]);
    });
  });

  test("are read behind the newest that was looked at by the index, also by a plan that is kept", async () => {
    await world.park(1, () => secret(FIRST));
    const texts: string[] = [];
    const query = async (text: string) => {
      texts.push(text);
      return [];
    };
    await nextEvents({ ...world.db, query } as unknown as Db, { after: null, before: "" });
    const planned = createDb(world.url, { max: 1, genericPlans: "keys" });
    try {
      await planned.run(`prepare next (uuid, uuid) as ${texts[0]}`);
      const id = uuidv7LowerBound(LATER.wallMs());
      const plan = JSON.stringify(await planned.query(`explain execute next ('${id}', '${id}')`));
      expect(plan).toMatch(/Index Cond: \(\(id > /);
      expect(plan).not.toContain("Filter");
    } finally {
      await planned.end();
    }
  });

  test("are not looked for by a worker that has found none, for a minute", async () => {
    await world.park(2, () => secret(FIRST));
    await withKeys(world.url, [`a=${A}`], async (db) => {
      let transactions = 0;
      const counted: Db = {
        ...db,
        transaction: (...call) => {
          transactions++;
          return db.transaction(...call);
        },
      };
      const clock = manualClock({ wallMs: LATER.wallMs() });
      const encrypter = createEncrypter({ db: counted, clock });
      const round = async () => {
        transactions = 0;
        await encrypter(new AbortController().signal);
        return transactions;
      };
      // Begins, encrypts and ends; then finds nothing.
      await round();
      expect(await leaks(db)).toEqual([]);
      await round();
      await clock.advance(59_000);
      expect(await round()).toBe(0);
      await clock.advance(1_000);
      expect(await round()).toBeGreaterThan(0);
    });
  });

  test("are counted in pages that any worker goes on with; a body without its data key is none in clear", async () => {
    await withKeys(world.url, [`a=${A}`], async (db) => {
      const park = async (eventId: string) =>
        parkEvents(
          { ...world.deps, db },
          [{ source: "orders", letter: deadLetter({ eventId, ...secret(FIRST) }) }],
          ADA,
        );
      for (const eventId of ["one", "two", "three"]) await park(eventId);
      await encryptAll(db);
      const [id] = (await world.idsOf(["one"])) as [string];
      const edit = { id, base: 1, text: EDITED, reason: "mended", breaking: true, idempotency: null };
      await editEvent({ ...world.deps, db }, { ...edit, headersMax: 200 }, ADA);
      await db.run("update dlq_event_bodies set data_key = gen_random_uuid() where id = $1", [id]);
      await world.park(1, () => secret(FIRST));
      expect(await readEncryption(db, ADA)).toMatchObject({
        keys: [{ bodies: 3 }],
        clearBodies: 0,
        bodiesWithoutKey: 0,
      });
      const page = () => db.transaction((tx) => countPage(tx, 2));
      expect(await page()).toBe(false);
      await db.run("update encryption_progress set counted_at = now() - interval '61 minutes'");
      // Two of bodies, two of bodies, the end of bodies; the rest in one.
      expect([await page(), await page(), await page(), await page()]).toEqual([true, true, true, false]);
      expect(await page()).toBe(false);
      const counted = { keys: [{ key: "a", bodies: 3 }], clearBodies: 1, bodiesWithoutKey: 1 };
      expect(await readEncryption(db, ADA)).toMatchObject(counted);
      // The next count of this process begins at nothing.
      await db.run("update encryption_progress set counted_at = now() - interval '61 minutes'");
      while (await page());
      expect(await readEncryption(db, ADA)).toMatchObject(counted);
    });
  });

  test("get another master key by two workers at once; the former one may go then", async () => {
    await withKeys(world.url, [`a=${A}`], async (db) => {
      await parkEvents({ ...world.deps, db }, [{ source: "orders", letter: deadLetter(secret(FIRST)) }], ADA);
      await encryptAll(db);
      expect(await readEncryption(db, ADA)).toMatchObject({ keys: [{ key: "a", dataKeys: 1, bodies: 1 }] });
    });
    const [before] = await world.db.query<{ payload: Buffer }>("select payload from dlq_event_bodies");
    const rewrap = (db: Db) => rewrapKeys({ ...world.deps, db });
    const both = [`b=${B},a=${A}`] as [string];
    const changed = await Promise.all([withKeys(world.url, both, rewrap), withKeys(world.url, both, rewrap)]);
    expect(changed[0] + changed[1]).toBe(1);
    expect(await withKeys(world.url, both, rewrap)).toBe(0);
    await withKeys(world.url, both, async (db) => {
      // The count begins anew when keys are wrapped.
      while (await db.transaction((tx) => countPage(tx)));
      expect(await readEncryption(db, ADA)).toMatchObject({
        keys: [
          { key: "a", current: false, dataKeys: 0, bodies: 0 },
          { key: "b", current: true, bodies: 1 },
        ],
      });
    });
    await withKeys(world.url, [`b=${B}`], async (db) => {
      const [id] = (await world.idsOf()) as [string];
      expect((await readEventDetail(db, ADA, id, Date.now())).body.text).toBe(FIRST);
      expect(await readEncryption(db, ADA)).toMatchObject({ keys: [{ key: "b", current: true, missing: false }] });
    });
    expect(await world.db.query("select payload from dlq_event_bodies")).toEqual([before]);
    expect(
      await world.db.query("select before, after, count from audit_entries where action = 'encryption.rewrapped'"),
    ).toEqual([{ before: { keys: ["a"] }, after: { key: "b" }, count: 1 }]);
  });

  test("a worker does not start with a key that is none, and says which variable to correct", async () => {
    const env = readEnv({ DATABASE_URL: world.url, PARKADE_ENCRYPTION_KEYS: `a=${A.slice(0, 30)}` });
    const started = startWorker(env, world.deps.log);
    await expect(started).rejects.toThrow(/^PARKADE_ENCRYPTION_KEYS: entry 1 \(a\) is no key/);
    await expect(started).rejects.not.toThrow(A.slice(0, 30));
  });
});
