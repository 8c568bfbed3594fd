import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { describe, expect, test, vi } from "vitest";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { CopyRows } from "@/lib/platform/database/copy-binary";
import { createDb, type Db, isRowFault, type Queryable } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { sqlState } from "@/lib/platform/postgres-pool";
import { storeOfFile } from "@/lib/testing/store-of-file";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const { db, database } = storeOfFile({
  ...{ max: 3, statementTimeoutMs: 2_000 },
  onIdleError: (error) => idle.push(error),
});
const idle: Error[] = [];

/** Gives up the answer to a statement a second after the bound of half a second, and with it the connection. */
const impatient = ({ max = 1, url = database.url } = {}) => createDb(url, { max, statementTimeoutMs: 500 });

describe("what crosses the edge", () => {
  test("times are milliseconds, safe integers numbers, others text, JSON parsed, bytes buffers", async () => {
    const [row] = await db.query(
      `select to_timestamp(1795000000123::float8 / 1000) as at, 9007199254740991::bigint as safe,
              9007199254740993::bigint as big, '{"a":[1]}'::jsonb as json, '\\x00ff'::bytea as bytes, null as none`,
    );
    expect(row).toEqual({
      at: 1795000000123,
      safe: 9007199254740991,
      big: "9007199254740993",
      json: { a: [1] },
      bytes: Buffer.from([0, 255]),
      none: null,
    });
  });

  test("every millisecond goes in and comes out", async () => {
    const times = Array.from({ length: 500 }, (_, i) => 1_795_000_000_000 + i * 37);
    const rows = await db.query<{ at: number }>("select to_timestamp(t / 1000) as at from unnest($1::float8[]) t", [
      times,
    ]);
    expect(rows.map((row) => row.at)).toEqual(times);
  });

  test("lists keep one plan for all values", async () => {
    const lists = createDb(database.url, { max: 1, genericPlans: "pages" });
    for (let i = 0; i < 8; i++) await lists.query("select $1::int as n", [i], { name: "planned-once" });
    const [row] = await lists.query(
      "select generic_plans as n from pg_prepared_statements where name like 'planned-once%'",
    );
    await lists.end();
    expect(row).toEqual({ n: 8 });
  });
});

test("two statements may share a name on one connection", async () => {
  const one = createDb(database.url, { max: 1 });
  const options = { name: "shared" };
  expect(await one.query("select 1 as n", [], options)).toEqual([{ n: 1 }]);
  expect(await one.query("select 2 as n", [], options)).toEqual([{ n: 2 }]);
  await one.end();
});

describe("trouble", () => {
  test("a statement that takes too long is a read-timeout, and the connection goes on", async () => {
    const short = impatient();
    await expect(short.query("select pg_sleep(30)")).rejects.toMatchObject({ code: "read-timeout" });
    expect(await short.query("select 1 as one")).toEqual([{ one: 1 }]);
    await short.end();
  });

  test.each<[string, (short: Db) => Promise<unknown>, RegExp]>([
    ["a read", (short) => short.query("select pg_sleep(30)"), /narrow the filter/],
    [
      "a read in a transaction that only reads",
      (short) => short.transaction((tx) => tx.query("select pg_sleep(30)"), { readOnly: true }),
      /narrow the filter/,
    ],
    [
      "a change",
      (short) => short.run("insert into readiness_probe (id, at) select 1, now() from pg_sleep(30)"),
      /make this change.*try again$/,
    ],
    [
      "a lock of a change",
      (short) => short.transaction((tx) => tx.query("select pg_sleep(30) from pg_class for update of pg_class")),
      /make this change.*try again$/,
    ],
  ])("a time limit says what it was the limit of: %s", async (_, work, words) => {
    const short = impatient();
    await expect(work(short)).rejects.toMatchObject({ code: "read-timeout", message: expect.stringMatching(words) });
    await short.end();
  });

  test("a transaction may take its own time", async () => {
    const short = impatient();
    const slow = short.transaction((tx) => tx.query("select pg_sleep(1.7)"), { statementTimeoutMs: 60_000 });
    await expect(slow).resolves.toHaveLength(1);
    await expect(short.query("select pg_sleep(30)")).rejects.toMatchObject({ code: "read-timeout" });
    await short.end();
  });

  test("a server error keeps its SQLSTATE", async () => {
    const error = await db.query("select 1 / 0").catch((one: unknown) => one);
    expect(sqlState(error)).toBe("22012");
  });

  test("connections that the server ends are replaced, the idle ones unseen", async () => {
    await Promise.all(Array.from({ length: 3 }, () => db.query("select pg_sleep(0.05)")));
    const other = createDb(database.url, { max: 1 });
    await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await other.end();
    await expect.poll(() => idle.length).toBe(3);
    expect(await db.query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  test("a connection that breaks in mid-statement is store-unavailable, and the pool is whole again", async () => {
    const lost = db.query("select pg_terminate_backend(pg_backend_pid()), pg_sleep(0.1)");
    await expect(lost).rejects.toMatchObject({ code: "store-unavailable" });
    await Promise.all(Array.from({ length: 6 }, () => db.query("select 1")));
  });

  test("a server that is not there is store-unavailable", async () => {
    const away = createDb("postgres://nobody@127.0.0.1:1/none", { connectTimeoutMs: 500 });
    await expect(away.query("select 1")).rejects.toMatchObject({ code: "store-unavailable" });
    await expect(away.transaction((tx) => tx.query("select 1"))).rejects.toMatchObject({ code: "store-unavailable" });
    await away.end();
  });
});

describe("a bug of the caller", () => {
  const pid = async () => (await db.query<{ pid: number }>("select pg_backend_pid() as pid"))[0]!.pid;

  test("inside a transaction stays that bug, and its connection is kept", async () => {
    const before = await pid();
    const bug = new Error("cannot read properties of undefined");
    const work = db.transaction(async (tx) => {
      await tx.query("select 1");
      throw bug;
    });
    await expect(work).rejects.toBe(bug);
    expect(await pid()).toBe(before);
  });

  test("in the rows of a copy stays that bug, and its connection is kept", async () => {
    await db.run("create table copied (n int)");
    const before = await pid();
    const bug = new Error("row 3 has no id");
    const rows = function* () {
      yield Buffer.from("1\n");
      throw bug;
    };
    await expect(db.transaction((tx) => tx.copyIn("copy copied from stdin", rows()))).rejects.toBe(bug);
    expect(await pid()).toBe(before);
    expect(await db.query("select * from copied")).toEqual([]);
  });
});

describe("copies in one round trip", () => {
  const rows = (numbers: readonly (number | null)[]) => {
    const copied = new CopyRows(2);
    for (const n of numbers)
      copied
        .row()
        .text(n === null ? null : String(n))
        .text("x".repeat(1_000));
    return copied;
  };
  const copies = (...numbers: (readonly (number | null)[])[]) =>
    numbers.map((each, table) => ({ text: `copy together_${table} from stdin (format binary)`, rows: rows(each) }));
  const many = Array.from({ length: 3_000 }, (_, n) => n);

  test("are stored together; a row that is refused ends all of them, and the connection is kept", async () => {
    for (const table of [0, 1, 2]) await db.run(`create table together_${table} (n text not null, filler text)`);
    const counts = () =>
      db.query(
        "select (select count(*) from together_0) as a, (select count(*) from together_1) as b, (select count(*) from together_2) as c",
      );
    // One at a time, they take the same connection.
    const pids = () => db.query("select pg_backend_pid() as pid");
    const before = await pids();
    for (const refused of [
      [[null], many, many],
      [many, [1, null, 2], many],
      [many, many, [...many, null]],
    ]) {
      const error = await db.transaction((tx) => tx.copyRows(copies(...refused))).catch((reason: unknown) => reason);
      expect(sqlState(error)).toBe("23502");
      expect(isRowFault(error)).toBe(true);
    }
    expect(await counts()).toEqual([{ a: 0, b: 0, c: 0 }]);
    await db.transaction((tx) => tx.copyRows(copies(many, [1], many)));
    expect(await counts()).toEqual([{ a: 3_000, b: 1, c: 3_000 }]);
    expect(await pids()).toEqual(before);
  });
});

describe("a server that cannot write", () => {
  test("is store-unavailable in words of its own, and its connection is kept", async () => {
    const connections = async (tx: Queryable) => (await tx.query<{ pid: number }>("select pg_backend_pid() as pid"))[0];
    const before = await connections(db);
    const raised = (state: string) => db.run(`do $$ begin raise exception 'x' using errcode = '${state}'; end $$`);
    await expect(raised("53100")).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/disk is full/),
    });
    await expect(raised("53200")).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/lacks memory/),
    });
    await expect(raised("58030")).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/cannot read or write/),
    });
    const write = db.transaction((tx) => tx.run("create table never (n int)"), { readOnly: true });
    await expect(write).rejects.toMatchObject({
      code: "store-unavailable",
      message: expect.stringMatching(/read-only/),
    });
    expect(await connections(db)).toEqual(before);
  });
});

describe("a store that falls silent", () => {
  /** Six connections through a proxy, all in use at once and then idle. */
  async function through() {
    const proxy = await startTcpProxy(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const far = impatient({ max: 6, url: url.href });
    await Promise.all(Array.from({ length: 6 }, () => far.query("select pg_sleep(0.1)")));
    return { proxy, far };
  }

  test("costs one statement its time, and no idle connection costs another", async () => {
    const { proxy, far } = await through();
    proxy.halfOpen();
    await expect(far.query("select 1")).rejects.toMatchObject({ code: "store-unavailable" });
    expect(await far.query("select 1 as one")).toEqual([{ one: 1 }]);
    expect(await Promise.all(Array.from({ length: 6 }, () => far.query("select 1 as one")))).toHaveLength(6);
    await far.end();
    await proxy.stop();
  });

  test("ends a transaction and a copy in mid-way, and keeps nothing of them", async () => {
    const { proxy, far } = await through();
    await db.run("create table silenced (n int)");
    const transaction = far.transaction(async (tx) => {
      await tx.run("insert into silenced values (1)");
      proxy.halfOpen();
      await tx.run("insert into silenced values (2)");
    });
    await expect(transaction).rejects.toMatchObject({ code: "store-unavailable" });
    const copy = far.transaction(async (tx) => {
      await tx.query("select 1");
      proxy.halfOpen();
      await tx.copyIn("copy silenced from stdin", [Buffer.from("3\n"), Buffer.from("4\n")]);
    });
    await expect(copy).rejects.toMatchObject({ code: "store-unavailable" });
    expect(await far.query("select * from silenced")).toEqual([]);
    await far.end();
    await proxy.stop();
  });
});

describe("a store that answers late", () => {
  /** One connection, which is open: to open it takes a busy machine longer than a caller waits for it here. */
  async function connected(): Promise<Db> {
    const small = createDb(database.url, { max: 1, connectTimeoutMs: 200 });
    const answers = () =>
      small.query("select 1").then(
        () => true,
        () => false,
      );
    await expect.poll(answers).toBe(true);
    return small;
  }

  test("is slow, not away: its backend still works on the statement, which is cancelled", async () => {
    const slow = impatient();
    const [row] = await slow.query<{ pid: number }>("select pg_backend_pid() as pid");
    const { pid } = row!;
    const answer = slow.query("select 1 from pg_sleep(0.4)").catch((error: unknown) => error);
    const state = () => db.query("select 1 from pg_stat_activity where pid = $1 and state = 'active'", [pid]);
    await expect.poll(state, { interval: 10 }).toHaveLength(1);
    // Its own time limit cannot end a backend that gets no processor.
    process.kill(pid, "SIGSTOP");
    try {
      expect(await answer).toMatchObject({ code: "read-timeout" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect(await slow.query("select 1 as one")).toEqual([{ one: 1 }]);
    await slow.end();
  });

  test("is not away because this process was too busy to read the answer", async () => {
    const slow = impatient();
    await slow.query("select 1");
    const answer = slow.query("select 1 from pg_sleep(0.2)").catch((error: unknown) => error);
    await setImmediate();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
    expect(await answer).toMatchObject({ code: "read-timeout" });
    await slow.end();
  });

  test("is asked by one connection for all who found none free", async () => {
    const small = await connected();
    const long = small.query("select pg_sleep(0.8)");
    const connect = vi.spyOn(pg.Client.prototype, "connect");
    try {
      const ends = await Promise.allSettled(Array.from({ length: 50 }, () => small.query("select 1")));
      expect(ends.every((end) => end.status === "rejected" && end.reason.code === "read-timeout")).toBe(true);
      expect(connect.mock.calls.length).toBeLessThan(5);
    } finally {
      connect.mockRestore();
    }
    await long;
    await small.end();
  });

  test("is asked one question about all statements that came late while it was asked", async () => {
    const slow = impatient({ max: 6 });
    const rows = await Promise.all(
      Array.from({ length: 6 }, () => slow.query<{ pid: number }>("select pg_backend_pid() as pid, pg_sleep(0.1)")),
    );
    const pids = rows.map(([row]) => row!.pid);
    expect(new Set(pids).size).toBe(6);
    const answers = Promise.allSettled(pids.map(() => slow.query("select pg_sleep(0.4)")));
    const active = () => db.query("select 1 from pg_stat_activity where pid = any($1) and state = 'active'", [pids]);
    await expect.poll(active, { interval: 10 }).toHaveLength(6);
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    const connect = vi.spyOn(pg.Client.prototype, "connect");
    try {
      for (const one of await answers) expect(one).toMatchObject({ reason: { code: "read-timeout" } });
    } finally {
      for (const pid of pids) process.kill(pid, "SIGCONT");
    }
    const further = connect.mock.calls.length;
    connect.mockRestore();
    await slow.end();
    // Those that came while the first question was asked are in the second.
    expect(further).toBeLessThanOrEqual(2);
  });

  test("is not away when every connection is in use", async () => {
    const small = await connected();
    const long = small.query("select pg_sleep(0.8)");
    await expect(small.query("select 1")).rejects.toMatchObject({
      code: "read-timeout",
      message: expect.stringContaining("in use"),
    });
    await long;
    await small.end();
  });
});

describe("a transaction", () => {
  test("leaves nothing when it rejects, neither the change nor its audit entry", async () => {
    const work = db.transaction(async (tx) => {
      const eventIds = [uuidv7(1), uuidv7(2)];
      const entry = { actor: "a", action: "event.tried", subjectKind: "event", subjectId: null } as const;
      await appendAudit(tx, { ...entry, before: null, after: {}, count: 2, atMs: 1, eventIds });
      throw new RangeError("no");
    });
    await expect(work).rejects.toThrow(RangeError);
    expect(await db.query("select * from audit_entries")).toEqual([]);
    expect(await db.query("select * from audit_subjects")).toEqual([]);
  });

  test("commits a change with its entry and a subject for each event", async () => {
    const eventIds = [uuidv7(1), uuidv7(2)];
    const id = await db.transaction((tx) =>
      appendAudit(tx, {
        ...({ actor: "ada", action: "event.tried", subjectKind: "event", subjectId: null } as const),
        ...{ reason: "why", before: { a: 1 }, after: undefined, count: 2, atMs: 1_795_000_000_123, eventIds },
      }),
    );
    const [entry] = await db.query("select * from audit_entries");
    expect(entry).toMatchObject({
      id,
      at: 1_795_000_000_123,
      actor: "ada",
      reason: "why",
      before: { a: 1 },
      after: null,
      count: 2,
    });
    expect(await db.query("select event_id from audit_subjects order by 1")).toEqual(
      [...eventIds].sort().map((event_id) => ({ event_id })),
    );
  });
});
