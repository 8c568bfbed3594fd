import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import type { S3Keys } from "@/lib/platform/archive/s3-bucket";
import { SEAL_BYTES } from "@/lib/platform/archive/sealed-store";
import { systemClock } from "@/lib/platform/clock";
import { program } from "@/lib/testing/programs";

export type ArchivePlace = {
  /** As PARKADE_ARCHIVE has it. */
  location: string;
  /** The same with a folder or bucket that does not exist. */
  missing: string;
  keys: S3Keys | null;
  /** 32 bytes in hex; absent = objects are stored as they are. */
  encryptionKey?: string;
  close(): Promise<void>;
};

const MIB = 1024 * 1024;

/** The guarantees of ArchiveStore, for every store that claims to be one. */
export function archiveStoreConformance(open: () => Promise<ArchivePlace>): void {
  let place: ArchivePlace;
  let store: ArchiveStore;
  let serial = 0;
  const opened: ArchiveStore[] = [];

  const connect = (location = place.location) => {
    const encryptionKeys = place.encryptionKey === undefined ? [] : [Buffer.from(place.encryptionKey, "hex")];
    const options = { clock: systemClock, keys: place.keys, encryptionKeys };
    const client = openArchiveStore(parseArchiveLocation(location), options);
    opened.push(client);
    return client;
  };
  /** Bytes of an object as they are stored. */
  const stored = (bytes: number) => bytes + (place.encryptionKey === undefined ? 0 : SEAL_BYTES);
  /** Begins the keys of one test. */
  const folder = () => `test-${++serial}/`;
  const all = async (prefix: string, from = store) => {
    const found: { key: string; bytes: number }[] = [];
    for await (const object of from.list(prefix)) found.push(object);
    return found;
  };

  beforeAll(async () => {
    place = await open();
    store = connect();
  });
  afterAll(async () => {
    await Promise.all(opened.map((client) => client.close()));
    await place?.close();
  });

  describe("an object", () => {
    test.each([
      ["no bytes", Buffer.alloc(0)],
      ["every byte value", Buffer.from(Array.from({ length: 256 }, (_, value) => value))],
      ["5 MiB", randomBytes(5 * MIB)],
    ])("of %s comes back as it was written, to another client, too", async (_, bytes) => {
      const key = `${folder()}removed/2026-11-25/orders.zst`;
      await store.put(key, bytes);
      for (const reader of [store, connect()]) {
        const found = await reader.get(key);
        expect(found?.byteLength).toBe(bytes.byteLength);
        expect(Buffer.compare(found!, bytes)).toBe(0);
      }
    });

    test("is written once: a second write is refused, and the first bytes stay", async () => {
      const key = `${folder()}once`;
      await store.put(key, Buffer.from("first"));
      const second = store.put(key, Buffer.from("second"));
      await expect(second).rejects.toMatchObject({ code: "archive-refused", message: expect.stringContaining(key) });
      expect(Buffer.from((await store.get(key))!).toString()).toBe("first");
    });

    test("that ten clients write at once is one of theirs, whole, and nine are refused", async () => {
      const prefix = folder();
      const writers = Array.from({ length: 10 }, () => connect());
      const outcomes = await Promise.allSettled(
        writers.map((writer, index) => writer.put(`${prefix}raced`, Buffer.alloc(MIB, index + 1))),
      );
      const winners = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []));
      expect(winners).toHaveLength(1);
      const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
      expect(new Set(reasons)).toEqual(new Set(["archive-refused"]));
      const found = await store.get(`${prefix}raced`);
      expect(Buffer.compare(found!, Buffer.alloc(MIB, winners[0]! + 1))).toBe(0);
      expect(await all(prefix)).toEqual([{ key: `${prefix}raced`, bytes: stored(MIB) }]);
    });

    test("that is not there is null, also below an object's name and where there is a folder", async () => {
      const prefix = folder();
      await store.put(`${prefix}here/object`, Buffer.from("x"));
      expect(await store.get(`${prefix}nowhere`)).toBeNull();
      expect(await store.get(`${prefix}here`)).toBeNull();
      expect(await store.get(`${prefix}here/object/below`)).toBeNull();
    });

    test("is gone when it is removed; removing what is not there is no error, and its key is free again", async () => {
      const key = `${folder()}removed`;
      await store.put(key, Buffer.from("old"));
      await store.remove(key);
      await store.remove(key);
      expect(await store.get(key)).toBeNull();
      await store.put(key, Buffer.from("new"));
      expect(Buffer.from((await store.get(key))!).toString()).toBe("new");
    });

    test("has the name that it was given", async () => {
      const prefix = folder();
      const names = ["with blank", "ümlaut-日本", "a+b&c=d?e#f%20", ".hidden", "q'uo\"te", "x".repeat(200)];
      for (const name of names) await store.put(`${prefix}${name}`, Buffer.from(name));
      for (const name of names) expect(Buffer.from((await store.get(`${prefix}${name}`))!).toString()).toBe(name);
      expect((await all(prefix)).map(({ key }) => key).sort()).toEqual(names.map((name) => `${prefix}${name}`).sort());
    });
  });

  describe("a list", () => {
    test("has every object below a prefix, more than a page of them, in the order of their keys", async () => {
      const prefix = folder();
      // A page of S3 has a thousand; a folder has no pages.
      const count = place.location.startsWith("s3:") ? 1_050 : 90;
      const numbers = Array.from({ length: count }, (_, n) => n);
      const keys = numbers.map((n) => `${prefix}day-${n % 3}/${String(n * 7919).padStart(8, "0")}`);
      for (let start = 0; start < keys.length; start += 50)
        await Promise.all(keys.slice(start, start + 50).map((key) => store.put(key, Buffer.alloc(3))));
      expect(await all(prefix)).toEqual(keys.toSorted().map((key) => ({ key, bytes: stored(3) })));
      expect(await all(`${prefix}day-1/`)).toHaveLength(count / 3);
      expect(await all(`${prefix}day-`)).toHaveLength(count);
      expect(await all(`${prefix}day-1/000000`)).toHaveLength(
        keys.filter((key) => key.includes("/000000") && key.includes("day-1")).length,
      );
      expect(await all(`${prefix}day-9`)).toEqual([]);
    });

    test("orders a folder by its slash, as all bytes of a key", async () => {
      const prefix = folder();
      const keys = ["a-b", "a.b", "a/x", "a0", "a/b/c"].map((name) => `${prefix}${name}`);
      for (const key of keys) await store.put(key, Buffer.alloc(1));
      expect((await all(prefix)).map(({ key }) => key)).toEqual(keys.toSorted());
    });
  });

  test.each([
    "../out",
    "a/../../out",
    "/etc/out",
    "a//b",
    "a/",
    "",
    ".",
    "nul\0byte",
    "back\\slash",
    "a/.parkade-writing-1",
  ])("the key %j is refused", async (key) => {
    const refused = { code: "archive-refused" };
    await expect(store.put(key, Buffer.from("x"))).rejects.toMatchObject(refused);
    await expect(store.get(key)).rejects.toMatchObject(refused);
    await expect(store.remove(key)).rejects.toMatchObject(refused);
  });

  test("a writer that is killed leaves whole objects or none", async () => {
    const bytes = 32 * MIB;
    const location = place.location;
    const prefix = folder();
    const { keys, encryptionKey } = place;
    const argument = JSON.stringify({ location, keys, encryptionKey, prefix, bytes });
    const child = spawn(process.execPath, [program("doomed-archiver"), argument], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const begun = new Promise<void>((resolve) => {
      child.on("message", ({ begins }: { begins: number }) => begins === 2 && resolve());
    });
    await begun;
    await sleep(20);
    child.kill("SIGKILL");
    await once(child, "exit");
    const found = await all(prefix);
    expect(found.length).toBeGreaterThanOrEqual(2);
    for (const object of found) {
      const value = Number(object.key.slice(prefix.length)) + 1;
      expect(object.bytes).toBe(stored(bytes));
      expect(Buffer.compare((await store.get(object.key))!, Buffer.alloc(bytes, value))).toBe(0);
    }
  });

  test("a folder or bucket that does not exist is said by every call, and nothing makes it", async () => {
    const away = connect(place.missing);
    const said = { code: "archive-unavailable", message: expect.stringMatching(/does not exist.*PARKADE_ARCHIVE/) };
    await expect(away.put("a/b", Buffer.from("x"))).rejects.toMatchObject(said);
    await expect(away.get("a/b")).rejects.toMatchObject(said);
    await expect(away.remove("a/b")).rejects.toMatchObject(said);
    await expect(all("a", away)).rejects.toMatchObject(said);
  });
}
