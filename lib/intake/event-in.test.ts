import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { readOrReject, shortRejection } from "@/lib/intake/arrival.shapes";
import {
  ingestSchema,
  type ReadOptions,
  readByMembers,
  readEventIn,
  readPlainEvent,
} from "@/lib/intake/event-in.shapes";
import { isPlainEnvelope } from "@/lib/intake/plain-envelope.pure";
import { endOfValue } from "@/lib/platform/plain/raw-json.pure";
import { storable } from "@/lib/platform/plain/storable.pure";

const options: ReadOptions = { payloadBytesMax: 1_000, headersMax: 5, defaultSource: null };

function read(text: string | Uint8Array, more: Partial<ReadOptions> = {}) {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return readEventIn(bytes, { start: 0, end: endOfValue(bytes, 0) }, { ...options, ...more });
}

function event(members: Record<string, unknown>): string {
  return JSON.stringify({ source: "orders", eventId: "e-1", errorCode: "TIMEOUT", payload: { a: 1 }, ...members });
}

function rejection(text: string | Uint8Array, more: Partial<ReadOptions> = {}) {
  const result = readOrReject(() => read(text, more));
  return "rejection" in result ? result.rejection : null;
}

const payloadText = (text: string) => new TextDecoder().decode(read(text).letter.payload);

describe("an event of our JSON", () => {
  test("keeps the payload byte for byte: big integers, order, spaces, escapes, repeated names", () => {
    const payload = '{ "b" : 9007199254740993.10,\t"a":"\\u00e9\\/é",  "a" : [1e400, -0] }';
    const text = `{"source":"s","payload": ${payload} ,"eventId":"e","errorCode":"X"}`;
    expect(payloadText(text)).toBe(payload);
    expect(read(text).letter.contentType).toBe("application/json");
  });

  test("finds the payload behind escaped names and texts that look like JSON", () => {
    expect(
      payloadText(String.raw`{"source":"s","eventId":"\"payload\":1","errorCode":"}{][","pay\u006coad":[1, 2]}`),
    ).toBe("[1, 2]");
  });

  test.each(["null", "0", '"text"', "true", "[]"])("takes %s as a payload", (payload) => {
    expect(payloadText(`{"source":"s","eventId":"e","errorCode":"X","payload":${payload}}`)).toBe(payload);
  });

  test("takes bytes as base64, with their content type", () => {
    const { letter } = read(
      event({ payload: undefined, payloadBase64: "AP/+", contentType: "application/x-protobuf" }),
    );
    expect([...letter.payload]).toEqual([0, 0xff, 0xfe]);
    expect(letter.contentType).toBe("application/x-protobuf");
  });

  test("reads versions beyond 2^53 exactly, as number or text", () => {
    const of = (version: string) => read(event({}).replace("{", `{"version":${version},`)).letter.version;
    expect(of("9007199254740993")).toBe(9007199254740993n);
    expect(of('"9223372036854775806"')).toBe(9223372036854775806n);
    expect(of("null")).toBeNull();
  });

  test("keeps headers in order with duplicates, and reads our mark and the trace from them", () => {
    const headers = [
      ["b", "1"],
      ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
      ["b", null],
      ["X-Redrive-Id", "018F9C4E-0000-7000-8000-000000000001"],
      ["x-redrive-attempt", "2"],
    ];
    const { letter } = read(event({ headers }));
    expect(letter.headers).toEqual(headers);
    expect(letter.traceId).toBe("0af7651916cd43dd8448eb211c80319c");
    expect(letter.redrive).toEqual({ redriveId: "018f9c4e-0000-7000-8000-000000000001", attempt: 2 });
  });

  test.each([
    [1_795_167_660, 1_795_167_660_000, undefined],
    ["2026-11-20T09:41:00,123Z", Date.parse("2026-11-20T09:41:00.123Z"), undefined],
    [null, null, undefined],
    ["", null, undefined],
    ["2026-02-30T09:41:00Z", null, { failedAt: "2026-02-30T09:41:00Z" }],
    ["-1h", null, { failedAt: "-1h" }],
    [8.64e20, null, { failedAt: "864000000000000000000" }],
    [[2026, 11, 20], null, { failedAt: "[2026,11,20]" }],
    ["x".repeat(9_000), null, { failedAt: "x".repeat(100) }],
    ["a\0\ud800", null, { failedAt: "a\u2400\ufffd" }],
  ])("is taken with any failedAt, and says what it did not read: %j", (failedAt, failedAtMs, unread) => {
    const { letter, unread: said } = read(event({ failedAt, origin: { queue: "q" } }));
    expect([letter.failedAtMs, said]).toEqual([failedAtMs, unread]);
    expect(letter.origin).toEqual({ convention: "http", queue: "q", ...(unread && { unread }) });
  });

  test.each([
    ["no source", event({ source: undefined }), "invalid-request", "source"],
    ["no eventId", event({ eventId: undefined }), "invalid-request", "eventId"],
    ["an empty eventId", event({ eventId: "" }), "invalid-request", "eventId"],
    ["no errorCode", event({ errorCode: undefined }), "invalid-request", "errorCode"],
    ["no payload", event({ payload: undefined }), "invalid-request", "payload"],
    ["two payloads", event({ payloadBase64: "AA==" }), "invalid-request", "payload"],
    ["broken base64", event({ payload: undefined, payloadBase64: "A*==" }), "invalid-request", "payloadBase64"],
    ["an unknown name", event({ agregateId: "x" }), "invalid-request", "agregateId"],
    ["a NUL in a text", event({ aggregateId: "a\0b" }), "invalid-request", "aggregateId"],
    ["an unknown part of an error", event({ error: { code: null } }), "invalid-request", "error.code"],
    ["a NUL in the error", event({ error: { message: "a\0b" } }), "invalid-request", "error.message"],
    ["half a surrogate pair", event({ eventType: "\ud800" }), "invalid-request", "eventType"],
    ["a NUL in a header", event({ headers: [["a", "b\0"]] }), "invalid-request", "headers[0][1]"],
    ["a header that is no pair", event({ headers: [["a"]] }), "invalid-request", "headers"],
    ["a fraction as version", event({ version: 1.5 }), "invalid-request", "version"],
    ["a version above the largest", event({ version: "9223372036854775807" }), "invalid-request", "version"],
    ["negative attempts", event({ attempts: -1 }), "invalid-request", "attempts"],
    ["a text for a list", '"text"', "invalid-request", undefined],
    [
      "too many tags",
      event({ tags: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, "v"])) }),
      "invalid-request",
      "tags",
    ],
    ["too many headers", event({ headers: Array(6).fill(["a", "b"]) }), "too-many-headers", "headers"],
    ["a payload over the limit", event({ payload: "x".repeat(999) }), "payload-too-large", "payload"],
    [
      "base64 over the limit",
      event({ payload: undefined, payloadBase64: "AAAA".repeat(334) }),
      "payload-too-large",
      "payloadBase64",
    ],
    ["a deep payload", event({}).replace('{"a":1}', "[".repeat(300) + "]".repeat(300)), "invalid-request", "payload"],
    ["attempts beyond what is counted", event({ attempts: 1_000_001 }), "invalid-request", "attempts"],
    [
      "a deep origin",
      event({}).replace("{", `{"origin":{"a":${"[".repeat(6_000)}${"]".repeat(6_000)}},`),
      "invalid-request",
      "origin",
    ],
    ["an origin of very many values", event({ origin: { a: Array(20_000).fill(1) } }), "invalid-request", "origin"],
    ["headers of very many values", event({ headers: Array(20_000).fill([]) }), "too-many-headers", "headers"],
    ["more members than names", `{${Array.from({ length: 65 }, (_, n) => `"${n}":1`)}}`, "invalid-request", undefined],
    ["a member given twice", event({}).replace("{", '{"eventId":"first",'), "invalid-request", "eventId"],
    ["the name __proto__", event({}).replace("{", '{"__proto__":{},'), "invalid-request", "__proto__"],
    ["an event larger than any", event({ origin: { a: "x".repeat(5_000_000) } }), "payload-too-large", undefined],
    ["broken JSON inside", event({}).replace('{"a":1}', '{"a":tru}'), "invalid-json", undefined],
  ])("refuses %s", (_, text, code, field) => {
    const refused = rejection(text);
    expect(refused?.code).toBe(code);
    if (field !== undefined) expect(refused?.field).toContain(field);
    expect(refused?.detail.length).toBeGreaterThan(5);
  });

  test("refuses bytes that are no UTF-8", () => {
    const bytes = new TextEncoder().encode(event({ eventType: "Z" }));
    bytes[bytes.indexOf("Z".charCodeAt(0))] = 0xff;
    expect(rejection(bytes)?.code).toBe("invalid-utf8");
  });

  test("answers with a short text, however long the name that it refuses", () => {
    const refused = rejection(event({ ["x".repeat(400)]: 1 }));
    expect(refused?.code).toBe("invalid-request");
    expect(shortRejection(refused!).field!.length).toBeLessThanOrEqual(201);
    expect(shortRejection({ code: "invalid-json", detail: "x".repeat(1_000_000) }).detail.length).toBeLessThan(502);
  });

  test.each<[Record<string, unknown>, RegExp]>([
    [{ eventId: 7 }, /^eventId must be text/],
    [{ attempts: "five" }, /^attempts must be/],
    [{ tags: { a: 1 } }, /^tags\.a must be text/],
  ])("says what a value of another type must be: %j", (change, said) => {
    expect(rejection(event(change))?.detail).toMatch(said);
  });

  test("says missing for what is missing, and takes the request's source for an event without one", () => {
    expect(rejection(event({ eventId: undefined }))?.detail).toBe("eventId is missing");
    expect(rejection(event({ error: { message: "x", stack: undefined, type: 7 } }))?.detail).not.toContain("missing");
    expect(read(event({ source: undefined }), { defaultSource: "billing" }).source).toBe("billing");
  });
});

describe("the plain form of an event", () => {
  const [eventIn] = ingestSchema.def.options;
  const odd = fc.constantFrom(
    "",
    "a\0",
    "\ud800",
    0,
    -1,
    1.5,
    true,
    [],
    {},
    { a: 1 },
    [["a"]],
    JSON.parse('{"__proto__":"a"}'),
  );
  const name = fc.oneof(fc.constantFrom("a", "é", "x".repeat(128), "x".repeat(129), "x".repeat(1_025)), fc.string());
  const value = fc.oneof({ weight: 5, arbitrary: fc.string({ unit: "grapheme" }) }, fc.constant(null), odd);
  const text = (max: number) =>
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom("a", "x".repeat(max), null, undefined) },
      fc.constant("x".repeat(max + 1)),
      odd,
    );
  const object = fc.dictionary(name, value, { noNullPrototype: true });
  const list = fc.array(
    fc.oneof(
      { weight: 9, arbitrary: fc.tuple(name, value) },
      fc.tuple(name, value, fc.constantFrom("bytes", "hex")),
      odd,
    ),
  );
  const MEMBERS = [
    ...([
      "source",
      "eventId",
      "producer",
      "aggregateId",
      "aggregateType",
      "eventType",
      "errorCode",
      "traceId",
    ] as const),
    ...(["contentType", "attempts", "failedAt", "error", "headers", "tags", "origin"] as const),
  ];
  const members = fc.record({
    source: text(256),
    eventId: fc.oneof({ weight: 9, arbitrary: fc.constant("e-1") }, text(512)),
    producer: text(2_048),
    aggregateId: text(512),
    aggregateType: text(256),
    eventType: text(256),
    errorCode: fc.oneof({ weight: 9, arbitrary: fc.constant("TIMEOUT") }, text(256)),
    traceId: text(256),
    contentType: text(256),
    attempts: fc.oneof(fc.constantFrom(0, -0, 1, 1_000_000, 1_000_001, 2 ** 53, null, undefined), odd),
    failedAt: value,
    error: fc.oneof(
      fc.record({ type: text(512), message: text(65_536), stack: value }, { requiredKeys: [] }),
      object,
      odd,
      fc.constant(null),
    ),
    headers: fc.oneof(list, object, odd, fc.constant(null)),
    tags: fc.oneof(object, odd, fc.constant(null)),
    origin: fc.oneof(object, odd, fc.constant(null)),
  });
  const documents = fc.tuple(members, fc.subarray(MEMBERS, { maxLength: 4 })).map(([all, names]) => ({
    eventId: "e-1",
    errorCode: "X",
    ...Object.fromEntries(names.map((each) => [each, all[each]])),
  }));

  test("is accepted by the schema, which changes nothing of it", () => {
    let plain = 0;
    fc.assert(
      fc.property(documents, (document) => {
        if (!isPlainEnvelope(document)) return;
        plain += 1;
        expect(z.parse(eventIn, document)).toEqual(document);
      }),
      { numRuns: 2_000 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  /** Values as they may stand in the text of an event, most of them JSON. */
  const raw = fc.oneof(
    fc.json({ maxDepth: 3 }),
    fc.constantFrom(
      "-0",
      "1e3",
      "3.0",
      "9007199254740993",
      "1".repeat(10_000),
      "01",
      "nul",
      "",
      '"\\u0000"',
      '"\\ud800"',
    ),
    fc.constantFrom(
      '"\\ud83d\\ude00"',
      '"\0"',
      '"\\x"',
      '"\\"',
      "[}",
      "{]",
      '"AP/+"',
      '"A*=="',
      '"7"',
      deep(32),
      deep(33),
      deep(257),
    ),
    fc.constantFrom(
      '{"a":"\\u0000"}',
      '{"__proto__":{}}',
      '{"a":"1","a":"2"}',
      '[["a","b"],["a","b","bytes"]]',
      "1,2",
      '"a":1',
    ),
  );
  const gap = fc.oneof({ weight: 30, arbitrary: fc.constantFrom("", " ", "\t\r") }, fc.constant("\u00a0"));
  const memberText = fc.tuple(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...MEMBERS, "payload", "payloadBase64", "version") }, name),
    ...[raw, gap, gap],
  );
  const texts = fc
    .tuple(
      fc.oneof(documents, members, fc.constant({ eventId: "e-1", errorCode: "X" })),
      fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(memberText, { maxLength: 2 })),
      fc.boolean(),
      gap,
      fc.nat(),
      fc.oneof({ weight: 9, arbitrary: fc.constant(-1) }, fc.constantFrom(0, 0x22, 0xed)),
    )
    .map(([document, further, escaped, end, at, byte]) => {
      const rest = JSON.stringify({ source: "orders", ...document, ...(at % 4 ? { payload: { a: "é" } } : {}) }).slice(
        1,
        -1,
      );
      const added = further.map(
        ([key, value, before, behind]) => `${before}${JSON.stringify(key)}${behind}:${before}${value},`,
      );
      const text = `{${added.join("")}${escaped ? rest.replace('"e', '"\\u0065') : rest}}${end}`;
      const bytes = new TextEncoder().encode(text);
      if (byte >= 0) bytes[at % bytes.length] = byte;
      return bytes;
    });

  test("is read in one pass as it is read member by member, or not at all", () => {
    const counts = { plain: 0, refused: 0, storable: 0 };
    fc.assert(
      fc.property(texts, (bytes) => {
        const span = { start: 0, end: bytes.length };
        const plain = readPlainEvent(bytes, span, options);
        const known = readOrReject(() => readByMembers(bytes, span, options));
        if (plain === null) {
          counts.refused += "rejection" in known ? 1 : 0;
          return;
        }
        counts.plain++;
        const { storable: isStorable, ...arrival } = plain;
        expect(arrival).toStrictEqual(known);
        if (!isStorable) return;
        counts.storable++;
        expect(storable(plain.letter)).toBe(plain.letter);
      }),
      { numRuns: 4_000 },
    );
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(200);
  });

  test("is that of an event with all of its members", () => {
    const all = {
      ...{ source: "orders", eventId: "e-1", producer: "/shop", aggregateId: "a", aggregateType: "order", version: 3 },
      ...{ eventType: "OrderCreated", errorCode: "TIMEOUT", attempts: 4, traceId: "t", failedAt: 1, payload: {} },
      error: { type: "T", message: "m", stack: null },
      headers: [
        ["a", "b"],
        ["a", null],
      ],
      tags: { orderId: "1" },
      origin: { queue: { name: "q" } },
    };
    expect(isPlainEnvelope(all)).toBe(true);
    expect(isPlainEnvelope({ ...all, headers: { a: "b" } })).toBe(true);
  });
});
