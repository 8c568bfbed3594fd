import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/platform/archive/archive-store";
import { archiveStoreConformance } from "@/lib/platform/archive/archive-store.conformance";
import { SEAL_BYTES } from "@/lib/platform/archive/sealed-store";
import { systemClock } from "@/lib/platform/clock";

describe("a sealed archive in a folder", () => {
  archiveStoreConformance(async () => {
    const folder = await mkdtemp(join(tmpdir(), "parkade-archive-"));
    return {
      location: pathToFileURL(folder).href,
      missing: `${pathToFileURL(folder).href}/not-mounted`,
      keys: null,
      encryptionKey: randomBytes(32).toString("hex"),
      close: () => rm(folder, { recursive: true }),
    };
  });
});

describe("an object that is sealed", () => {
  const [key, former, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const text = Buffer.from("personal data of order-77");
  let folder: string;
  const open = (...encryptionKeys: Uint8Array[]) =>
    openArchiveStore(parseArchiveLocation(pathToFileURL(folder).href), { clock: systemClock, encryptionKeys });
  const stored = (name: string) => readFile(join(folder, name));
  const unreadable = (message: RegExp) => ({ code: "archive-unreadable", message: expect.stringMatching(message) });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "parkade-archive-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("shows nothing of what it holds, and not that another holds the same", async () => {
    const store = open(key);
    await store.put("a", text);
    await store.put("b", text);
    expect((await stored("a")).includes("order-77")).toBe(false);
    expect(await stored("a")).toHaveLength(text.length + SEAL_BYTES);
    const body = async (name: string) => (await stored(name)).subarray(16);
    expect(Buffer.compare(await body("a"), await body("b"))).not.toBe(0);
  });

  test("opens with its key alone, and the fault names the variable and no key", async () => {
    await open(key).put("a", text);
    const without = open().get("a");
    await expect(without).rejects.toMatchObject(
      unreadable(/^a is sealed, and PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY is not set/),
    );
    const other = open(foreign).get("a");
    await expect(other).rejects.toMatchObject(
      unreadable(/another key.*PARKADE_SECRET_ARCHIVE_ENCRYPTION_KEY.*after a comma/),
    );
    await expect(open(foreign).get("a")).rejects.not.toThrow(foreign.toString("hex"));
    expect(await open(foreign, key).get("a")).toEqual(text);
  });

  test("is sealed with the first key, and objects from before open beside it", async () => {
    await open().put("plain", text);
    await open(former).put("former", text);
    const store = open(key, former);
    await store.put("own", text);
    for (const name of ["plain", "former", "own"]) expect(await store.get(name), name).toEqual(text);
    expect(await stored("plain")).toEqual(text);
    expect(await open(key).get("own")).toEqual(text);
  });

  test("does not open in the place of another, nor with any byte changed or cut", async () => {
    const store = open(key);
    await store.put("a", text);
    await copyFile(join(folder, "a"), join(folder, "b"));
    await expect(store.get("b")).rejects.toMatchObject(unreadable(/^b was changed/));
    const bytes = await stored("a");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      await writeFile(join(folder, "a"), changed);
      const found = await store.get("a").catch((error: unknown) => error);
      // Without its first bytes it is no sealed object any more: its SHA-256 is not the one that the store names.
      if (at < 8) expect(found).toEqual(changed);
      else expect(found, String(at)).toMatchObject({ code: "archive-unreadable" });
    }
    for (const length of [SEAL_BYTES, bytes.length - 1]) {
      await writeFile(join(folder, "a"), bytes.subarray(0, length));
      await expect(store.get("a")).rejects.toMatchObject(unreadable(/^a was changed/));
    }
  });
});
