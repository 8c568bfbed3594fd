import type { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { FormedBody } from "@/lib/sources/schemas/body-form.pure";
import { type CheckOptions, createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";

const schemas = createSchemaCheck(systemClock, { quickMs: 200, slowMs: 300 });
afterAll(() => schemas.close());
const checker = createPayloadChecker(schemas, systemClock);
type Checked = Pick<FormedBody, "payload" | "contentType"> & Partial<FormedBody> & { schema: object | null };
/** Each text is a version of its own. */
const stored = (schema: object) => {
  const text = JSON.stringify(schema);
  return { id: text, eventType: "OrderCreated", version: 3, text };
};
const checkAll = (payloads: Checked[], options?: CheckOptions) =>
  checker.against(
    payloads.map(({ schema, ...body }) => ({ headers: [], origin: {}, ...body, schema: schema && stored(schema) })),
    options,
  );
const check = async (payload: Uint8Array, contentType: string, schema: object | null) => {
  const [result] = await checkAll([{ payload, contentType, schema }]);
  return result!;
};
const schema = {
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "integer", minimum: 1 }, at: { type: "string", format: "date-time" } },
};
const bytes = (text: string) => Buffer.from(text);
const utf16 = Buffer.from('{"amount":3}', "utf16le");
const latin1 = Buffer.from('{"amount":3,"name":"Zo\u00eb"}', "latin1");
const catastrophic = { properties: { a: { pattern: "^(a+)+$" } } };
const stuck = bytes(JSON.stringify({ a: `${"a".repeat(60)}!` }));

/** Each level asks for the one below it twice. */
function exponential(levels: number): Record<string, unknown> {
  const definitions: Record<string, object> = {
    d0: { type: ["object", "array", "string", "number", "null", "boolean"] },
  };
  for (let level = 1; level <= levels; level++) {
    definitions[`d${level}`] = { allOf: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] };
  }
  return { $defs: definitions, $ref: `#/$defs/d${levels}` };
}

function deep(levels: number): Record<string, unknown> {
  return levels === 0 ? {} : { not: deep(levels - 1) };
}

describe("the check of a payload", () => {
  test.each([
    ['{"amount": 3}', "application/json", true, true],
    ['{"amount": 3, "at": "2026-11-20T10:00:00Z"}', "application/vnd.acme+json; charset=utf-8", true, true],
    ['{"amount": 0}', "application/json", true, false],
    ['{"amount": 3, "at": "yesterday"}', "application/json", true, false],
    ["{amount", "application/json", false, false],
    ['{"amount": 3}', "application/octet-stream", true, true],
    ["<a/>", "application/xml", false, false],
  ])("%s as %s: parses %s, matches %s", async (payload, contentType, parses, matches) => {
    const result = await check(bytes(payload), contentType, schema);
    expect([result.parses.ok, result.schema.ok]).toEqual([parses, matches]);
  });

  test("without a schema only what says it is JSON must parse", async () => {
    expect((await check(bytes("<a/>"), "application/xml", null)).parses).toEqual({
      ok: null,
      detail: "not checked: application/xml",
    });
    expect((await check(bytes("<a/>"), "application/json", null)).parses.ok).toBe(false);
    expect((await check(Buffer.from([0x22, 0xff, 0x22]), "application/json", null)).parses.ok).toBe(false);
  });

  test.each<[string, Partial<FormedBody>, boolean | null]>([
    ["gzip with its content-encoding", { payload: gzipSync("{}"), headers: [["content-encoding", "gzip"]] }, null],
    ["UTF-16 with its charset", { payload: utf16, contentType: "application/json; charset=utf-16" }, null],
    ["UTF-16 with its byte order mark", { payload: Buffer.from(`\ufeff{"amount":3}`, "utf16le") }, null],
    ["latin-1 with its charset", { payload: latin1, contentType: "application/json;charset=ISO-8859-1" }, null],
    ["latin-1 that nothing names", { payload: latin1 }, false],
    ["no body", { payload: bytes("") }, null],
    ["NaN, as Python writes it", { payload: bytes('{"amount":NaN}') }, false],
    ["JSON that something has decompressed on its way", { headers: [["content-encoding", "gzip"]] }, true],
  ])("%s, with a schema and without", async (_, change, ok) => {
    const body = { payload: bytes('{"amount":3}'), contentType: "application/json", ...change };
    const [plain, judged] = await checkAll([
      { ...body, schema: null },
      { ...body, schema },
    ]);
    expect([plain!.parses.ok, judged!.parses.ok, judged!.schema.ok]).toEqual([ok, ok, ok]);
    if (ok === null) expect(judged!.schema.detail).toMatch(/^not checked: the (body is empty|message declares)/);
  });

  test("names what does not match, and a schema that cannot be used lets nothing through", async () => {
    expect((await check(bytes('{"amount": "x"}'), "application/json", schema)).schema.detail).toContain(
      "/amount must be integer",
    );
    const unusable = await check(bytes("{}"), "application/json", { type: "no-such-type" });
    expect(unusable.schema).toMatchObject({ ok: false, detail: expect.stringContaining("cannot be used") });
  });

  test("names each fault by its place in the payload, with what to do, up to a number of them", async () => {
    const strict = { ...schema, additionalProperties: false, required: ["amount", "currency"] };
    const payload = bytes('{"amount": "x", "at": "yesterday", "no/te~": 1}');
    const [all] = await checkAll([{ payload, contentType: "application/json", schema: strict }], { faultsMax: 10 });
    expect(all!.schema).toMatchObject({ ok: false, moreFaults: false, judgedBy: { version: 3 } });
    expect(all!.schema.faults.map(({ pointer, keyword, fix }) => [pointer, keyword, fix])).toEqual([
      ["", "required", 'add "currency" to the payload, or rename the field that holds its value'],
      ["/no~1te~0", "additionalProperties", "remove /no~1te~0, or rename it to a field of the schema"],
      ["/amount", "type", "make /amount integer"],
      ["/at", "format", "write /at as date-time"],
    ]);
    const [some] = await checkAll([{ payload, contentType: "application/json", schema: strict }], { faultsMax: 2 });
    expect(some!.schema).toMatchObject({
      moreFaults: true,
      faults: [{ keyword: "required" }, { pointer: "/no~1te~0" }],
    });
  });

  test("a name of the language is a field like any other", async () => {
    const strict = { required: ["constructor"], properties: { valueOf: { type: "null" } } };
    expect((await check(bytes("{}"), "application/json", strict)).schema.detail).toContain("'constructor'");
    expect((await check(bytes('{"constructor": 1}'), "application/json", strict)).schema.ok).toBe(true);
  });

  test("an endless reference refuses payloads in words and ends no thread", async () => {
    const endless = { $ref: "#" };
    const { schema: result } = await check(bytes("{}"), "application/json", endless);
    expect(result).toMatchObject({ ok: false, detail: expect.stringContaining("refers to itself endlessly") });
  });

  test("answers in the order of the payloads, whichever schema each has", async () => {
    const text = { type: "string" };
    const results = await checkAll([
      { payload: bytes('{"amount": 3}'), contentType: "application/json", schema },
      { payload: bytes('"a"'), contentType: "application/json", schema: text },
      { payload: bytes("x"), contentType: "text/plain", schema: null },
      { payload: bytes('{"amount": 0}'), contentType: "application/json", schema },
      { payload: bytes("7"), contentType: "application/json", schema: text },
    ]);
    expect(results.map((result) => result.schema.ok)).toEqual([true, true, null, false, false]);
  });

  test("two schemas of one $id, and an edited one that keeps it, are each their own", async () => {
    const $id = "https://acme.example/order";
    // The second one passes: a schema that cannot be used fails a payload, too.
    for (const type of ["string", "object", "number", "object"]) {
      expect((await check(bytes("{}"), "application/json", { $id, type })).schema.ok).toBe(type === "object");
    }
  });

  test("an asynchronous schema lets nothing through, and ends nothing", async () => {
    const asynchronous = { $async: true, type: "object", required: ["zzz"] };
    expect((await check(bytes("{}"), "application/json", asynchronous)).schema).toMatchObject({ ok: false });
    expect((await check(bytes('{"amount": 3}'), "application/json", schema)).schema.ok).toBe(true);
  });

  test("one payload on which the schema never decides is refused by name, its neighbours are decided", async () => {
    const honest = bytes('{"a": "aaaa"}');
    const payloads = [honest, stuck, honest, honest, stuck, honest];
    const results = await checkAll(
      payloads.map((payload) => ({ payload, contentType: "application/json", schema: catastrophic })),
    );
    expect(results.map((result) => result.schema.ok)).toEqual([true, false, true, true, false, true]);
    expect(results.map((result) => result.schema.tooSlow ?? false)).toEqual([false, true, false, false, true, false]);
  });

  test("many calls of one endless schema at once cost each of them one try", async () => {
    const endless = { ...catastrophic, title: "endless" };
    const list = Array.from({ length: 30 }, () => ({
      payload: stuck,
      contentType: "application/json",
      schema: endless,
    }));
    let starts = 0;
    const onStart = () => starts++;
    process.on("worker", onStart);
    const results = (await Promise.all(Array.from({ length: 4 }, () => checkAll(list)))).flat();
    process.off("worker", onStart);
    expect(results.every((result) => result.schema.tooSlow)).toBe(true);
    // Each overrun ends its thread: one overrun in the quick thread, five of the first call, one of each other call.
    expect(starts).toBeGreaterThan(5);
    expect(starts).toBeLessThanOrEqual(1 + 5 + 3);
    const again = await checkAll([{ payload: bytes('{"a": "a"}'), contentType: "application/json", schema: endless }]);
    expect(again[0]!.schema.ok).toBe(true);
  });

  test("a schema that never decides holds neither the thread of this process nor other schemas", async () => {
    await check(bytes("{}"), "application/json", schema);
    let turns = 0;
    const ticking = setInterval(() => turns++, 5);
    const order: string[] = [];
    const hostile = checkAll(
      Array.from({ length: 20 }, () => ({ payload: stuck, contentType: "application/json", schema: exponential(40) })),
    ).finally(() => order.push("hostile"));
    const neighbour = await check(bytes('{"amount": 3}'), "application/json", { ...schema, title: "neighbour" });
    order.push("neighbour");
    const results = await hostile;
    clearInterval(ticking);
    expect(neighbour.schema.ok).toBe(true);
    expect(results.every((result) => result.schema.tooSlow)).toBe(true);
    // The neighbour waits for one overrun in the quick thread, and for none of the five in the slow one.
    expect(order).toEqual(["neighbour", "hostile"]);
    // The timer of this thread fires during each overrun.
    expect(turns).toBeGreaterThan(6);
  });
});

test.each([
  ["the first", { quickMs: 60_000 }],
  ["the second", { quickMs: 1, slowMs: 60_000 }],
])("many payloads that are slow to check give %s thread to another call in between", async (_, limits) => {
  const own = createSchemaCheck(systemClock, limits);
  try {
    const slow = JSON.stringify({ ...catastrophic, title: "slow" });
    const payloads = Array.from({ length: 40 }, () => bytes(JSON.stringify({ a: `${"a".repeat(21)}!` })));
    await own.check(slow, payloads.slice(0, 1));
    const order: string[] = [];
    const many = own.check(slow, payloads).finally(() => order.push("many"));
    const one = own.check(slow, payloads.slice(0, 1)).finally(() => order.push("one"));
    expect((await Promise.all([many, one])).flat().map((outcome) => outcome?.faults.length)).toEqual(Array(41).fill(1));
    expect(order).toEqual(["one", "many"]);
  } finally {
    await own.close();
  }
});

test("a thread that waits for a processor has more time: its limit counts what it uses", async () => {
  const starved = (worker: Worker) => {
    worker.cpuUsage = async () => ({ user: 0, system: 0 });
  };
  process.on("worker", starved);
  const check = async (length: number, limitMs: number) => {
    const own = createSchemaCheck(systemClock, { quickMs: limitMs, slowMs: limitMs });
    try {
      return (
        await own.check(JSON.stringify(catastrophic), [bytes(JSON.stringify({ a: `${"a".repeat(length)}!` }))])
      )[0];
    } finally {
      await own.close();
    }
  };
  try {
    // Takes 0.2 s of a processor.
    expect(await check(21, 100)).toMatchObject({ faults: [{ keyword: "pattern" }] });
    // It is ended all the same when it takes far longer.
    expect(await check(60, 10)).toBeNull();
  } finally {
    process.off("worker", starved);
  }
});

describe("a schema that is saved", () => {
  test.each([
    ["no type that exists", { type: "no-such-type" }, "payloadSchema"],
    ["an asynchronous one", { $async: true, type: "object" }, "asynchronous"],
    ["an asynchronous part", { properties: { a: { $async: true } } }, "asynchronous"],
    ["a remote reference", { $ref: "https://acme.example/other.json" }, "other.json"],
    ["a reference to a file", { properties: { a: { $ref: "file:///etc/passwd" } } }, "is outside"],
    ["a cycle of $dynamicRef", { $dynamicAnchor: "n", allOf: [{ $dynamicRef: "#n" }] }, "endlessly"],
    ["the $id of the standard", { $id: "https://json-schema.org/draft/2020-12/schema" }, "already exists"],
    ["references that double at each level", exponential(40), "too long"],
    ["a pattern that never decides", { anyOf: [{ pattern: "^(a+)+$" }, { type: "object" }] }, "too long"],
    ["a huge one", { description: "x".repeat(300_000) }, "characters"],
    ["of another draft", { $schema: "http://json-schema.org/draft-07/schema#", type: "object" }, "2020-12"],
    ["a reference to itself", { $ref: "#" }, "refers to itself endlessly"],
    ["a deep one", deep(200), "100 levels"],
    ["a key that no check sees", JSON.parse('{"properties": {"__proto__": {"type": "string"}}}'), "__proto__"],
    [
      "unevaluatedItems that no check can decide",
      { contains: {}, unevaluatedItems: false },
      "at the top cannot be checked",
    ],
    ["an $id twice", { $defs: { a: { $id: "https://a.example/x" }, b: { $id: "https://a.example/x" } } }, "resolves"],
  ])("is refused when it is %s", async (_, bad, word) => {
    const refused = await assertPayloadSchema(schemas, bad).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(DomainError);
    expect(refused).toMatchObject({ code: "invalid-config", fields: [{ field: "payloadSchema" }] });
    expect(JSON.stringify([(refused as DomainError).message, (refused as DomainError).fields])).toContain(word);
  });

  test("is taken when it is honest", async () => {
    await assertPayloadSchema(schemas, schema);
    await assertPayloadSchema(schemas, { ...schema, $id: "https://acme.example/order" });
    await assertPayloadSchema(schemas, null);
    const own = { $id: "https://acme.example/own", $schema: "https://json-schema.org/draft/2020-12/schema" };
    await assertPayloadSchema(schemas, { ...own, properties: { next: { $ref: "https://acme.example/own" } } });
    await assertPayloadSchema(schemas, { type: "object", properties: { constructor: {}, toString: {} } });
  });
});
