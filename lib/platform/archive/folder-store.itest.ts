import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { archiveStoreConformance } from "@/lib/platform/archive/archive-store.conformance";
import { systemClock } from "@/lib/platform/clock";
import { disksMountable, mountDisk, type SmallDisk } from "@/lib/testing/small-disk";

const open = (folder: string) =>
  openArchiveStore(parseArchiveLocation(pathToFileURL(folder).href), { clock: systemClock });

async function all(store: ArchiveStore, prefix: string) {
  const found: { key: string; bytes: number }[] = [];
  for await (const object of store.list(prefix)) found.push(object);
  return found;
}

describe("an archive in a folder", () => {
  archiveStoreConformance(async () => {
    const folder = await mkdtemp(join(tmpdir(), "parkade-archive-"));
    return {
      location: pathToFileURL(folder).href,
      missing: `${pathToFileURL(folder).href}/not-mounted`,
      keys: null,
      close: () => rm(folder, { recursive: true }),
    };
  });
});

describe("a folder", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "parkade-archive-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("lists nothing that a killed writer has left over, and keeps nothing of a write that ended", async () => {
    const store = open(folder);
    await mkdir(join(folder, "a"));
    await writeFile(join(folder, "a/.parkade-writing-0815"), "half");
    await store.put("a/b", Buffer.from("whole"));
    await expect(store.put("a/b", Buffer.from("other"))).rejects.toMatchObject({ code: "archive-refused" });
    const listed = await all(store, "");
    expect(listed).toEqual([{ key: "a/b", bytes: 5 }]);
    expect((await readdir(join(folder, "a"))).sort()).toEqual([".parkade-writing-0815", "b"]);
  });

  test("with a file where an object needs a folder says so", async () => {
    const store = open(folder);
    await store.put("a", Buffer.from("x"));
    await expect(store.put("a/b", Buffer.from("y"))).rejects.toMatchObject({
      code: "archive-unavailable",
      message: expect.stringContaining("has a file where"),
    });
    expect(Buffer.from((await store.get("a"))!).toString()).toBe("x");
  });
});

describe.skipIf(!disksMountable)("a folder on a disk of its own", () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = mountDisk(4);
  });
  afterEach(() => disk.unmount());

  test("that is full refuses what does not fit, shows no part of it, and takes it when there is room", async () => {
    const store = open(disk.path);
    await store.put("kept", Buffer.from("kept"));
    disk.fill();
    const bytes = Buffer.alloc(2 * 1024 * 1024, 7);
    const full = { code: "archive-unavailable", message: expect.stringMatching(/is full.*ENOSPC/) };
    await expect(store.put("day/large", bytes)).rejects.toMatchObject(full);
    expect(Buffer.from((await store.get("kept"))!).toString()).toBe("kept");
    disk.makeRoom();
    await store.put("day/large", bytes);
    expect(Buffer.compare((await store.get("day/large"))!, bytes)).toBe(0);
    await expect(store.put("day/larger", Buffer.alloc(3 * 1024 * 1024))).rejects.toMatchObject(full);
    const keys = (await all(store, "day/")).map(({ key }) => key);
    expect(keys).toEqual(["day/large"]);
    // What was written of the other is gone, too: it would fill the disk for good.
    expect(await readdir(join(disk.path, "day"))).toEqual(["large"]);
  });

  test("that is read-only gives what it holds, and says of each write why not", async () => {
    const store = open(disk.path);
    await store.put("kept", Buffer.from("kept"));
    expect(spawnSync("mount", ["-o", "remount,ro", disk.path]).status).toBe(0);
    const readOnly = { code: "archive-unavailable", message: expect.stringContaining("read-only") };
    await expect(store.put("new", Buffer.from("x"))).rejects.toMatchObject(readOnly);
    await expect(store.put("day/new", Buffer.from("x"))).rejects.toMatchObject(readOnly);
    await expect(store.remove("kept")).rejects.toMatchObject(readOnly);
    expect(Buffer.from((await store.get("kept"))!).toString()).toBe("kept");
  });
});
