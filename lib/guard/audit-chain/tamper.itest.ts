import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { appendAudit, appendSubjects } from "@/lib/guard/audit/audit.write";
import type { Anchor, ChainReport, HashedSeal } from "@/lib/guard/audit-chain/chain.pure";
import { chainHash } from "@/lib/guard/audit-chain/hashes";
import { readHead } from "@/lib/guard/audit-chain/head.read";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { verifyChain } from "@/lib/guard/audit-chain/verify-chain";
import { systemClock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { storeOfFile } from "@/lib/testing/store-of-file";

/** The tests act as a superuser, whom no right holds back. */
const { db: pool } = storeOfFile({ max: 4 });
let db = pool;
const entries: string[] = [];
let anchor: Anchor;
let anchors: Anchor[];
const nowMs = systemClock.wallMs();
const TOO_SLOW = new DomainError("read-timeout", "The store took too long");

const entry = (index: number) => ({
  ...{ actor: "ada", action: "event.ignored", subjectKind: "event" as const, subjectId: `e-${index}`, count: 1 },
  ...{ reason: `reason ${index}`, before: { status: "PENDING", n: index }, after: null, atMs: nowMs - 1_000 + index },
});

const append = (index: number, facts: object = {}) =>
  db.transaction((tx) => appendAudit(tx, { ...entry(index), eventIds: [uuidv7(nowMs), uuidv7(nowMs)], ...facts }));

type Facts = Omit<Partial<Parameters<typeof verifyChain>[1]>, "anchors"> & { anchors?: Anchor[] };

async function verify({ anchors: given = [], ...facts }: Facts = {}): Promise<ChainReport> {
  return verifyChain(db, { from: null, fromEntry: null, anchors: [given], ...facts });
}

async function headNow(): Promise<Anchor> {
  return { ...(await readHead(db))!, atMs: nowMs, place: "test" };
}

const sealOf = async (id: string) =>
  (await db.query<{ seq: number }>("select seq from audit_seals where entry_id = $1 order by seq", [id]))[0]!.seq;

const found = (report: ChainReport) => report.findings.map(({ code, entryId }) => [code, entryId]);

beforeAll(async () => {
  for (let i = 0; i < 6; i++) entries.push(await append(i));
  entries.push(await append(6, { subjectKind: "account", subjectId: "ada", eventIds: [] }));
  entries.push(await append(7, { subjectKind: "setting", subjectId: "x", eventIds: [] }));
  await db.transaction((tx) => appendSubjects(tx, entries[2]!, [uuidv7(nowMs), uuidv7(nowMs)]));
  expect(await sealEntries(db)).toBe(9);
  anchor = await headNow();
  anchors = [anchor];
  expect(await verify({ anchors })).toMatchObject({ good: true, seals: 9, entries: 8, anchors: 1, first: null });
});

/** Work in one transaction, which does not commit. */
const undone =
  <Facts extends string[]>(work: (...facts: Facts) => Promise<void>) =>
  async (...facts: Facts): Promise<void> => {
    const undo = new Error("undo");
    const done = pool.transaction(async (tx) => {
      db = { ...tx, transaction: (inner: (same: typeof tx) => unknown) => inner(tx) } as unknown as Db;
      await work(...facts).finally(() => {
        db = pool;
      });
      throw undo;
    });
    await done.catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  };

const tampering = (title: string, work: () => Promise<void>) => test(title, undone(work));

tampering("an audit is good whose store had its clock set back by an hour", async () => {
  await append(9, { atMs: nowMs + 3_600_000 });
  await sealEntries(db);
  await resealLast("interval '1 hour'");
  await append(10, { atMs: nowMs });
  await sealEntries(db);
  expect(await verify({ anchors })).toMatchObject({ good: true, first: null });
});

describe("names the entry when a superuser", () => {
  test.each([
    ["id", "id = gen_random_uuid()"],
    ["at", "at = at - interval '1 microsecond'"],
    ["actor", "actor = 'eve'"],
    ["action", "action = 'event.released'"],
    ["subject_kind", "subject_kind = 'redrive'"],
    ["subject_id", "subject_id = 'e-77'"],
    ["redrive_id", "redrive_id = gen_random_uuid()"],
    ["reason", "reason = 'reason  3'"],
    ["before", `before = '{"n": 3.0, "status": "PENDING"}'`],
    ["after", "after = 'null'::jsonb"],
    ["count", "count = 2"],
    ["event_ids", "event_ids = '{}'"],
    ["event_ids, to one event", "event_ids = array[gen_random_uuid()]"],
  ])(
    "changes %s",
    undone(async (column, change) => {
      await db.run(`update audit_entries set ${change} where id = $1`, [entries[3]]);
      const report = await verify();
      if (column === "event_ids") {
        // No list and an empty list say the same.
        expect(report.good).toBe(true);
        return;
      }
      expect(report.first).toMatchObject({
        ...{ code: column === "id" ? "deleted" : "changed", entryId: entries[3], seq: await sealOf(entries[3]!) },
      });
    }),
  );

  tampering("tells every column of the table apart", async () => {
    const columns = await db.query<{ name: string }>(
      "select column_name as name from information_schema.columns where table_name = 'audit_entries'",
    );
    // A new column needs a place in the hash and a line above.
    expect(columns.map(({ name }) => name).sort()).toEqual(
      [
        ...["action", "actor", "after", "at", "before", "count", "event_ids", "id", "reason", "redrive_id"],
        ...["subject_id", "subject_kind"],
      ].sort(),
    );
  });

  tampering("swaps what two entries say", async () => {
    await db.run(
      `update audit_entries a set reason = b.reason from audit_entries b
      where (a.id, b.id) in (($1, $2), ($2, $1))`,
      [entries[1], entries[4]],
    );
    expect(found(await verify())).toEqual([
      ["changed", entries[1]],
      ["changed", entries[4]],
    ]);
  });

  tampering("deletes the entry", async () => {
    await db.run("delete from audit_entries where id = $1", [entries[1]]);
    expect(found(await verify())).toContainEqual(["deleted", entries[1]]);
  });

  tampering("deletes the entry before it is sealed", async () => {
    const id = await append(8);
    await db.run("delete from audit_entries where id = $1", [id]);
    await sealEntries(db);
    expect(found(await verify())).toContainEqual(["deleted", id]);
  });

  tampering("deletes its seal", async () => {
    await db.run("delete from audit_seals where entry_id = $1", [entries[1]]);
    expect(found(await verify())).toEqual([
      ["seal-missing", entries[2]],
      ["unsealed", entries[1]],
      ["unsealed-subjects", entries[1]],
    ]);
  });

  tampering("deletes both", async () => {
    await remove(entries[1]!);
    expect(found(await verify())).toEqual([["seal-missing", entries[2]]]);
  });

  tampering("deletes both of the first one", async () => {
    await remove(entries[0]!);
    expect(found(await verify())).toEqual([["seal-missing", entries[1]]]);
  });

  tampering("deletes both and closes the gap", async () => {
    await remove(entries[1]!);
    await db.run("update audit_seals set seq = seq - 1 where seq > 2");
    expect((await verify()).first).toMatchObject({ code: "chain-broken", entryId: entries[2], seq: 2 });
  });

  tampering("changes the order of seals", async () => {
    const swap = (from: number, to: number) => db.run("update audit_seals set seq = $2 where seq = $1", [from, to]);
    await swap(1, 100);
    await swap(2, 1);
    await swap(100, 2);
    expect((await verify()).first).toMatchObject({ code: "chain-broken", entryId: entries[1], seq: 1 });
  });

  test.each([
    ["kind", "kind = 'redaction'", "redaction-without-forget"],
    ["entry_id", "entry_id = (select id from audit_entries where subject_id = 'e-1')", "changed"],
    ["ref", "ref = gen_random_uuid()", "chain-broken"],
    ["content_hash", "content_hash = sha256('x')", "changed"],
    ["text_hash", "text_hash = sha256('x')", "changed"],
    ["text_hash, to none", "text_hash = null", "changed"],
    ["chain_hash", "chain_hash = sha256('x')", "chain-broken"],
    ["sealed_at", "sealed_at = sealed_at + interval '1 second'", "chain-broken"],
  ])(
    "changes %s of its seal",
    undone(async (_, change, code) => {
      await db.run(`update audit_seals set ${change} where entry_id = $1`, [entries[3]]);
      expect((await verify()).findings.map((finding) => finding.code)).toContain(code);
    }),
  );

  tampering("cuts off the end, which only an anchor can tell", async () => {
    for (const id of entries.slice(4)) await remove(id);
    expect((await verify()).good).toBe(true);
    expect((await verify({ anchors })).findings).toMatchObject([{ code: "truncated", seq: 9 }]);
  });

  tampering("cuts off the end, and new entries take its place", async () => {
    for (const id of entries.slice(4)) await remove(id);
    for (let i = 10; i < 14; i++) await append(i);
    await sealEntries(db);
    expect((await verify()).good).toBe(true);
    expect((await verify({ anchors })).first).toMatchObject({ code: "rewritten", seq: 9 });
  });

  tampering("writes everything anew, which only an anchor can tell", async () => {
    await db.run("update audit_entries set actor = 'eve' where id = $1", [entries[3]]);
    await rebuild();
    expect((await verify()).good).toBe(true);
    expect((await verify({ anchors })).first).toMatchObject({ code: "rewritten" });
    // An earlier check of the product is an anchor, too.
    expect((await verify({ from: anchor })).first).toMatchObject({ code: "rewritten" });
  });

  tampering("changes an entry, which is said before many anchors that say otherwise", async () => {
    await db.run("update audit_entries set actor = 'eve' where id = $1", [entries[3]]);
    const late = Array.from({ length: 60 }, (_, n) => ({ ...anchor, seq: 100 + n }));
    const report = await verify({ anchors: [...late, ...late.map((one) => ({ ...one, place: "elsewhere" }))] });
    expect(report.first).toMatchObject({ code: "changed", entryId: entries[3] });
    expect([report.findings.length, report.findingsTotal]).toEqual([50, 61]);
    expect(report.findings[1]!.detail).toContain("(from test; elsewhere)");
  });

  tampering("truncates all tables", async () => {
    await db.run("truncate audit_entries, audit_subjects, audit_seals, audit_pending");
    expect((await verify()).good).toBe(true);
    expect(found(await verify({ anchors })).map(([code]) => code)).toEqual(["truncated"]);
  });

  tampering("adds an event to the entry", async () => {
    await db.run("insert into audit_subjects (event_id, entry_id) values ($1, $2)", [randomUUID(), entries[1]]);
    expect(found(await verify())).toEqual([["changed", entries[1]]]);
  });

  tampering("adds an event to a part of the entry, or with a part of its own", async () => {
    await db.run(
      "insert into audit_subjects (event_id, entry_id, part) select $1, $2, part from audit_subjects where part is not null limit 1",
      [randomUUID(), entries[2]],
    );
    await db.run("insert into audit_subjects (event_id, entry_id, part) values ($1, $2, $3)", [
      ...[randomUUID(), entries[4], randomUUID()],
    ]);
    expect(found(await verify())).toEqual([
      ["changed", entries[2]],
      ["unsealed-subjects", entries[4]],
    ]);
  });

  tampering("takes an event from the entry, or moves one", async () => {
    await db.run("delete from audit_subjects where entry_id = $1 and part is not null", [entries[2]]);
    await db.run("update audit_subjects set event_id = gen_random_uuid() where entry_id = $1", [entries[4]]);
    expect(found(await verify()).sort()).toEqual(
      [
        ["changed", entries[2]],
        ["changed", entries[4]],
      ].sort(),
    );
  });

  tampering("adds events of an entry that does not exist", async () => {
    const none = "fffffff0-0000-7000-8000-000000000000";
    await db.run("insert into audit_subjects (event_id, entry_id) values ($1, $2)", [randomUUID(), none]);
    expect(found(await verify())).toEqual([["unsealed-subjects", none]]);
  });

  tampering("adds an entry past the product", async () => {
    const id = uuidv7(nowMs - 7_200_000);
    await db.run(
      "insert into audit_entries (id, at, actor, action, subject_kind) values ($1, now() - interval '2 hours', 'eve', 'event.ignored', 'event')",
      [id],
    );
    expect(found(await verify())).toEqual([["unsealed", id]]);
  });

  tampering("adds an entry in the past, and has the product seal it", async () => {
    const id = await append(9, { atMs: nowMs - 3_600_000 });
    await sealEntries(db);
    expect(found(await verify())).toEqual([["backdated", id]]);
  });

  tampering("has the product seal an entry twice", async () => {
    await db.run("insert into audit_pending (entry_id, ref) values ($1, $1)", [entries[1]]);
    await sealEntries(db);
    expect(found(await verify())).toEqual([["sealed-twice", entries[1]]]);
  });

  test.each(["none", "one in the audit alone"])(
    "changes an entry and asks the product for the seal of a forget, of which there is %s",
    undone(async (known) => {
      const id = randomUUID();
      if (known !== "none")
        await append(9, { subjectKind: "forget", subjectId: id, action: "data.forgotten", eventIds: [] });
      await db.run("update audit_entries set reason = 'another [forgotten]' where id = $1", [entries[1]]);
      await db.run("insert into audit_pending (entry_id, ref, kind) values ($1, $2, 'redaction')", [entries[1], id]);
      await sealEntries(db);
      expect(found(await verify())).toEqual([["redaction-without-forget", entries[1]]]);
    }),
  );

  describe("has a forget of the product's own redact", () => {
    /** The entry of its start, the redaction of one entry by the function of the database, and the entry of its end. */
    async function forget(id: string, name: string): Promise<void> {
      const facts = { subjectKind: "forget", subjectId: id, reason: null, before: null, eventIds: [] };
      const auditId = await append(9, { ...facts, action: "data.forgotten" });
      await db.run(
        `insert into forgets (id, key_kind, key, reason, audit_id, created_by, created_at)
         values ($1, 'tag', '{}', 'asked', $2, 'ada', now())`,
        [id, auditId],
      );
      await redact(id, name);
      await db.run("update forgets set key = null, finished_at = now() where id = $1", [id]);
      await append(9, { ...facts, action: "data.forget-ended", after: { counts: { auditEntries: 1 } } });
    }

    const redact = (id: string, pattern: string) =>
      db.query("select audit_owner.redact_audit_entries($1, $2, $2, null, 100)", [id, pattern]);

    tampering("an entry, which is good", async () => {
      await forget(randomUUID(), "reason 3");
      expect(await verify()).toMatchObject({ good: true, redactions: 0 });
      await sealEntries(db);
      expect(await verify({ anchors })).toMatchObject({ good: true, redactions: 1 });
    });

    tampering("more entries than its end says", async () => {
      const id = randomUUID();
      await forget(id, "reason 3");
      await db.run("update audit_entries set reason = 'paid out [forgotten]' where id = $1", [entries[1]]);
      await db.run("insert into audit_pending (entry_id, ref, kind) values ($1, $2, 'redaction')", [entries[1], id]);
      await sealEntries(db);
      expect((await verify()).findings.map(({ code }) => code)).toEqual(["redaction-without-forget"]);
    });

    tampering("everything by patterns that match any text, or once it has ended", async () => {
      const id = randomUUID();
      await forget(id, "reason 3");
      await expect(attempt(() => redact(id, "reason 4"))).rejects.toThrow(`no forget ${id} runs`);
      const next = randomUUID();
      await append(9, { subjectKind: "forget", subjectId: next, action: "data.forgotten", eventIds: [] });
      for (const pattern of ["", ".*", ".", "[a-f]|[0-9]"])
        await expect(attempt(() => redact(next, pattern))).rejects.toThrow("match any text");
    });

    test.each(["at = at - interval '1 minute'", "actor = 'eve'", "count = 7", "redrive_id = gen_random_uuid()"])(
      "an entry, and sets %s meanwhile",
      undone(async (change) => {
        await forget(randomUUID(), "reason 3");
        await db.run(`update audit_entries set ${change} where id = $1`, [entries[3]]);
        expect(found(await verify())).toEqual([["changed", entries[3]]]);
        await sealEntries(db);
        // The seal of before does not agree; that of the forget was made of the changed entry.
        expect(found(await verify())).toEqual([["changed", entries[3]]]);
      }),
    );

    tampering("an entry, and changes its text afterwards", async () => {
      await forget(randomUUID(), "reason 3");
      await sealEntries(db);
      await db.run("update audit_entries set reason = '[forgotten] by eve' where id = $1", [entries[3]]);
      expect(found(await verify())).toEqual([["changed", entries[3]]]);
    });

    test.each([
      ["long after its end", "interval '2 minutes'"],
      ["before its start", "interval '-2 minutes'"],
    ])(
      "an entry, and has a further one sealed in its name, %s",
      undone(async (_, later) => {
        const id = randomUUID();
        await forget(id, "reason 3");
        await sealEntries(db);
        await db.run("update audit_entries set reason = '[forgotten]' where id = $1", [entries[1]]);
        await db.run("insert into audit_pending (entry_id, ref, kind) values ($1, $2, 'redaction')", [entries[1], id]);
        await sealEntries(db);
        // As the product's own code would have sealed it at that time.
        await resealLast(later);
        expect(found(await verify())).toEqual([["redaction-without-forget", entries[1]]]);
      }),
    );
  });

  tampering("takes the record away that a seal is due", async () => {
    const id = await append(9);
    await db.run("delete from audit_pending");
    await sealEntries(db);
    expect(found(await verify())).toEqual([
      ["unsealed", id],
      ["unsealed-subjects", id],
    ]);
  });

  tampering("stops the sealing", async () => {
    const id = await append(9);
    expect((await verify()).good).toBe(true);
    await db.run("update audit_pending set since = since - interval '11 minutes'");
    expect(found(await verify())).toEqual([["late", id]]);
    // An entry of before the upgrade waits for as many as there are.
    await db.run("update audit_pending set since = null");
    expect(await verify()).toMatchObject({ good: true });
    expect(await sealEntries(db)).toBe(1);
  });
});

tampering(
  "a change of one of many entries is found, in bounded batches, and what came later alone when asked",
  async () => {
    await db.run(
      `insert into audit_entries (id, at, actor, action, subject_kind)
   select gen_random_uuid(), now(), 'ada', 'event.parked', 'event' from generate_series(1, 2500)`,
    );
    await db.run(
      "insert into audit_pending (entry_id, ref) select id, id from audit_entries where action = 'event.parked'",
    );
    expect(await sealEntries(db)).toBe(2500);
    const from = await headNow();
    const [victim] = await db.query<{ id: string }>("select entry_id as id from audit_seals where seq = 2222");
    await db.run("update audit_entries set actor = 'eve' where id = $1", [victim!.id]);
    const seen: number[] = [];
    const progress = async (seals: number) => void seen.push(seals);
    expect((await verify({ progress })).first).toMatchObject({ code: "changed", entryId: victim!.id, seq: 2222 });
    expect(seen).toEqual([1000, 2000, 2509]);
    expect(await verify({ from })).toMatchObject({ good: true, seals: 0 });
  },
);

test("an entry whose transaction commits late is sealed late, and nothing is lost or found", async () => {
  let commit = () => {};
  const committed = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let started = () => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const late = db.transaction(async (tx) => {
    const id = await appendAudit(tx, { ...entry(20), eventIds: [] });
    started();
    await committed;
    return id;
  });
  await running;
  const next = await append(21);
  expect(await sealEntries(db)).toBe(1);
  commit();
  const id = await late;
  expect(await verify()).toMatchObject({ good: true });
  expect(await sealEntries(db)).toBe(1);
  expect(await sealOf(id)).toBeGreaterThan(await sealOf(next));
  expect(await verify()).toMatchObject({ good: true });
});

test("several workers seal each entry once, and a batch that ends in the middle leaves nothing", async () => {
  const before = await verify();
  for (let i = 30; i < 60; i++) await append(i);
  const broken = {
    ...db,
    transaction: (work: never) =>
      db.transaction(async (tx) => {
        await (work as (tx: unknown) => Promise<number>)(tx);
        throw new Error("killed");
      }),
  } as Db;
  await expect(sealEntries(broken)).rejects.toThrow("killed");
  expect((await verify()).seals).toBe(before.seals);
  const sealed = await Promise.all([sealEntries(db), sealEntries(db), sealEntries(db)]);
  expect(sealed.reduce((sum, n) => sum + n)).toBe(30);
  expect(await verify({ anchors })).toMatchObject({ good: true, seals: before.seals + 30 });
});

test("a batch that is too slow is halved until it is not, and every entry is sealed", async () => {
  const before = await verify();
  for (let i = 60; i < 100; i++) await append(i);
  const limits: number[] = [];
  const slow = {
    transaction: (work: (tx: Tx) => Promise<number>) =>
      db.transaction((tx) => {
        const query = (text: string, values: unknown[], options?: { name?: string }) => {
          if (options?.name === "take-audit-pending") limits.push(Number(values[0]));
          if (options?.name === "audit-hashed" && (values[0] as string[]).length > 20) throw TOO_SLOW;
          return tx.query(text, values, options);
        };
        return work({ ...tx, query } as Tx);
      }),
  } as Db;
  expect(await sealEntries(slow)).toBe(40);
  expect(limits).toEqual([1_000, 500, 250, 125, 63, 32, 16, 16, 16]);
  expect(await verify()).toMatchObject({ good: true, seals: before.seals + 40 });
});

/** A statement that fails does not end the transaction of the test. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  await db.run("savepoint attempt");
  await work().finally(() => db.run("rollback to savepoint attempt"));
}

async function remove(id: string): Promise<void> {
  for (const table of ["audit_subjects", "audit_seals"]) await db.run(`delete from ${table} where entry_id = $1`, [id]);
  await db.run("delete from audit_entries where id = $1", [id]);
}

/** Makes the last seal as if at another time. */
async function resealLast(later: string): Promise<void> {
  const [seal] = await db.query<HashedSeal & { before: string }>(
    `update audit_seals s set sealed_at = date_trunc('milliseconds', s.sealed_at) + ${later} from audit_seals b
      where s.seq = (select max(seq) from audit_seals) and b.seq = s.seq - 1
     returning s.seq, s.kind, s.entry_id as "entryId", s.ref, encode(s.content_hash, 'hex') as "contentHash",
       encode(s.text_hash, 'hex') as "textHash", s.sealed_at as "sealedAtMs", encode(b.chain_hash, 'hex') as before`,
  );
  const hash = chainHash(seal!.before, seal!);
  await db.run("update audit_seals set chain_hash = decode($2, 'hex') where seq = $1", [seal!.seq, hash]);
}

/** As somebody does who knows how: the seals of all entries, with the product's own code. */
async function rebuild(): Promise<void> {
  await db.run("truncate audit_seals");
  await db.run("insert into audit_pending (entry_id, ref) select id, id from audit_entries");
  await db.run(
    "insert into audit_pending (entry_id, ref, kind) select distinct entry_id, part, 'subjects' from audit_subjects where part is not null",
  );
  await sealEntries(db);
}
