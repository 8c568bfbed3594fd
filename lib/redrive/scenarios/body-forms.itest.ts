import { deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { listRedriveItems } from "@/lib/redrive/list/redrive-items.read";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/** What could be received can be sent back: byte for byte, whatever its content type, encoding, charset or emptiness. */

const JSON_TEXT = '{"order":77,"name":"Zoë"}';
const gzip = gzipSync(JSON_TEXT);
const base64 = Buffer.from(gzip.toString("base64"));
const utf16 = Buffer.from(JSON_TEXT, "utf16le");
const encoded = (name: string): DeadLetter["headers"] => [["content-encoding", name]];
const property = (contentEncoding: string): DeadLetter["origin"] => ({ properties: { contentEncoding } });

const SENT: [string, Partial<DeadLetter>][] = [
  ["gzip", { payload: gzip, headers: encoded("gzip") }],
  ["spring", { payload: gzip, headers: [], origin: property("gzip:UTF-8") }],
  ["celery", { payload: deflateSync(JSON_TEXT), headers: [["compression", "application/x-gzip"]] }],
  ["bzip2", { payload: Buffer.from("BZh91AY&SY"), headers: [["compression", "application/x-bz2"]] }],
  ["base64", { payload: base64, headers: encoded("gzip, base64") }],
  ["utf-16", { payload: utf16, headers: [], contentType: "application/json; charset=utf-16" }],
  [
    "latin-1",
    { payload: Buffer.from(JSON_TEXT, "latin1"), headers: [], contentType: "application/json;charset=latin1" },
  ],
  ["empty", { payload: Buffer.alloc(0), headers: [] }],
  ["bytes", { payload: Buffer.from([0, 0xff, 1]), headers: [], contentType: "application/msgpack" }],
];
/** Only a person can tell that the consumer reads them. */
const ASKED: [string, Partial<DeadLetter>][] = [
  ["nan", { payload: Buffer.from('{"a":NaN}'), headers: [] }],
  ["cut", { payload: Buffer.from('{"a":'), headers: [] }],
  ["unnamed", { payload: Buffer.from(JSON_TEXT, "latin1"), headers: [] }],
];
const ALL = [...SENT, ...ASKED];

const world = worldOfEachTest();
const parkAll = (all: typeof ALL) =>
  world.park(all.length, (index) => ({ eventId: all[index]![0], ...all[index]![1] }));
const itemsOf = async (redriveId: string) =>
  (
    await listRedriveItems(world.db, localViewer(), {
      ...{ redriveId, state: null, outcome: null, result: null, limit: 50, cursor: null },
    })
  ).items;

test("what its message says is encoded goes as it came; what does not parse goes once a person confirmed it", async () => {
  await parkAll(ALL);
  await world.worker();
  const first = await world.ended((await world.request()).id);
  expect(first).toMatchObject({ delivered: SENT.length, refusedByReason: { "payload-unparsable": ASKED.length } });
  const refused = (await itemsOf(first.id)).filter(({ state }) => state === "refused");
  expect(refused.map(({ eventId }) => eventId).sort()).toEqual(ASKED.map(([name]) => name).sort());

  const despite = ["payload-unparsable" as const];
  const select = { redrive: first.id, outcome: ["refused" as const], result: "payload-unparsable" };
  const second = await world.ended((await world.request({ select, despite })).id);
  expect(second).toMatchObject({ delivered: ASKED.length, refused: 0, despite });
  for (const [name, { payload }] of ALL) {
    expect(world.sink.of(name).map(({ bytes }) => bytes.toString("base64"))).toEqual([
      Buffer.from(payload!).toString("base64"),
    ]);
  }
  expect(world.sink.of("gzip")[0]!.headers["content-encoding"]).toBe("gzip");
});

test("a schema does not judge what it cannot read, and the verdict says so", async () => {
  await world.source("billing", { schema: { type: "object", required: ["amount"] } });
  await world.park(2, (index) => ({ eventId: `b-${index}`, ...[SENT[0]![1], ASKED[0]![1]][index] }), "billing");
  await world.worker();
  const despite = ["payload-unparsable" as const];
  const done = await world.ended((await world.request({ mode: "verify", despite })).id);
  expect(done).toMatchObject({ passed: 2, refused: 0 });
  const schemaOf = async (eventId: string) =>
    (await itemsOf(done.id))
      .find((item) => item.eventId === eventId)!
      .findings.find(({ check }) => check === "payload-schema");
  expect(await schemaOf("b-0")).toMatchObject({ ok: null, detail: expect.stringContaining("its body as gzip") });
  expect(await schemaOf("b-1")).toMatchObject({ ok: null, detail: expect.stringContaining("not valid JSON") });
});

test("headers that HTTP cannot carry are named by the dry run and at the attempt", async () => {
  const headers: DeadLetter["headers"] = [
    ["x-fine", "v"],
    ["my header", "v"],
    ["x:y", "v"],
    ["x-line", "a\nb"],
  ];
  await world.park(1, () => ({ eventId: "h-1", headers }));
  await world.worker();
  const without =
    'the target\'s protocol cannot carry the headers "my header", "x:y", "x-line", so sends leave them out';
  const verified = await world.ended((await world.request({ mode: "verify" })).id);
  const warning = { check: "headers", ok: true, warning: true, detail: without };
  expect((await itemsOf(verified.id))[0]!.findings).toContainEqual(warning);
  await world.ended((await world.request()).id);
  expect(world.sink.of("h-1")[0]!.headers["x-fine"]).toBe("v");
  const [id] = await world.idsOf(["h-1"]);
  const { history } = await readEventDetail(world.db, localViewer(), id!, Date.now());
  expect(history.find(({ kind }) => kind === "attempt")).toMatchObject({
    text: expect.stringContaining(`OK; ${without}`),
    detail: { answer: without },
  });
  expect(history.filter(({ kind }) => kind === "verdict").map(({ text }) => text)).toEqual([
    expect.stringContaining(without),
    expect.stringContaining(without),
  ]);
});
