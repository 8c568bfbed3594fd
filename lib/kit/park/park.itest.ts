import { spawn } from "node:child_process";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { systemClock } from "@/lib/platform/clock";
import { createParker, type Parked, type Parker, type ParkerOptions } from "./park";

let parkade: ParkadeServer;
let folder: string;
const parkers: Parker[] = [];

beforeEach(async () => {
  parkade = await parkadeServer({ PARKADE_PAYLOAD_BYTES_MAX: "2000", PARKADE_REQUEST_BYTES_MAX: "20000" });
  folder = mkdtempSync(join(tmpdir(), "parkade-spool-"));
});
afterEach(async () => {
  await Promise.all(parkers.splice(0).map((parker) => parker.close()));
  await parkade.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Waits of an outage take milliseconds. */
const hasty = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.min(ms, 10), signal),
};

type Reported = { dropped: string[]; setAside: string[]; delays: number[]; errors: string[]; replayed: number };
function parker(more: Partial<ParkerOptions> = {}): Parker & { reported: Reported } {
  const reported: Reported = { dropped: [], setAside: [], delays: [], errors: [], replayed: 0 };
  const made = createParker({
    url: parkade.url,
    source: "orders",
    spoolDir: folder,
    waitMsMax: 10_000,
    clock: hasty,
    observer: {
      dropped: ({ reason }) => reported.dropped.push(reason),
      setAside: ({ eventId, code }) => reported.setAside.push(`${eventId} ${code}`),
      outage: ({ error, delayMs }) => {
        reported.delays.push(delayMs);
        reported.errors.push(String(error));
      },
      replayed: ({ count }) => {
        reported.replayed += count;
      },
    },
    ...more,
  });
  parkers.push(made);
  return Object.assign(made, { reported });
}

const park = (by: Parker, id: string, payload: unknown = { id }) =>
  by.park(new Error("consumer failed"), { eventId: id, aggregateId: "a", payload });
const statuses = (parked: Parked[]) => [...new Set(parked.map(({ status }) => status))];
const ids = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}-${n}`);
const segments = () => readdirSync(folder).filter((name) => name.endsWith(".ndjson") && name !== "refused.ndjson");

describe("Parkade answers", () => {
  test("events are stored in batches, in their order; a repeat is a duplicate", async () => {
    const by = parker();
    const wanted = ids("e", 300);
    expect(statuses(await Promise.all(wanted.map((id) => park(by, id))))).toEqual(["stored"]);
    expect(await parkade.parked()).toEqual(wanted);
    expect(parkade.requests()).toBeLessThan(100);
    expect(await park(by, "e-7")).toEqual({ status: "stored", eventId: "e-7" });
    expect(await parkade.parked()).toHaveLength(300);
    expect(segments()).toEqual([]);
  });

  test("an event that Parkade never takes is dropped and said; its neighbours are stored", async () => {
    const by = parker();
    const all = await Promise.all([park(by, "e-0"), park(by, "large", "x".repeat(3_000)), park(by, "e-1")]);
    expect(all.map(({ status }) => status)).toEqual(["stored", "dropped", "stored"]);
    expect(all[1]).toMatchObject({
      reason: "refused",
      detail: expect.stringMatching(/payload-too-large: .* limit is 2000/),
    });
    expect(await parkade.parked()).toEqual(["e-0", "e-1"]);
  });

  test("413: a request that is too large goes in smaller ones", async () => {
    const by = parker();
    const wanted = ids("big", 40);
    expect(statuses(await Promise.all(wanted.map((id) => park(by, id, "x".repeat(1_000)))))).toEqual(["stored"]);
    expect(await parkade.parked()).toEqual(wanted);
  });

  test("what cannot be serialised is dropped, and nothing throws", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const by = parker({
      observer: {
        dropped: () => {
          throw new Error("hook");
        },
      },
    });
    expect(await park(by, "e", cyclic)).toMatchObject({ status: "dropped", reason: "invalid" });
    expect(await by.park(null, null as never)).toMatchObject({ status: "dropped", reason: "invalid" });
  });
});

describe("Parkade does not answer", () => {
  test("down: events wait on disk and come in their order when it is back", async () => {
    await parkade.down();
    const by = parker();
    const wanted = ids("e", 450);
    for (const id of wanted) expect((await park(by, id)).status).toBe("spooled");
    expect(await by.flush()).toBe(false);
    await parkade.up();
    await expect.poll(() => parkade.parked()).toEqual(wanted);
    await expect.poll(segments).toEqual([]);
    expect(by.reported.replayed).toBe(450);
    expect(await park(by, "after")).toMatchObject({ status: "stored" });
  });

  test("slow: park returns within its bound, from the disk", async () => {
    const gate = Promise.withResolvers<void>();
    parkade.before = () => gate.promise;
    const by = parker({ waitMsMax: 300, requestTimeoutMs: 60_000 });
    expect((await park(by, "e-0")).status).toBe("spooled");
    gate.resolve();
    await expect.poll(segments).toEqual([]);
    expect(await parkade.parked()).toEqual(["e-0"]);
  });

  test("neither Parkade nor the disk: dropped within the bound, and said", async () => {
    const gate = Promise.withResolvers<void>();
    parkade.before = () => gate.promise;
    writeFileSync(join(folder, "file"), "");
    const by = parker({ waitMsMax: 200, spoolDir: join(folder, "file", "none") });
    expect(await park(by, "e-0")).toMatchObject({ status: "dropped", reason: "spool-failed" });
    gate.resolve();
    await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
    expect(await park(by, "e-1")).toMatchObject({ status: "stored" });
  });

  test("429 with Retry-After: waits at least that long, loses nothing", async () => {
    await parkade.stop();
    parkade = await parkadeServer({ PARKADE_CLIENT_REQUESTS: "2" });
    const by = parker({ batch: 1 });
    expect((await park(by, "e-0")).status).toBe("stored");
    expect((await park(by, "e-1")).status).toBe("stored");
    expect((await park(by, "e-2")).status).toBe("spooled");
    await expect.poll(() => by.reported.delays.length).toBeGreaterThan(0);
    expect(by.reported.delays[0]).toBeGreaterThanOrEqual(1_000);
    await expect.poll(() => parkade.parked()).toEqual(["e-0", "e-1", "e-2"]);
  });

  test("an unknown source is waited for: somebody makes it", async () => {
    const by = parker({ source: "later" });
    expect((await park(by, "e-0")).status).toBe("spooled");
    expect(by.reported.dropped).toEqual([]);
    await parkade.console.deps.db.run(
      "insert into sources (id, name, kind, config) select gen_random_uuid(), 'later', kind, config from sources limit 1",
    );
    await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
  });
});

describe("a source that takes signed requests only", () => {
  const OLD = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQ=";
  const NEW = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";

  test("takes either of two secrets, so that senders change one after the other", async () => {
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [OLD, NEW] });
    expect((await park(parker({ signing: { secret: OLD } }), "e-0")).status).toBe("stored");
    expect((await park(parker({ signing: { secret: NEW } }), "e-1")).status).toBe("stored");
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [NEW] });
    expect((await park(parker({ signing: { secret: NEW } }), "e-2")).status).toBe("stored");
    expect((await park(parker({ signing: { secret: OLD } }), "e-3")).status).toBe("spooled");
    expect(await parkade.parked()).toEqual(["e-0", "e-1", "e-2"]);
  });

  test("hmac, with the header, prefix, encoding and time that the source asks for", async () => {
    const form = { header: "x-mac", prefix: "v0=", encoding: "base64", timestampHeader: "x-time" } as const;
    await parkade.takeSigned({ scheme: "hmac", secrets: ["It's a secret"], ...form });
    const by = parker({ signing: { scheme: "hmac", secret: "It's a secret", ...form } });
    expect((await park(by, "e-0")).status).toBe("stored");
    await parkade.takeSigned({ scheme: "hmac", secrets: ["It's a secret"] });
    const plain = parker({ signing: { scheme: "hmac", secret: "It's a secret" } });
    expect((await park(plain, "e-1")).status).toBe("stored");
  });

  test("what waited on disk for an hour is signed anew, in the smaller requests of a large one too", async () => {
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [NEW] });
    await parkade.down();
    let agoMs = 60 * 60_000;
    const clock = { ...hasty, wallMs: () => hasty.wallMs() - agoMs };
    const by = parker({ signing: { secret: NEW }, clock });
    const wanted = ids("e", 40);
    for (const id of wanted) expect((await park(by, id, "x".repeat(1_000))).status).toBe("spooled");
    agoMs = 0;
    await parkade.up();
    await expect.poll(() => parkade.parked()).toEqual(wanted);
  });

  test("a wrong clock is said, not the secret suspected; right again, all comes", async () => {
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [NEW] });
    let aheadMs = 17 * 60_000;
    const by = parker({ signing: { secret: NEW }, clock: { ...hasty, wallMs: () => hasty.wallMs() + aheadMs } });
    expect((await park(by, "e-0")).status).toBe("spooled");
    await expect.poll(() => by.reported.errors.at(-1)).toMatch(/17 minutes ahead of Parkade's.*set the clock/);
    aheadMs = 0;
    await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
  });

  test("a wrong secret is an outage that says what the source takes, and never the secret", async () => {
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [NEW] });
    const by = parker({ signing: { secret: OLD } });
    expect((await park(by, "e-0")).status).toBe("spooled");
    await expect.poll(() => by.reported.errors.at(-1)).toMatch(/takes only requests that are signed/);
    expect(by.reported.errors.join()).not.toMatch(/whsec_|minutes ahead|minutes behind/);
  });

  test.each([
    [{ secret: "" }, /signing\.secret is empty/],
    [{ secret: "short" }, /signing\.secret must be at least 16 bytes in base64/],
    [{ secret: NEW, scheme: "rsa" as never }, /signing\.scheme is "rsa": give standard-webhooks or hmac/],
  ])("%j cannot sign: %s", (signing, message) => {
    expect(() => parker({ signing })).toThrow(message);
  });
});

describe("the spool", () => {
  test("is bounded: what does not fit is dropped and said", async () => {
    await parkade.down();
    const by = parker({ spoolBytesMax: 4_000 });
    const all: Parked[] = [];
    for (const id of ids("e", 40)) all.push(await park(by, id));
    const dropped = all.filter(({ status }) => status === "dropped");
    expect(dropped[0]).toMatchObject({ reason: "spool-full" });
    const bytes = segments().reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
    expect(bytes).toBeLessThanOrEqual(4_000);
    await parkade.up();
    await expect.poll(() => parkade.parked()).toHaveLength(40 - dropped.length);
  });

  test("memory is bounded: more than it may hold is dropped at once", async () => {
    const gate = Promise.withResolvers<void>();
    parkade.before = () => gate.promise;
    const by = parker({ memoryBytesMax: 5_000 });
    const all = ids("e", 40).map((id) => park(by, id));
    expect(await all.at(-1)).toMatchObject({ status: "dropped", reason: "memory-full" });
    gate.resolve();
    const stored = (await Promise.all(all)).filter(({ status }) => status === "stored").length;
    expect(stored).toBeGreaterThan(1);
    expect(await parkade.parked()).toHaveLength(stored);
  });

  test("a process that was closed leaves its events to the next one; a torn last line is left out", async () => {
    await parkade.down();
    const first = parker();
    for (const id of ids("e", 3)) await park(first, id);
    await first.close();
    expect(await park(first, "late")).toMatchObject({ status: "dropped", reason: "closed" });
    const [segment] = segments();
    appendFileSync(join(folder, segment!), '{"source":"orders","eventId":"torn","errorCo');
    await parkade.up();
    const next = parker();
    expect((await park(next, "e-3")).status).toBe("spooled");
    await expect.poll(() => parkade.parked()).toEqual(ids("e", 4));
    expect(next.reported.setAside).toEqual([]);
  });

  test("a line that is no event, and an event that Parkade refuses, are set aside: the others come", async () => {
    await parkade.down();
    const first = parker();
    await park(first, "e-0");
    await park(first, "large", "x".repeat(3_000));
    await first.close();
    const [segment] = segments();
    appendFileSync(join(folder, segment!), "\0\0garbage\n");
    await parkade.up();
    const next = parker();
    expect(await next.flush()).toBe(true);
    expect(await parkade.parked()).toEqual(["e-0"]);
    expect(next.reported.setAside.sort()).toEqual(["large payload-too-large", "null invalid-json"]);
    expect(readFileSync(join(folder, "refused.ndjson"), "utf8").split("\n")).toHaveLength(3);
  });

  test("a file of another machine is left to it, until nobody has touched it for a minute", async () => {
    const elsewhere = join(folder, "elsewhere.7.0123abcd.000000000.ndjson");
    const line = JSON.stringify({ source: "orders", eventId: "e-0", errorCode: "X", payload: 1 });
    writeFileSync(elsewhere, `${line}\n`);
    expect(await parker().flush()).toBe(true);
    expect([await parkade.parked(), readFileSync(elsewhere, "utf8")]).toEqual([[], `${line}\n`]);
    const longAgo = (Date.now() - 61_000) / 1_000;
    utimesSync(elsewhere, longAgo, longAgo);
    expect(await parker().flush()).toBe(true);
    expect([await parkade.parked(), segments()]).toEqual([["e-0"], []]);
  });

  test("files that wait are touched, so that no other machine takes them", async () => {
    await parkade.down();
    const by = parker({ backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } });
    await park(by, "e-0");
    await by.flush();
    const [segment] = segments();
    const path = join(folder, segment!);
    const longAgo = Date.now() / 1_000 - 30;
    utimesSync(path, longAgo, longAgo);
    await expect.poll(() => statSync(path).mtimeMs / 1_000).toBeGreaterThan(longAgo + 20);
    await parkade.up();
    await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
  });

  test("two parkers share a folder: neither takes the other's file, all comes once", async () => {
    await parkade.down();
    const [one, two] = [parker(), parker()];
    await Promise.all(ids("n", 50).flatMap((id) => [park(one, `one-${id}`), park(two, `two-${id}`)]));
    await parkade.up();
    await expect.poll(() => one.flush()).toBe(true); // on a busy machine a request may run into its limit
    const first = await parkade.parked();
    await expect.poll(async () => (await parkade.parked()).length).toBe(100);
    for (const name of ["one", "two"]) {
      const own = (await parkade.parked()).filter((id) => id.startsWith(name));
      expect(own).toEqual(ids(`${name}-n`, 50));
    }
    expect(first.filter((id) => id.startsWith("one"))).toHaveLength(50);
    await expect.poll(segments).toEqual([]);
  });

  test("kill -9 of two processes in one folder: each event that was called safe arrives, in its order, and none is taken before", async () => {
    // They find no Parkade, so all of their events wait on disk.
    const nowhere = "http://127.0.0.1:1";
    const doomed = ["left", "right"].map((name) => {
      const child = spawn(
        process.execPath,
        ["--import", "tsx", "lib/kit/testing/doomed-parker.ts", nowhere, folder, name],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      let out = "";
      child.stdout.on("data", (chunk) => {
        out += chunk;
      });
      return {
        child,
        safe: () =>
          out
            .split("\n")
            .filter((line) => line.startsWith("spooled "))
            .map((line) => line.slice(8)),
      };
    });
    for (const { safe } of doomed) await expect.poll(() => safe().length).toBeGreaterThan(20);
    await parker().flush();
    expect(await parkade.parked()).toEqual([]);
    for (const { child, safe } of doomed) {
      const before = safe().length;
      await expect.poll(() => safe().length).toBeGreaterThan(before + 20);
      const exit = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await exit;
    }
    expect(await parker().flush()).toBe(true);
    const arrived = await parkade.parked();
    for (const { safe } of doomed) {
      const own = safe();
      const [name] = own[0]!.split("-");
      const mine = arrived.filter((id) => id.startsWith(`${name}-`));
      expect(mine.slice(0, own.length)).toEqual(own);
      // At most the event whose answer the kill cut off.
      expect(mine.length - own.length).toBeLessThanOrEqual(1);
    }
    expect(segments()).toEqual([]);
  });
});

describe("options that cannot work", () => {
  test.each([
    [{ url: "parkade" }, /url is "parkade": give Parkade's address/],
    [{ source: "" }, /source is empty/],
    [{ spoolDir: "" }, /spoolDir is empty/],
    [{ batch: 0 }, /batch is 0/],
  ])("%o", (change, message) => {
    expect(() => createParker({ url: parkade.url, source: "orders", spoolDir: folder, ...change })).toThrow(message);
  });
});
