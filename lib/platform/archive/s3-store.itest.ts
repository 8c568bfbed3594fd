import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { archiveStoreConformance } from "@/lib/platform/archive/archive-store.conformance";
import type { S3Keys } from "@/lib/platform/archive/s3-bucket";
import { type HttpFront, startHttpFront } from "@/lib/platform/archive/testing/http-front";
import { systemClock } from "@/lib/platform/clock";
import { describeWith } from "@/lib/testing/describe-with";
import { freePort } from "@/lib/testing/free-port";
import { disksMountable, mountDisk } from "@/lib/testing/small-disk";
import { type TestVersitygw, testVersitygw, versitygwMissing } from "@/lib/testing/versitygw";

const BUCKET = "removed-events";

describeWith(versitygwMissing, "an archive in S3", () => {
  archiveStoreConformance(async () => {
    const server = await testVersitygw();
    await server.makeBucket(BUCKET);
    const at = `endpoint=${encodeURIComponent(server.endpoint)}`;
    return {
      location: `s3://${BUCKET}/parkade/prod?${at}`,
      missing: `s3://not-made?${at}`,
      keys: server.keys,
      close: server.stop,
    };
  });
});

describeWith(versitygwMissing, "a bucket", () => {
  let server: TestVersitygw;
  let front: HttpFront;
  const opened: ArchiveStore[] = [];
  let serial = 0;

  const connect = (endpoint: string, keys: S3Keys = server.keys) => {
    const location = parseArchiveLocation(`s3://${BUCKET}?endpoint=${encodeURIComponent(endpoint)}`);
    const store = openArchiveStore(location, { clock: systemClock, keys });
    opened.push(store);
    return store;
  };
  const unavailable = (message: RegExp) => ({
    code: "archive-unavailable",
    message: expect.stringMatching(message),
  });

  beforeAll(async () => {
    server = await testVersitygw();
    await server.makeBucket(BUCKET);
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await server?.stop();
  });
  beforeEach(async () => {
    front = await startHttpFront(server.port);
  });
  afterEach(() => front.stop());

  test("refuses wrong credentials, and the text says which to check and none of them", async () => {
    const wrong = [
      { ...server.keys, secretAccessKey: "another-secret" },
      { ...server.keys, accessKeyId: "nobody" },
    ];
    for (const keys of wrong) {
      const store = connect(server.endpoint, keys);
      const said = unavailable(/refuses.*PARKADE_SECRET_ARCHIVE_KEY/);
      await expect(store.put("a", Buffer.from("x"))).rejects.toMatchObject(said);
      await expect(store.get("a")).rejects.toMatchObject(said);
      await expect(store.put("a", Buffer.from("x"))).rejects.not.toThrow(/another-secret|nobody/);
    }
  });

  test("without a server is away, and the text names the endpoint", async () => {
    const store = connect(`http://127.0.0.1:${await freePort()}`);
    await expect(store.put("a", Buffer.from("x"))).rejects.toMatchObject(
      unavailable(/127\.0\.0\.1.*cannot be reached.*ECONNREFUSED/),
    );
  });

  test("without a region, or without credentials, says where they come from", async () => {
    vi.stubEnv("AWS_REGION", undefined);
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    for (const file of ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"])
      vi.stubEnv(file, join(server.folder, "none"));
    const open = (location: string, keys: S3Keys | null) =>
      openArchiveStore(parseArchiveLocation(location), { clock: systemClock, keys });
    await expect(open("s3://bucket", server.keys).get("a")).rejects.toMatchObject(
      unavailable(/has no region.*AWS_REGION/),
    );
    const noKeys = open(`s3://${BUCKET}?endpoint=${server.endpoint}`, null);
    await expect(noKeys.get("a")).rejects.toMatchObject(unavailable(/no credentials.*PARKADE_SECRET_ARCHIVE_KEY/));
    vi.unstubAllEnvs();
  });

  test.skipIf(!disksMountable)("that is full says so, and keeps what it holds", async () => {
    const disk = mountDisk(4);
    const full = await testVersitygw({ disk: disk.path });
    await full.makeBucket(BUCKET);
    const store = connect(full.endpoint, full.keys);
    const bytes = Buffer.alloc(1_500_000, 7);
    await store.put("first", bytes);
    const second = Array.from({ length: 3 }, (_, index) => store.put(`more-${index}`, bytes));
    const outcomes = await Promise.allSettled(second);
    const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const reason of refused) expect(reason).toMatchObject(unavailable(/is full/));
    expect(Buffer.compare((await store.get("first"))!, bytes)).toBe(0);
    for (const [index, { status }] of outcomes.entries())
      expect((await store.get(`more-${index}`)) !== null).toBe(status === "fulfilled");
    await full.stop();
    disk.unmount();
  });

  describe("with a fault on the way", () => {
    const bytes = Buffer.from("the bytes of an event, FLIPME, and more of them");
    const flipped = (body: Buffer) => Buffer.from(body.toString("latin1").replace("FLIPME", "FLIPmE"), "latin1");
    let store: ArchiveStore;
    let key: string;
    beforeEach(() => {
      store = connect(front.endpoint);
      key = `fault-${++serial}`;
    });

    test("finds a byte that was changed while it was read", async () => {
      await store.put(key, bytes);
      front.during(async (call, pass) => {
        const answer = await pass(call);
        return { ...answer, body: flipped(answer.body) };
      });
      await expect(store.get(key)).rejects.toMatchObject(unavailable(/changed on the way/));
    });

    test("refuses a byte that was changed while it was written, and has no object then", async () => {
      front.during((call, pass) => pass({ ...call, body: flipped(call.body) }));
      await expect(store.put(key, bytes)).rejects.toMatchObject(unavailable(/changed on the way/));
      expect(await store.get(key)).toBeNull();
    });

    test("takes a write whose answer was lost for its own, and not that of another writer", async () => {
      let lost = 0;
      const other = connect(server.endpoint);
      const before: Record<string, () => Promise<unknown>> = {
        own: async () => {},
        other: () => other.put(key, Buffer.from("other")),
      };
      for (const [who, first] of Object.entries(before)) {
        key = `fault-${++serial}`;
        lost = 0;
        front.during(async (call, pass) => {
          if (call.method !== "PUT" || lost++ > 0) return pass(call);
          await first();
          if (who === "own") await pass(call);
          return null;
        });
        const written = store.put(key, bytes);
        if (who === "own") await written;
        else await expect(written).rejects.toMatchObject({ code: "archive-refused" });
        expect(lost).toBe(2);
        const found = await other.get(key);
        expect(Buffer.from(found!).toString()).toBe(who === "own" ? bytes.toString() : "other");
      }
    });

    test.each([
      ["501 to the condition", (headers: object) => "if-none-match" in headers],
      ["as if there was no condition", () => false],
    ])("a server that answers %s replaces nothing", async (_, refusesCondition) => {
      await store.put(key, bytes);
      const withoutCondition: string[] = [];
      front.during(async (call, pass) => {
        if (call.method !== "PUT") return pass(call);
        if (refusesCondition(call.headers)) return faultAnswer(501, "NotImplemented");
        withoutCondition.push(call.url);
        // The signature covers the condition: this writes as the server would, by another client.
        return { status: 200, headers: {}, body: Buffer.alloc(0) };
      });
      await expect(store.put(key, Buffer.from("other"))).rejects.toMatchObject({ code: "archive-refused" });
      expect(withoutCondition).toEqual([]);
      await store.put(`${key}-new`, bytes);
      expect(withoutCondition).toHaveLength(1);
    });

    test.each([
      [404, "NoSuchBucket", /bucket removed-events .* does not exist: create it/],
      [403, "AccessDenied", /refuses PutObject.*grant s3:PutObject/],
      [507, "InsufficientStorage", /is full/],
      [400, "QuotaExceeded", /is full/],
      [507, "XMinioStorageFull", /is full/],
      [503, "SlowDown", /overloaded/],
      [403, "RequestTimeTooSkewed", /clock of this machine/],
      [400, "AuthorizationHeaderMalformed", /another region/],
      [500, "InternalError", /answered PutObject with 500 InternalError/],
    ])("says what %i %s means", async (status, code, text) => {
      front.during(async (call, pass) => (call.method === "PUT" ? faultAnswer(status, code) : pass(call)));
      await expect(store.put(key, bytes)).rejects.toMatchObject(unavailable(text));
    });

    test("is asked three times at most", async () => {
      let tries = 0;
      front.during(async (call, pass) => {
        if (call.method === "HEAD") return pass(call);
        tries++;
        return faultAnswer(500, "InternalError");
      });
      await expect(store.put(key, bytes)).rejects.toMatchObject({ code: "archive-unavailable" });
      expect(tries).toBe(3);
    });
  });
});

function faultAnswer(status: number, code: string) {
  const body = Buffer.from(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>of the test</Message></Error>`);
  return { status, headers: { "content-type": "application/xml" }, body };
}
