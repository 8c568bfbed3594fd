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
import { storeDiskRoom } from "@/lib/intake/room/room.write";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { systemClock } from "@/lib/platform/clock";
import { createParker, type Parked, type Parker, type ParkerOptions } from "./park";
import { Spool } from "./spool";

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
/** For it the leases of all others are over. */
const later = { ...hasty, wallMs: () => hasty.wallMs() + 61_000 };

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

  test("an event that the token may not send is dropped and said, and of a spool set aside: it is not sent again", async () => {
    const detail = 'shop may not ingest for source "orders": ask an administrator';
    const answer = { accepted: 0, rejected: [{ index: 0, code: "forbidden", field: "source", detail }] };
    let away = false;
    let requests = 0;
    const forbids: typeof fetch = async () => {
      if (away) throw new TypeError("no answer");
      requests++;
      return Response.json(answer, { status: 202 });
    };
    const by = parker({ fetch: forbids });
    expect(await park(by, "e-0")).toMatchObject({
      ...{ status: "dropped", reason: "refused", detail: `forbidden: ${detail}` },
    });
    away = true;
    expect((await park(by, "e-1")).status).toBe("spooled");
    away = false;
    await expect.poll(() => by.reported.setAside).toEqual(["e-1 forbidden"]);
    await expect.poll(() => segments()).toEqual([]);
    expect(await by.flush()).toBe(true);
    expect(requests).toBe(2);
    expect(readFileSync(join(folder, "refused.ndjson"), "utf8")).toContain("may not ingest");
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
    // Told once the last segment is gone.
    await expect.poll(() => by.reported.replayed).toBe(450);
    expect(segments()).toEqual([]);
    expect(await park(by, "after")).toMatchObject({ status: "stored" });
  });

  test("without room for events: they wait on disk for as long as Parkade asks, and come when there is some", async () => {
    const { db } = parkade.console.deps;
    await storeDiskRoom(db, { freeBytes: 7, freeBytesMin: 1_000 });
    const by = parker();
    for (const id of ids("e", 3)) expect((await park(by, id)).status).toBe("spooled");
    await expect.poll(() => by.reported.errors.at(-1)).toMatch(/PARKADE_DISK_FREE_MIN.*Keep the event/);
    expect(Math.max(...by.reported.delays)).toBeGreaterThanOrEqual(15_000);
    await storeDiskRoom(db, { freeBytes: 1_100, freeBytesMin: 1_000 });
    await expect.poll(() => parkade.parked()).toEqual(ids("e", 3));
    expect([by.reported.dropped, by.reported.setAside]).toEqual([[], []]);
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
    const by = parker({ waitMsMax: 1_000, spoolDir: join(folder, "file", "none") });
    expect(await park(by, "e-0")).toMatchObject({ status: "dropped", reason: "spool-failed" });
    gate.resolve();
    await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
    expect(await park(by, "e-1")).toMatchObject({ status: "stored" });
  });

  test("an answer that was lost: the repeat has the key of the first, and is no bounce of an event redriven meanwhile", async () => {
    const keys: (string | null)[] = [];
    const losesTheFirst: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (keys.push(new Headers(init?.headers).get("idempotency-key")) > 1) return response;
      await parkade.console.deps.db.run("update dlq_events set status = 'REDRIVEN'");
      throw new TypeError("fetch failed");
    };
    const by = parker({ fetch: losesTheFirst });
    expect((await park(by, "e-0")).status).toBe("spooled");
    await expect.poll(() => by.reported.replayed).toBe(1);
    expect(keys).toEqual([expect.stringMatching(/^"msg_[\w-]{32}"$/), keys[0]]);
    const rows = await parkade.console.deps.db.query("select status, bounces from dlq_events");
    expect(rows).toEqual([{ status: "REDRIVEN", bounces: 0 }]);
    // A new failure of the same event is a request of its own.
    await park(by, "e-0");
    expect(keys.at(-1)).not.toBe(keys[0]);
  });

  const html = (status: number) => new Response("<h1>nginx</h1>", { status, headers: { "content-type": "text/html" } });

  test.each([400, 404, 415, 422])(
    "a gateway's %d is an outage: nothing is set aside, all comes when it is mended",
    async (status) => {
      let mended = false;
      const by = parker({ fetch: async (...call) => (mended ? fetch(...call) : html(status)) });
      for (const id of ids("e", 3)) expect((await park(by, id)).status).toBe("spooled");
      await expect.poll(() => by.reported.errors.at(-1)).toMatch(`answered ${status}, and not as Parkade does`);
      mended = true;
      await expect.poll(() => parkade.parked()).toEqual(ids("e", 3));
      // The file is removed once the answer has come: the events are in the store before.
      await expect.poll(() => readdirSync(folder)).toEqual([]);
      expect([by.reported.setAside, by.reported.dropped]).toEqual([[], []]);
    },
  );

  test.each([
    ["in a segment of its own", 200],
    ["in a request of its own", 1],
  ])(
    "what is too large for a gateway, %s, waits for others to come through, and holds none of them",
    async (_, batch) => {
      await parkade.down();
      const gateway: typeof fetch = async (url, init) =>
        String(init?.body).length > 1_500 ? html(413) : fetch(url, init);
      const by = parker({ fetch: gateway, batch });
      expect((await park(by, "large-0", "x".repeat(1_800))).status).toBe("spooled");
      await parkade.up();
      const tries = () => by.reported.delays.length;
      const before = tries();
      await expect.poll(tries).toBeGreaterThan(before + 1);
      expect(by.reported.setAside).toEqual([]);
      expect((await park(by, "large-1", "x".repeat(1_800))).status).toBe("spooled");
      expect((await park(by, "e-0")).status).toBe("spooled");
      await expect.poll(() => parkade.parked()).toEqual(["e-0"]);
      await expect.poll(() => by.reported.setAside).toEqual(["large-0 http-413", "large-1 http-413"]);
      await expect.poll(segments).toEqual([]);
    },
  );

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

  test("an event that the disk took at half time is not spooled once more when its request fails", async () => {
    const gate = Promise.withResolvers<void>();
    parkade.before = () => gate.promise;
    const by = parker({ waitMsMax: 600, requestTimeoutMs: 1_500, batch: 2 });
    const wanted = ids("e", 6);
    expect(statuses(await Promise.all(wanted.map((id) => park(by, id))))).toEqual(["spooled"]);
    // The request that holds the first two ends by its limit, and the parker replays from its first segment.
    await expect.poll(() => by.reported.delays.length).toBeGreaterThan(0);
    const lines = segments().flatMap((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n"));
    expect(lines.map((line) => JSON.parse(line).eventId).toSorted()).toEqual(wanted);
    gate.resolve();
    await expect.poll(segments).toEqual([]);
  });

  test("a full refused.ndjson drops nothing that was acknowledged: it stays, and is set aside when there is room", async () => {
    await parkade.down();
    const by = parker({ spoolBytesMax: 6_000 });
    await park(by, "e-0");
    await park(by, "large", "x".repeat(3_000));
    writeFileSync(join(folder, "refused.ndjson"), "x".repeat(5_000));
    await parkade.up();
    await expect
      .poll(() => by.reported.errors.at(-1))
      .toMatch(/payload-too-large.*refused.ndjson in .* is full: move it away/);
    expect([by.reported.dropped, segments().length]).toEqual([[], 1]);
    rmSync(join(folder, "refused.ndjson"));
    await expect.poll(() => by.reported.setAside).toEqual(["large payload-too-large"]);
    expect([await parkade.parked(), by.reported.dropped]).toEqual([["e-0"], []]);
  });

  const spool = (clock: typeof hasty, bytesMax = 1_000) => new Spool({ folder, bytesMax, fsync: "each", clock });
  const linesOf = async (of: Spool) => (await Promise.all((await of.segments()).map((name) => of.read(name)))).flat();

  test("an owner whose file was taken over while it was suspended writes to another one: no line is lost", async () => {
    const [owner, other] = [spool(hasty), spool(later)];
    await owner.append("one");
    for (const name of await other.segments()) {
      expect(await other.read(name)).toEqual(["one"]);
      await other.remove(name);
    }
    await owner.append("two");
    await owner.rotate();
    expect(await linesOf(owner)).toEqual(["two"]);
  });

  test("files that another process took over count no more in the bytes of the one that lost them", async () => {
    const [owner, other] = [spool(hasty, 500), spool(later, 500)];
    await owner.append("x".repeat(400));
    await owner.rotate();
    for (const name of await other.segments()) await other.remove(name);
    await expect(owner.append("y".repeat(400))).rejects.toThrow();
    expect(await owner.segments()).toEqual([]);
    expect(owner.holds).toBe(false);
    await owner.append("y".repeat(400));
  });

  test("a process that was closed leaves its events to the next one; a torn last line is left out", async () => {
    await parkade.down();
    const first = parker();
    for (const id of ids("e", 3)) await park(first, id);
    await first.close();
    expect(await park(first, "late")).toMatchObject({ status: "dropped", reason: "closed" });
    expect(segments().map((name) => statSync(join(folder, name)).mtimeMs)).toEqual(segments().map(() => 0));
    const [segment] = segments();
    appendFileSync(join(folder, segment!), '{"source":"orders","eventId":"torn","errorCo');
    await parkade.up();
    const next = parker({ clock: later });
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
    const next = parker({ clock: later });
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
    // A touch is due every five seconds.
    const clock = { ...hasty, nowMs: () => hasty.nowMs() * 10 };
    const by = parker({ clock, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } });
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

  /** A process of this host name and the process id 1, which parks until it is killed. */
  function doomed(name: string, url: string) {
    const args = ["--import", "tsx", "lib/kit/testing/doomed-parker.ts", url, folder, name];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    return {
      name,
      /** Whole lines only: the kill may cut the last one. */
      safe: () => [...out.matchAll(/^(?:spooled|stored) (.+)\n/gm)].map(([, id]) => id!),
      kill: async () => {
        const exit = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGKILL");
        await exit;
      },
    };
  }
  type Doomed = ReturnType<typeof doomed>;
  const goesOn = async ({ safe }: Doomed) => {
    const before = safe().length;
    await expect.poll(() => safe().length).toBeGreaterThan(before + 20);
  };
  /** All that was called safe, in its order; beyond it at most the event whose answer the kill cut off. */
  async function expectSafe({ name, safe }: Doomed) {
    const arrived = (await parkade.parked()).filter((id) => id.startsWith(`${name}-`));
    expect(arrived.slice(0, safe().length)).toEqual(safe());
    expect(arrived.length - safe().length).toBeLessThanOrEqual(1);
  }
  const nowhere = "http://127.0.0.1:1";

  test("kill -9 of two processes in one folder: each event that was called safe arrives, in its order, and none is taken before", async () => {
    const both = ["left", "right"].map((name) => doomed(name, nowhere));
    for (const one of both) await goesOn(one);
    expect(await parker().flush()).toBe(true);
    expect(await parkade.parked()).toEqual([]);
    for (const one of both) {
      await goesOn(one);
      await one.kill();
    }
    expect(await parker({ clock: later }).flush()).toBe(true);
    for (const one of both) await expectSafe(one);
    expect(segments()).toEqual([]);
  });

  test("two processes of one host name and one process id, of which one reaches Parkade: it leaves the other's open file alone, and takes it after its death", async () => {
    const cut = doomed("cut", nowhere);
    await goesOn(cut);
    const connected = doomed("connected", parkade.url);
    await goesOn(connected);
    await goesOn(cut);
    await Promise.all([cut.kill(), connected.kill()]);
    expect((await parkade.parked()).filter((id) => id.startsWith("cut-"))).toEqual([]);
    expect(await parker({ clock: later }).flush()).toBe(true);
    for (const one of [cut, connected]) await expectSafe(one);
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
