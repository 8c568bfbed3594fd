import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  type EventFilter,
  eventFilterSchema,
  FILTER_STATUSES,
  fromSearchParams,
  resolveInstant,
  resolveWindow,
  toSearchParams,
} from "@/lib/selection/filter/event-filter.shapes";
import { likePattern, wordsOf } from "@/lib/selection/filter/search-words.pure";
import { ADMISSION_MARKS } from "@/lib/states/admission-mark.pure";

const NOW = Date.parse("2026-11-20T12:00:00Z");

const text = fc
  .string({ minLength: 1, maxLength: 40, unit: "binary" })
  .filter((value) => !value.includes("\0") && value.isWellFormed());
const list = fc.uniqueArray(text, { minLength: 1, maxLength: 4 });
const instant = fc.oneof(
  fc.constantFrom("now", "-15m", "7d", "now-1h", "+5s", "2026-11-20", "2026-11-20T10:00", "1795000000000"),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString()),
);
const tags = fc.dictionary(
  text.filter((key) => key !== "__proto__"),
  list,
  { minKeys: 1, maxKeys: 3, noNullPrototype: true },
);
const filters: fc.Arbitrary<EventFilter> = fc.record(
  {
    source: list,
    "not.source": list,
    "not.aggregateType": list,
    "not.status": fc.uniqueArray(fc.constantFrom(...FILTER_STATUSES), { minLength: 1 }),
    "not.tags": tags,
    eventId: list,
    aggregateId: list,
    eventType: list,
    errorCode: list,
    fingerprint: list,
    traceId: list,
    admission: fc.uniqueArray(fc.constantFrom(...ADMISSION_MARKS), { minLength: 1 }),
    status: fc.uniqueArray(fc.constantFrom(...FILTER_STATUSES), { minLength: 1 }),
    from: instant,
    to: instant,
    failedFrom: instant,
    failedTo: instant,
    q: text.map((value) => `${value}x`),
    tags,
  },
  { requiredKeys: [] },
);

function fault(run: () => unknown) {
  try {
    run();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  return null;
}

describe("the filter in the URL", () => {
  test("reads what it writes", () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(fromSearchParams(new URLSearchParams(toSearchParams(filter).toString()))).toEqual(filter);
      }),
    );
  });

  test("is the same in JSON, with single values and tags as in the URL", () => {
    expect(
      eventFilterSchema.parse({ errorCode: "TIMEOUT", status: ["PENDING"], "tag.orderId": "7", tags: { a: ["b"] } }),
    ).toEqual({
      errorCode: ["TIMEOUT"],
      status: ["PENDING"],
      tags: { a: ["b"], orderId: ["7"] },
    });
    expect(
      eventFilterSchema.parse({ "not.errorCode": "TIMEOUT", "not.tag.a": "x", "not.tags": { b: "y" }, "tag.a": "z" }),
    ).toEqual({ "not.errorCode": ["TIMEOUT"], "not.tags": { a: ["x"], b: ["y"] }, tags: { a: ["z"] } });
  });

  test.each([
    ["not.from", "from cannot be excluded: use not. before one of source, "],
    ["not.q", "q cannot be excluded: use not. before one of source, "],
    ["-errorCode", "unknown: use not.errorCode to exclude values"],
    ["!tag.a", "unknown: use not.tag.a to exclude values"],
    ["not.errorcode", "unknown (did you mean not.errorCode?): use not. before one of source, "],
    ["not.not.source", "unknown: use not. before one of source, "],
  ])("%s is refused with the name to use instead, in the URL and in JSON", (name, fix) => {
    const error = fault(() => fromSearchParams(new URLSearchParams({ [name]: "X" })));
    expect(error?.fields).toEqual([{ field: name, detail: expect.stringContaining(fix) }]);
    const [issue, ...more] = eventFilterSchema.safeParse({ [name]: "X" }).error!.issues;
    expect(issue).toMatchObject({ path: [name], message: expect.stringContaining(fix) });
    expect(more).toEqual([]);
  });

  test.each([
    ["errorcode=X", "errorcode"],
    ["errorCode=", "errorCode"],
    ["status=OPEN", "status"],
    ["from=yesterday", "from"],
    ["from=-1h&from=-2h", "from"],
    ["q=", "q"],
    ["q=a%00b", "q"],
    ["q=%20", "q"],
    ["q=%09%0A", "q"],
    ["q=%C2%A0", "q"],
    ["q=%E2%80%8B", "q"],
    ["from=2026-02-31", "from"],
    ["__proto__=x", "__proto__"],
    [Array.from({ length: 17 }, (_, i) => `tag.k${i}=v`).join("&"), "tags"],
    ["limit=5&limit=6", "limit"],
    ["tag.=x", "tag."],
    ["tag.orderId=", "tag.orderId"],
    ["tag.__proto__=x", "tag.__proto__"],
    ["not.tag.__proto__=x", "not.tag.__proto__"],
    ["not.tag.orderId=", "not.tag.orderId"],
    ["not.status=OPEN", "not.status"],
    ["not.__proto__=x", "not.__proto__"],
    [Array.from({ length: 101 }, (_, i) => `eventId=${i}`).join("&"), "eventId"],
  ])("never widens: %s is refused with its field", (query, field) => {
    const error = fault(() => fromSearchParams(new URLSearchParams(query), ["limit"]));
    expect(error?.code).toBe("invalid-filter");
    expect(error?.fields.map((entry) => entry.field)).toContain(field);
  });

  test("leaves the route's own parameters alone", () => {
    expect(fromSearchParams(new URLSearchParams("limit=5&cursor=x&q=y"), ["limit", "cursor"])).toEqual({ q: "y" });
  });

  test("refuses empty lists in JSON: they would select everything", () => {
    expect(eventFilterSchema.safeParse({ source: [] }).success).toBe(false);
    expect(eventFilterSchema.safeParse({ tags: { a: [] } }).success).toBe(false);
    expect(eventFilterSchema.safeParse({ tags: {} }).success).toBe(false);
    expect(eventFilterSchema.safeParse(JSON.parse('{"tags":{"__proto__":["x"]}}')).success).toBe(false);
    expect(eventFilterSchema.safeParse({ "tag.__proto__": "x" }).success).toBe(false);
  });

  test.each([
    '{"__proto__":"x"}',
    '{"__proto__":{"source":["N"]}}',
    '{"source":"N","__proto__":{"errorCode":["X"]}}',
    '{"source":"N","tags":{"k":"a","__proto__":"z"}}',
    '{"source":"N","tag.k":"a","tags":"x"}',
    '{"source":"N","tag.k":"a","tags":["x"]}',
    '{"source":"N","tag.k":"a","tags":{"k":"b"}}',
    '{"source":"N","q":"\\u00a0"}',
    '{"source":"N","not.tags":{"__proto__":["x"]}}',
    '{"source":"N","not.tag.__proto__":"x"}',
    '{"source":"N","not.errorCode":[]}',
    '{"source":"N","constructor":"x"}',
    '{"source":[["N"]]}',
    '{"source":{"0":"N","length":1}}',
    "[]",
    "null",
    '"source"',
  ])("never widens in JSON: %s is refused", (json) => {
    expect(eventFilterSchema.safeParse(JSON.parse(json)).success).toBe(false);
  });
});

describe("what is not understood is refused", () => {
  /** Names that a filter knows, that it nearly knows, and that JavaScript objects treat in a way of their own. */
  const name = fc.oneof(
    fc.constantFrom("source", "eventId", "errorCode", "status", "from", "q", "tag.a", "tag.constructor"),
    fc.constantFrom("not.source", "not.status", "not.tag.a", "not.tags", "not.q", "not.", "not.tag.", "-source"),
    fc.constantFrom(
      "__proto__",
      "tag.__proto__",
      "constructor",
      "toString",
      "tags",
      "tag.",
      "errorcode",
      "source[]",
      "",
    ),
    text,
  );
  const value = fc.oneof(
    fc.constantFrom("PENDING", "TIMEOUT", "-1h", "", " ", "\t\n", "\u00a0", "\u200b", "\0", "a b", "__proto__", "null"),
    text,
  );

  test("in a query string: each pair is a condition of the filter, or the whole is refused", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 5 }), (pairs) => {
        const filter = parsed(() => fromSearchParams(new URLSearchParams(pairs)));
        if (filter) expect(sorted([...toSearchParams(filter)])).toEqual(sorted(pairs));
      }),
      { numRuns: 500 },
    );
  });

  test("in a raw query string, whatever it holds", () => {
    const piece = fc.constantFrom(
      "&",
      "=",
      "+",
      "%",
      "%20",
      "%00",
      "%ff",
      ";",
      "#",
      "q",
      "source",
      "N",
      "__proto__",
      "tag.",
      "[]",
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const params = new URLSearchParams(pieces.join(""));
        const filter = parsed(() => fromSearchParams(params));
        if (filter) expect(sorted([...toSearchParams(filter)])).toEqual(sorted([...params]));
      }),
      { numRuns: 500 },
    );
  });

  test("in JSON: each name is a condition of the filter, or the whole is refused", () => {
    const leaf = fc.oneof(value, fc.array(value, { maxLength: 3 }), fc.constantFrom(null, 1, true), fc.constant({}));
    const entries = (of: fc.Arbitrary<unknown>) => fc.array(fc.tuple(name, of), { maxLength: 4 });
    const tagsOf = entries(leaf).map((list) => Object.fromEntries(list));
    const json = entries(leaf).chain((list) =>
      fc.option(tagsOf).map((tags) => Object.fromEntries(tags === null ? list : [...list, ["tags", tags]])),
    );
    fc.assert(
      fc.property(json, (input) => {
        const result = eventFilterSchema.safeParse(JSON.parse(JSON.stringify(input)));
        if (result.success) expect(sorted([...toSearchParams(result.data)])).toEqual(sorted(pairsOf(input)));
      }),
      { numRuns: 500 },
    );
  });

  function parsed(run: () => EventFilter): EventFilter | null {
    try {
      return run();
    } catch (error) {
      expect(error).toMatchObject({ code: "invalid-filter" });
      return null;
    }
  }

  function pairsOf(json: Record<string, unknown>, prefix = ""): [string, string][] {
    return Object.entries(json).flatMap(([key, inner]) => {
      if (key === "tags" && prefix === "") return pairsOf(inner as Record<string, unknown>, "tag.");
      if (key === "not.tags" && prefix === "") return pairsOf(inner as Record<string, unknown>, "not.tag.");
      return [inner].flat().map((one): [string, string] => [prefix + key, String(one)]);
    });
  }

  function sorted(pairs: readonly (readonly [string, string])[]): string[] {
    return pairs.map((pair) => JSON.stringify(pair)).sort();
  }
});

describe("resolveInstant", () => {
  test.each([
    ["now", NOW],
    ["-24h", NOW - 86_400_000],
    ["24h", NOW - 86_400_000],
    ["now-15m", NOW - 900_000],
    ["now+1h", NOW + 3_600_000],
    ["-2w", NOW - 2 * 604_800_000],
    ["2026-11-19", Date.parse("2026-11-19T00:00:00Z")],
    ["2026-11-19T10:30", Date.parse("2026-11-19T10:30:00Z")],
    ["2026-11-19T10:30:00.5+02:00", Date.parse("2026-11-19T08:30:00.500Z")],
    ["1795000000000", 1795000000000],
    ["2026-13-01", null],
    ["1795000000", 1_795_000_000_000],
    ["24", null],
    ["-1y", null],
    ["now821429657w", null],
    ["+99999w", NOW + 99_999 * 604_800_000],
    ["10000-01-01", null],
    ["2026-02-29", null],
    ["2028-02-29", Date.parse("2028-02-29T00:00:00Z")],
    ["2026-11-19 10:30", Date.parse("2026-11-19T10:30:00Z")],
    ["", null],
  ])("%s", (value, ms) => expect(resolveInstant(value, NOW)).toBe(ms));

  test("refuses a reversed window", () => {
    expect(fault(() => resolveWindow({ from: "now", to: "-1h" }, NOW))?.code).toBe("invalid-window");
    expect(resolveWindow({ from: "-1h", to: "now" }, NOW)).toEqual({ fromMs: NOW - 3_600_000, toMs: NOW });
  });
});

describe("the words of a search", () => {
  test.each([
    ['key "price" missing', ['"price"', "missing", "key"]],
    ["C:\\temp\\x.json  at\tat", ["C:\\temp\\x.json", "at"]],
    ["password=•••••• for ••••••@shop", ["password=", "@shop", "for"]],
    ["••••••", []],
  ])("of %s keep their signs, the longest first, without masks", (q, words) => {
    expect(wordsOf(q)).toEqual(words);
  });

  test("a search for a mask alone is refused: it would restrict nothing", () => {
    expect(fault(() => fromSearchParams(new URLSearchParams({ q: "•••••• " })))?.code).toBe("invalid-filter");
  });

  test("a sign of LIKE stands for itself", () => {
    expect(likePattern("100%_a\\b")).toBe("%100\\%\\_a\\\\b%");
  });
});
