import { createSecretKey, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Queryable } from "@/lib/platform/database/db";
import { readMasterKeys } from "@/lib/platform/sealing/master-keys";
import { SEAL_BYTES, seal, unseal } from "@/lib/platform/sealing/sealed-bytes";
import { bodyColumns, openBodies } from "@/lib/platform/sealing/sealed-rows";
import { Sealing, type WrappedKey } from "@/lib/platform/sealing/sealing";
import { manualClock } from "@/lib/testing/manual-clock";

const newKey = () => randomBytes(32).toString("base64");
const ONE = newKey();
/** All but its end could be an id. */
const PLAIN = Buffer.alloc(32, 7).toString("base64");
const read = (keys: string | null, more: { keyId?: string; secretFiles?: string } = {}) =>
  readMasterKeys({ keys, keyId: more.keyId ?? null, secretFiles: more.secretFiles ?? null });

describe("sealed bytes", () => {
  const key = createSecretKey(randomBytes(32));
  const text = Buffer.from('{"iban":"DE02 1203 0000 0000 2020 51"}');

  test("open as they were, in their place and with their key alone", () => {
    const sealed = seal(key, "here", text);
    expect(sealed).toHaveLength(text.length + SEAL_BYTES);
    expect(sealed.includes("DE02")).toBe(false);
    expect(seal(key, "here", text)).not.toEqual(sealed);
    expect(unseal(key, "here", sealed)).toEqual(text);
    expect(unseal(key, "there", sealed)).toBeNull();
    expect(unseal(createSecretKey(randomBytes(32)), "here", sealed)).toBeNull();
    expect(unseal(key, "here", seal(key, "here", Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  test("do not open with any byte changed or cut", () => {
    const sealed = seal(key, "here", text);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(unseal(key, "here", changed), String(at)).toBeNull();
      expect(unseal(key, "here", sealed.subarray(0, at)), String(at)).toBeNull();
    }
  });

  test("never use a nonce twice, also where the spare random bytes end", () => {
    const nonces = new Set(Array.from({ length: 3_000 }, () => seal(key, "", text).subarray(1, 13).toString("hex")));
    expect(nonces.size).toBe(3_000);
  });
});

describe("master keys", () => {
  test("are listed, the first wraps, or the one that is named; none stores bodies as they are", () => {
    expect(read(null)).toMatchObject({ current: null });
    expect(read(`2026-a=${ONE}, b=${newKey()}`)).toMatchObject({ current: "2026-a" });
    expect(read(`a=${ONE},b=${newKey()}`, { keyId: "b" })).toMatchObject({ current: "b" });
    const off = read(`a=${ONE}`, { keyId: "none" });
    expect(off.current).toBeNull();
    expect([...off.byId.keys()]).toEqual(["a"]);
  });

  test("lie in a file, outside of the folder of what sources may name", () => {
    const folder = mkdtempSync(join(tmpdir(), "parkade-keys-"));
    try {
      const path = join(folder, "keys");
      writeFileSync(path, `# since June\na=${ONE}\n\nb=${newKey()}\n`);
      expect([...read(`file:${path}`).byId.keys()]).toEqual(["a", "b"]);
      expect(() => read(`file:${path}`, { secretFiles: folder })).toThrow(/move it out of that folder/);
      expect(() => read(`file:${path}-gone`)).toThrow(
        /PARKADE_ENCRYPTION_KEYS names a file that cannot be read \(ENOENT\)/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ["has no id", ONE, /entry 1 has no id/],
    ["has no id and no + or /", PLAIN, /entry 1 has no id/],
    ["is cut", `a=${ONE.slice(0, 40)}`, /entry 1 \(a\) is no key: write it as id=KEY/],
    ["has 33 bytes", `a=${randomBytes(33).toString("base64")}`, /entry 1 \(a\) is no key/],
    ["is there twice", `a=${ONE},a=${ONE}`, /entry 2 has the id a again/],
    ["is none", " , ", /holds no key/],
    ["has the id that means none", `none=${ONE}`, /has no id/],
  ])("one that %s is refused with the variable and the fix, and is not repeated", (_, keys, said) => {
    expect(() => read(keys)).toThrow(said);
    expect(() => read(keys)).toThrow(/^PARKADE_ENCRYPTION_KEYS/);
    for (const key of [ONE, PLAIN]) expect(() => read(keys)).not.toThrow(key.slice(0, 40));
  });

  test("one that is named and not there is refused with those that are", () => {
    expect(() => read(`a=${ONE}`, { keyId: "b" })).toThrow(/PARKADE_ENCRYPTION_KEY_ID is "b".*name one of a, or none/);
    expect(() => read(null, { keyId: "a" })).toThrow(/PARKADE_ENCRYPTION_KEYS is not/);
  });
});

describe("data keys", () => {
  /** The table of data keys. */
  function store() {
    const rows: (WrappedKey & { madeMs: number })[] = [];
    let reads = 0;
    const query = async (text: string, [first]: unknown[]) => {
      if (text.includes("made_at >"))
        return rows.filter((row) => row.masterKey === first).map((row) => ({ ...row, ageS: 0 }));
      if (text.includes("where id = $1")) return rows.filter((row) => row.id === first);
      reads++;
      return rows.filter((row) => (first as string[]).includes(row.id));
    };
    const run = async (_: string, [id, masterKey, wrapped]: [string, string, Buffer]) =>
      rows.push({ id, masterKey, wrapped, madeMs: 0 });
    return { rows, reads: () => reads, db: { query, run } as unknown as Queryable };
  }
  const body = { payload: Buffer.from("clear"), headers: [["a", "é"]], errorDetail: "at x" };
  const id = "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a70";

  async function sealedRow(sealing: Sealing, db: Queryable) {
    await sealing.makeReady(db, db);
    const { headers, ...columns } = bodyColumns(sealing, { id, revision: 1 }, body);
    return { id, revision: 1, headers: JSON.parse(headers) as unknown, ...columns } as never;
  }
  const openWith = async (sealing: Sealing, db: Queryable, row: never) =>
    (await openBodies({ ...db, sealing }, [row]))[0] as unknown as {
      payload: Buffer;
      headers: unknown;
      fault?: string;
    };

  test("are made once for a day, and are not looked for again while they are known", async () => {
    const { rows, db, reads } = store();
    const clock = manualClock({ wallMs: 1_000 });
    const first = new Sealing(read(`a=${ONE}`), clock);
    expect(first.isDue(db)).toBe(true);
    await Promise.all([first.makeReady(db, db), first.makeReady(db, db)]);
    await new Sealing(read(`a=${ONE}`), clock).makeReady(db, db);
    expect(rows).toHaveLength(1);
    expect(first.isDue(db)).toBe(false);
    await clock.advance(60_000);
    expect(first.isDue(db)).toBe(true);
    await first.makeReady(db, db);
    expect([rows.length, first.isDue(db)]).toEqual([1, false]);
    await clock.advance(86_340_000);
    expect(first.isDue(db)).toBe(true);
    const other = new Sealing(read(`a=${ONE}`), clock);
    const row = await sealedRow(first, db);
    expect(await openWith(other, db, row)).toMatchObject({ payload: body.payload, headers: body.headers });
    await openWith(other, db, row);
    expect(reads()).toBe(1);
  });

  test("that the store has lost are stored again, within a minute or after a new connection", async () => {
    const { rows, db } = store();
    const clock = manualClock();
    const sealing = new Sealing(read(`a=${ONE}`), clock);
    const row = await sealedRow(sealing, db);
    // Another process has wrapped it with another master key.
    const next = newKey();
    const rewrapped = new Sealing(read(`b=${next},a=${ONE}`), clock).rewrap(rows[0]!);
    Object.assign(rows[0]!, { masterKey: "b", wrapped: rewrapped });
    const another = {};
    expect([sealing.isDue(db), sealing.isDue(another)]).toEqual([false, true]);
    await sealing.makeReady(db, another);
    rows.length = 0;
    await clock.advance(60_000);
    await sealing.makeReady(db, db);
    expect(await openWith(new Sealing(read(`b=${next}`), clock), db, row)).toMatchObject({ payload: body.payload });
  });

  test("are stored in the store of each connection, while one to the store of before still answers", async () => {
    const [old, standby] = [store(), store()];
    const clock = manualClock();
    const sealing = new Sealing(read(`a=${ONE}`), clock);
    await sealing.makeReady(old.db, old.db);
    await clock.advance(60_000);
    await Promise.all([sealing.makeReady(old.db, old.db), sealing.makeReady(standby.db, standby.db)]);
    const row = await sealedRow(sealing, standby.db);
    expect(await openWith(new Sealing(read(`a=${ONE}`), clock), standby.db, row)).toMatchObject({
      payload: body.payload,
    });
    // The key of the next day is made on one of them.
    for (const { rows } of [old, standby]) rows.length = 0;
    await clock.advance(86_400_000);
    await Promise.all([sealing.makeReady(old.db, old.db), sealing.makeReady(standby.db, standby.db)]);
    expect(standby.rows.map(({ id }) => id)).toEqual(old.rows.map(({ id }) => id));
    expect(standby.rows).toHaveLength(1);
  });

  test("without their master key nothing opens, and the fault names its id and no key", async () => {
    const { db, rows } = store();
    const clock = manualClock();
    const row = await sealedRow(new Sealing(read(`old=${ONE}`), clock), db);
    const without = await openWith(new Sealing(read(`new=${newKey()}`), clock), db, row);
    expect(without).toEqual({ id, fault: "it cannot be decrypted: the encryption key old is missing" });
    const renamed = await openWith(new Sealing(read(`old=${newKey()}`), clock), db, row);
    expect(renamed.fault).toMatch(/the encryption key old is another one than before/);
    rows.length = 0;
    expect((await openWith(new Sealing(read(`old=${ONE}`), clock), db, row)).fault).toMatch(
      /the store lacks its data key/,
    );
  });

  test("are wrapped anew by the current key, and the former one is not needed any more", async () => {
    const { db, rows } = store();
    const clock = manualClock();
    const row = await sealedRow(new Sealing(read(`old=${ONE}`), clock), db);
    const next = newKey();
    const wrapped = new Sealing(read(`new=${next},old=${ONE}`), clock).rewrap(rows[0]!);
    Object.assign(rows[0]!, { masterKey: "new", wrapped });
    expect(await openWith(new Sealing(read(`new=${next}`), clock), db, row)).toMatchObject({ payload: body.payload });
  });

  test("a body does not open as another event's, nor as another revision", async () => {
    const { db } = store();
    const sealing = new Sealing(read(`a=${ONE}`), manualClock());
    const row = (await sealedRow(sealing, db)) as object;
    const elsewhere = { ...row, id: id.replace("019", "018") } as never;
    for (const moved of [elsewhere, { ...row, revision: 2 } as never])
      expect((await openWith(sealing, db, moved)).fault).toMatch(/what is stored was changed/);
  });
});
