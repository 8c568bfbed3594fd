import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type {
  InferredSchema,
  SchemaCheckOut,
  SchemaList,
  SchemaTrial,
  SchemaVersionDetail,
} from "@/lib/sources/schemas/payload-schemas.shapes";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { deadLetter } from "@/lib/testing/letters";
import * as schema from "./api/v1/schemas/[id]/route";
import * as checked from "./api/v1/schemas/check/route";
import * as inferred from "./api/v1/sources/[name]/schemas/infer/route";
import * as schemas from "./api/v1/sources/[name]/schemas/route";
import * as tried from "./api/v1/sources/[name]/schemas/try/route";

let console: TestConsole;
const NUMBER = { type: "object", required: ["amount"], properties: { amount: { type: "integer" } } };
const TEXT = { ...NUMBER, properties: { amount: { type: "string" } } };

beforeEach(async () => {
  console = await testConsole();
  await console.call(sources.POST, {
    body: { name: "orders", kind: "http", config: { redriveUrl: "http://127.0.0.1:9/sink" } },
  });
});
afterEach(() => console.close());

type Problem = { code: string; errors?: { field: string; detail: string }[] };
const params = { name: "orders" };
const store = (body: object) =>
  console.call<SchemaVersionDetail & Problem>(schemas.POST, {
    params,
    body: { reason: "agreed with billing", ...body },
    headers: { "x-actor": "ada" },
  });
const change = (id: string, current: boolean) =>
  console.call<SchemaVersionDetail & Problem>(schema.PATCH, {
    method: "PATCH",
    params: { id },
    body: { current, reason: "the consumer went back" },
  });
const list = async () => (await console.call<SchemaList>(schemas.GET, { params })).body.items;
const check = async (body: object) =>
  (await console.call<SchemaCheckOut & Problem>(checked.POST, { body: { source: "orders", ...body } })).body;

describe("the schemas of a source", () => {
  test("have a line of versions for each event type; an old one can be made current again; all is audited", async () => {
    const first = await store({ eventType: "OrderCreated", schema: NUMBER });
    expect([first.status, first.body.version, first.body.current]).toEqual([201, 1, true]);
    const second = await store({ eventType: "OrderCreated", schema: TEXT });
    const rest = await store({ schema: { type: "object" } });
    expect([second.body.version, rest.body.version, rest.body.eventType]).toEqual([2, 1, null]);
    const same = await store({ eventType: "OrderCreated", schema: TEXT });
    expect(same.body.id).toBe(second.body.id);
    expect(await list()).toMatchObject([
      { eventType: null, version: 1, versions: 1 },
      { eventType: "OrderCreated", version: 2, versions: 2, current: true, createdBy: "ada" },
    ]);
    const back = await change(first.body.id, true);
    expect(back.body).toMatchObject({ version: 1, current: true, schema: NUMBER });
    expect(back.body.versions.map(({ version, current }) => [version, current])).toEqual([
      [2, false],
      [1, true],
    ]);
    expect((await change(first.body.id, true)).body.code).toBe("illegal-transition");
    expect((await change(second.body.id, false)).body.code).toBe("illegal-transition");
    const entries = await console.deps.db.query<Record<string, unknown>>(
      "select action, subject_id, before, after from audit_entries where action like 'source.schema%' order by id",
    );
    expect(entries).toMatchObject([
      { action: "source.schema-stored", subject_id: "orders", before: null, after: { version: 1 } },
      { action: "source.schema-stored", before: { version: 1 }, after: { version: 2, eventType: "OrderCreated" } },
      { action: "source.schema-stored", before: null, after: { version: 1, eventType: null } },
      { action: "source.schema-restored", before: { version: 2 }, after: { version: 1 } },
    ]);
  });

  test("keep the order of their keys", async () => {
    const { body } = await store({ schema: { zebra: 1, properties: { zz: {}, b: {}, aaa: {} }, a: 2 } });
    expect(Object.keys(body.schema)).toEqual(["zebra", "properties", "a"]);
    expect(Object.keys(body.schema.properties as object)).toEqual(["zz", "b", "aaa"]);
  });

  test("are what a text is checked against: the type's own first, then that of all types, then none", async () => {
    const wrong = { text: '{"amount": "12"}' };
    expect(await check({ eventType: "OrderCreated", ...wrong })).toMatchObject({ ok: null, judgedBy: null });
    await store({ schema: { type: "array" } });
    const own = await store({ eventType: "OrderCreated", schema: NUMBER });
    expect(await check({ eventType: "OrderCreated", ...wrong })).toMatchObject({
      ok: false,
      parses: { ok: true },
      judgedBy: { id: own.body.id, version: 1, eventType: "OrderCreated" },
      faults: [{ pointer: "/amount", keyword: "type", fix: "make /amount integer" }],
    });
    expect(await check({ eventType: "OrderPaid", ...wrong })).toMatchObject({
      ok: false,
      judgedBy: { eventType: null },
    });
    expect(await check({ eventType: "OrderCreated", text: "{" })).toMatchObject({ ok: false, parses: { ok: false } });
    await change(own.body.id, false);
    expect(await check({ eventType: "OrderCreated", ...wrong })).toMatchObject({ judgedBy: { eventType: null } });
  });

  test("can be tried as a draft, which stores nothing; one that cannot be used is named", async () => {
    expect(await check({ text: '{"amount": 1}', schema: NUMBER })).toMatchObject({ ok: true, judgedBy: { id: null } });
    expect(await list()).toEqual([]);
    const bad = await check({ text: "{}", schema: { $ref: "https://a.example/x" } });
    expect(bad).toMatchObject({ code: "invalid-config", errors: [{ field: "schema" }] });
    expect((await store({ schema: { type: "objekt" } })).body).toMatchObject({ code: "invalid-config" });
  });

  test("the source's own field is the schema of all types, and each change of it is a version", async () => {
    const patch = (payloadSchema: unknown) =>
      console.call<SourceOut>(source.PATCH, { method: "PATCH", params, body: { payloadSchema } });
    expect((await patch(NUMBER)).body.payloadSchema).toEqual(NUMBER);
    await patch(TEXT);
    expect(await list()).toMatchObject([{ eventType: null, version: 2, origin: "source" }]);
    expect((await patch(null)).body.payloadSchema).toBeNull();
    expect(await list()).toMatchObject([{ version: 2, current: false }]);
    await store({ schema: NUMBER });
    const read = await console.call<SourceOut>(source.GET, { params });
    expect(read.body.payloadSchema).toEqual(NUMBER);
  });

  test("of two that are stored at once both are kept, and one is in force", async () => {
    await Promise.all([1, 2, 3, 4].map((maximum) => store({ eventType: "A", schema: { maximum } })));
    expect(await list()).toMatchObject([{ versions: 4, version: 4, current: true }]);
  });
});

describe("a schema of events that went through", () => {
  const park = async (eventIds: string[], payload: string, eventType: string, status: string) => {
    const letters = eventIds.map((eventId) => ({
      source: "orders",
      letter: deadLetter({ eventId, eventType, aggregateId: null, payload: Buffer.from(payload) }),
    }));
    await parkEvents(console.deps, letters, localViewer("tester"));
    await console.deps.db.run("update dlq_events set status = $2 where event_id = any($1)", [eventIds, status]);
    await console.deps.db.run("delete from dlq_group_levels");
    await console.deps.db.run(
      `insert into dlq_group_levels (fingerprint, source_id, status, n)
       select fingerprint, source_id, status, count(*) from dlq_events group by 1, 2, 3`,
    );
  };
  const infer = async (body: object) => (await console.call<InferredSchema>(inferred.POST, { params, body })).body;

  test("is inferred from them alone, says how many they were, and is tried on what is parked", async () => {
    await park(["d-1", "d-2"], '{"amount": 9007199254740993, "note": "x"}', "OrderCreated", "REDRIVEN");
    await park(["d-3"], '{"amount": 1}', "OrderCreated", "REDRIVEN");
    await park(["d-4"], "no JSON", "OrderCreated", "REDRIVEN");
    await park(["other"], '{"total": 1}', "OrderPaid", "REDRIVEN");
    await park(["p-1", "p-2"], '{"ammount": 1}', "OrderCreated", "PENDING");
    await park(["p-3"], '{"amount": 7}', "OrderCreated", "PENDING");
    const { schema, ...facts } = await infer({ eventType: "OrderCreated" });
    expect(facts).toEqual({ eventsRead: 3, confirmed: 0, skipped: 1, optional: ["/note"] });
    expect(schema).toEqual({
      type: "object",
      required: ["amount"],
      properties: { amount: { type: "integer" }, note: { type: "string" } },
    });
    const trial = await console.call<SchemaTrial>(tried.POST, { params, body: { eventType: "OrderCreated", schema } });
    expect(trial.body.delivered).toMatchObject({ checked: 4, passed: 3, failed: 0, undecided: 1 });
    expect(trial.body.parked).toMatchObject({ checked: 3, passed: 1, failed: 2 });
    expect(trial.body.parked.samples[0]!.faults).toMatchObject([{ keyword: "required", pointer: "" }]);

    await store({ eventType: "OrderCreated", schema: schema!, eventsRead: 3 });
    expect(await list()).toMatchObject([{ origin: "inferred", eventsRead: 3 }]);
    // The types that have a schema of their own are not part of all others.
    expect(await infer({})).toMatchObject({ eventsRead: 1, schema: { required: ["total"] } });
    expect(await infer({ eventType: "Nothing" })).toMatchObject({ eventsRead: 0, schema: null });
  });
});
