import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLowRateStore, isNameTaken, type LowRateStore } from "@/lib/platform/database/prisma";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { storeOfFile } from "@/lib/testing/store-of-file";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";

const { db, database } = storeOfFile({ max: 2 });
let store: LowRateStore;
beforeAll(() => {
  store = createLowRateStore(database.url);
});
afterAll(() => store.end());

const ENTRY = {
  ...({ actor: "ada", action: "view.saved", subjectKind: "view", subjectId: "mine" } as const),
  ...{ before: null, after: { filter: { q: "a", from: undefined } }, count: 1, atMs: 1_795_000_000_123 },
};
const view = (name: string) => ({ id: uuidv7(1), name, filter: {}, createdBy: "ada" });

describe("a low-rate write", () => {
  test("commits with its audit entry, whose values are those of an entry written by SQL", async () => {
    await store.write(async ({ prisma, audit }) => {
      await prisma.savedView.create({ data: view("mine") });
      await audit(ENTRY);
    });
    const entries = await db.query("select * from audit_entries");
    expect(entries).toEqual([
      expect.objectContaining({
        ...{ at: 1_795_000_000_123, actor: "ada", action: "view.saved", subject_kind: "view", subject_id: "mine" },
        ...{ redrive_id: null, reason: null, before: null, after: { filter: { q: "a" } }, count: 1 },
      }),
    ]);
    expect(await db.query("select 1 from audit_entries where before is null")).toHaveLength(1);
  });

  test("leaves neither the change nor its entry when it rejects, and passes a bug on as it is", async () => {
    const bug = new RangeError("cannot read properties of undefined");
    const work = store.write(async ({ prisma, audit }) => {
      await prisma.savedView.create({ data: view("lost") });
      await audit({ ...ENTRY, subjectId: "lost" });
      throw bug;
    });
    await expect(work).rejects.toBe(bug);
    expect(await db.query("select 1 from saved_views where name = 'lost'")).toEqual([]);
    expect(await db.query("select 1 from audit_entries where subject_id = 'lost'")).toEqual([]);
  });

  test("runs again when the server ended it for a deadlock, and leaves one entry", async () => {
    const ids = [uuidv7(3), uuidv7(4)] as const;
    for (const id of ids) await store.write(({ prisma }) => prisma.savedView.create({ data: { ...view(id), id } }));
    const { promise: bothHoldOne, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    const change = (first: string, second: string, actor: string) =>
      store.write(async ({ prisma, audit }) => {
        const touch = (id: string) => prisma.savedView.update({ where: { id }, data: { createdBy: actor } });
        await touch(first);
        if (++runs === 2) resolve();
        await bothHoldOne;
        await touch(second);
        await audit({ ...ENTRY, actor, subjectId: "both" });
      });
    await Promise.all([change(...ids, "bea"), change(ids[1], ids[0], "cid")]);
    expect(runs).toBe(3);
    const entries = await db.query("select actor from audit_entries where subject_id = 'both' order by actor");
    expect(entries).toEqual([{ actor: "bea" }, { actor: "cid" }]);
  });

  test("tells a name that is taken", async () => {
    await store.write(({ prisma }) => prisma.savedView.create({ data: view("taken") }));
    const again = store.write(({ prisma }) => prisma.savedView.create({ data: { ...view("taken"), id: uuidv7(2) } }));
    await expect(again).rejects.toSatisfy(isNameTaken);
  });
});

describe("what the store says", () => {
  test.each([
    ["53100", "store-unavailable", /disk is full/],
    ["25006", "store-unavailable", /read-only/],
    ["57014", "read-timeout", /took too long.*(narrow the filter|make this change)/],
    ["57P01", "store-unavailable", /cannot be reached/],
  ])("%s is a %s, as from the store's own connections", async (state, code, message) => {
    const raised = (errcode: string) => `do $$ begin raise exception 'x' using errcode = '${errcode}'; end $$`;
    const refused = { code, message: expect.stringMatching(message) };
    await expect(store.read((prisma) => prisma.$executeRawUnsafe(raised(state)))).rejects.toMatchObject(refused);
    const write = store.write(({ prisma }) => prisma.$executeRawUnsafe(raised(state)));
    await expect(write).rejects.toMatchObject(refused);
  });

  test("a server that is not there is store-unavailable", async () => {
    const away = createLowRateStore("postgres://nobody@127.0.0.1:1/none");
    const read = away.read((prisma) => prisma.source.findMany());
    const write = away.write(({ prisma }) => prisma.savedView.create({ data: view("away") }));
    for (const asked of [read, write]) {
      const error = await asked.catch((thrown: unknown) => thrown);
      // Not an error of Prisma with its code: what answers a request knows a DomainError only.
      expect(error).toBeInstanceOf(DomainError);
      expect(error).toMatchObject({ code: "store-unavailable", message: expect.stringMatching(/^The store cannot/) });
    }
    await away.end();
  });

  test("a silent connection costs one call, and no idle one another", async () => {
    const proxy = await startTcpProxy(Number(new URL(database.url).port));
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const far = createLowRateStore(url.href);
    const both = () =>
      Promise.all([
        far.read((prisma) => prisma.source.findMany()),
        far.write(({ prisma }) => prisma.$executeRaw`select pg_sleep(0.1)`),
      ]);
    await both();
    const silenced = far.write(async ({ prisma }) => {
      await prisma.source.findMany();
      proxy.halfOpen();
      await prisma.source.findMany();
    });
    await expect(silenced).rejects.toMatchObject({ code: "store-unavailable" });
    await both();
    await far.end();
    await proxy.stop();
  });
});
