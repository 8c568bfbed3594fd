import { execFile, spawn } from "node:child_process";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as exported from "@/app/(events)/api/v1/events/export/route";
import { type ParkadeServer, parkadeServer } from "@/lib/kit/testing/parkade-server";
import { program } from "@/lib/testing/programs";

const SECRET = "whsec_bmV3LW5ldy1uZXctbmV3LW5ldy1uZXc=";

let parkade: ParkadeServer;
beforeAll(async () => {
  parkade = await parkadeServer();
});
afterAll(() => parkade.stop());
beforeEach(() => parkade.console.deps.db.run("truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_keys"));

type Ran = { code: number; out: string; said: string };
function run(words: string[], input: string, env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program("command-line"), ...words],
      { env: { ...process.env, PARKADE_URL: parkade.url, ...env } },
      (error, out, said) => resolve({ code: Number(error?.code ?? 0), out, said }),
    );
    child.stdin!.end(input);
  });
}
const event = (id: string, more: object = {}) => JSON.stringify({ eventId: id, errorCode: "X", payload: 1, ...more });

describe("parkade park", () => {
  test("parks a line for each event in several requests, digit for digit, and names the lines that were refused", async () => {
    const large = '{"source":"orders","eventId":"large","errorCode":"X","payload":{"n":12345678901234567890.10}}';
    const many = Array.from({ length: 450 }, (_, n) => event(`e-${n}`));
    const input = [large, "", event("bad", { errorCode: 7 }), ...many, event("other", { source: "none" })].join("\n");
    const before = parkade.requests();
    const ran = await run(["park", "--source", "orders"], input);
    expect(ran).toMatchObject({ code: 4, out: expect.stringMatching(/accepted +451\nduplicates +0\nrefused +2\n/) });
    expect(ran.said).toMatch(/^line 3: .*errorCode.*\n/);
    expect(ran.said).toMatch(
      /line 454: There is no source "none": .*\(unknown-source\)\n.*parkade source add.*--source.*\n$/,
    );
    expect(ran.said).not.toContain("?source=");
    expect(parkade.requests() - before).toBe(3);
    expect((await parkade.parked()).slice(0, 3)).toEqual(["large", "e-0", "e-1"]);
    const [row] = await parkade.console.deps.db.query<{ payload: Buffer }>(
      "select b.payload from dlq_event_bodies b join event_keys k on k.id = b.id where k.event_id = 'large'",
    );
    expect(row!.payload.toString()).toBe('{"n":12345678901234567890.10}');
    expect(await run(["park", "--source", "orders", "--json"], input)).toMatchObject({
      out: '{"accepted":0,"duplicates":451,"changed":0,"bounced":0,"dropped":0,"unstored":0,"rejectedTotal":2}\n',
    });
  });

  test("takes one document, and says what is no event", async () => {
    const document = JSON.stringify([{ source: "orders", eventId: "d-0", errorCode: "X", payload: null }], null, 2);
    expect(await run(["park"], document)).toMatchObject({ code: 0 });
    const alone = await run(["park", "--source", "odrers"], event("d-1"));
    expect(alone).toMatchObject({
      code: 4,
      said: expect.stringMatching(/"odrers": .*\n.*parkade source add.*--source/),
    });
    expect(await run(["park", "--source", "orders"], event("d-1", { version: "x" }))).toMatchObject({
      code: 4,
      said: expect.stringMatching(/^line 1: .*version/),
    });
    expect(await run(["park"], " \n")).toMatchObject({ code: 2, said: expect.stringMatching(/standard input/) });
    const torn = await run(["park", "--source", "orders"], `${event("d-2")}\n{"eventId":`);
    expect(torn).toMatchObject({ code: 2, said: expect.stringMatching(/line 2 is not an event in JSON/) });
    expect(await parkade.parked()).toEqual(["d-0"]);
  });

  test("says how far it came when a later line is no event", async () => {
    const lines = Array.from({ length: 250 }, (_, n) => event(`t-${n}`));
    const torn = await run(["park", "--source", "orders"], [...lines, "no JSON"].join("\n"));
    expect(torn).toMatchObject({
      code: 2,
      said: expect.stringMatching(/^The lines up to line 200 were sent\..*\n.*line 251 is/),
    });
    expect(await parkade.parked()).toHaveLength(200);
  });

  test("ends at Ctrl-C after the request that is under way", async () => {
    const done = new Promise<{ code: number | null; said: string }>((resolve) => {
      const child = spawn(process.execPath, [program("command-line"), "park", "--source", "orders"], {
        env: { ...process.env, PARKADE_URL: parkade.url },
        stdio: ["pipe", "ignore", "pipe"],
      });
      let said = "";
      child.stderr.on("data", (text) => (said += text));
      child.once("exit", (code) => resolve({ code, said }));
      parkade.before = async () => {
        parkade.before = async () => undefined;
        child.kill("SIGINT");
      };
      child.stdin.on("error", () => undefined);
      child.stdin.end(Array.from({ length: 900 }, (_, n) => event(`c-${n}`)).join("\n"));
    });
    expect(await done).toEqual({ code: 130, said: expect.stringMatching(/^The lines up to line \d+ were sent/) });
    expect((await parkade.parked()).length).toBeLessThan(900);
  });

  test("takes back what `export` wrote: under its id, whole, and once", async () => {
    const { db } = parkade.console.deps;
    const given = [event("x-0", { payload: { a: [1.5] }, aggregateId: "o-1" }), event("x-1", { payload: "two" })];
    await run(["park", "--source", "orders"], given.join("\n"));
    await db.run("update dlq_events set status = 'IGNORED', last_operator = 'ada' where event_id = 'x-1'");
    const lines = (await parkade.console.call(exported.GET, { query: "?reason=test" })).text;
    const rows = () => db.query("select e::text as row from dlq_events e order by id");
    const before = await rows();
    await db.run("truncate dlq_events, dlq_event_facts, dlq_event_bodies, event_keys");
    expect(await run(["park"], `${lines}${event("x-2", { source: "orders" })}`)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/accepted +3/),
    });
    expect((await rows()).slice(0, 2)).toEqual(before);
    expect(await run(["park"], lines)).toMatchObject({ code: 0, out: expect.stringMatching(/duplicates +2/) });
    const [line] = lines.split("\n");
    const other = line!.replace('"x-1"', '"x-9"').replace('"x-0"', '"x-9"');
    expect(await run(["park"], other)).toMatchObject({
      code: 4,
      said: expect.stringMatching(/^line 1: stored\.id is the id of another event/),
    });
  });

  test("signs with the secret of the environment, by the scheme that the source asks for", async () => {
    const words = ["park", "--source", "orders"];
    await parkade.takeSigned({ scheme: "standard-webhooks", secrets: [SECRET] });
    expect(await run(words, event("s-0"))).toMatchObject({ code: 1, said: expect.stringMatching(/\(not-signed\)/) });
    expect(await run(words, event("s-0"), { PARKADE_SIGNING_SECRET: SECRET })).toMatchObject({ code: 0 });
    const form = { header: "x-mac", prefix: "sha256=", timestampHeader: "x-time" };
    await parkade.takeSigned({ scheme: "hmac", secrets: ["text"], ...form });
    const hmac = ["--signature=hmac", "--signature-header=x-mac", "--signature-prefix=sha256="];
    const timed = [...words, ...hmac, "--signature-timestamp=x-time"];
    expect(await run(timed, event("s-1"), { PARKADE_SIGNING_SECRET: "text" })).toMatchObject({ code: 0 });
    expect(await run(timed, event("s-2"))).toMatchObject({
      code: 2,
      said: expect.stringMatching(/set PARKADE_SIGNING_SECRET/),
    });
    expect(
      await run([...words, "--signature-header=x-mac"], event("s-2"), { PARKADE_SIGNING_SECRET: SECRET }),
    ).toMatchObject({
      code: 2,
      said: expect.stringMatching(/--signature-header applies only to hmac: add --signature hmac/),
    });
    expect(await run(words, event("s-2"), { PARKADE_SIGNING_SECRET: "short" })).toMatchObject({
      code: 2,
      said: expect.stringMatching(/PARKADE_SIGNING_SECRET: the secret must be at least 16 bytes/),
    });
    expect(await parkade.parked()).toEqual(["s-0", "s-1"]);
  });
});
