import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { maskBody, maskHeaders, maskOrigin, maskTags } from "./mask.pure";
import { DEFAULT_MASKS, type MaskRule, masksOf, matchesGlob, patternFault } from "./mask-rule.pure";
import { maskText, redactText } from "./mask-text.pure";

const DEFAULTS = DEFAULT_MASKS.of("orders");
const rule = (kind: MaskRule["kind"], pattern: string, more: Partial<MaskRule> = {}): MaskRule => ({
  source: null,
  kind,
  pattern,
  enabled: true,
  ...more,
});
const only = (...rules: MaskRule[]) => masksOf(rules).of("orders");
const M = JSON.stringify(REDACTED);
const CARD = "4111111111111111";

describe("JSON", () => {
  test.each([
    ['{"orderId": 77, "big": 9007199254740993}', '{"orderId": 77, "big": 9007199254740993}'],
    ['{ "apiKey" : "k-1", "n": 1.50 }', `{ "apiKey" : ${M}, "n": 1.50 }`],
    ['{"a":[{"password":12},{"password":null}]}', `{"a":[{"password":${M}},{"password":null}]}`],
    ['{"token":{"deep":["x",{"y":"}"}]},"z":1}', `{"token":${M},"z":1}`],
    ['{"pass\\u0077ord":"x"}', `{"pass\\u0077ord":${M}}`],
    ['{"password":"a","password":"b"}', `{"password":${M},"password":${M}}`],
    ['{"to":"write to ada@example.com today"}', `{"to":"write to ${REDACTED} today"}`],
    ['{"to":"ada\\u0040example.com"}', `{"to":${M}}`],
    [`{"n":${CARD},"m":"${CARD}"}`, `{"n":${M},"m":${M}}`],
    ['["4111 1111 1111 1111","4111-1111-1111-1112"]', `[${M},"4111-1111-1111-1112"]`],
    ['{"ada@example.com":1}', `{${M}:1}`],
    ['"ada@example.com"', M],
    [CARD, M],
    ['\uFEFF{"token":"x"}', `\uFEFF{"token":${M}}`],
    ['["secret","token"]', '["secret","token"]'],
    ['{"atMs":1764312345678,"ns":1764312345678901234}', '{"atMs":1764312345678,"ns":1764312345678901234}'],
    ['{"package":"next@16.0.1"}', '{"package":"next@16.0.1"}'],
  ])("%s", (text, shown) => expect(maskBody(text, DEFAULTS).text).toBe(shown));

  test.each([
    ['{"ada@example.com":{"token":"x"}}', [`/${REDACTED}`, `/${REDACTED}/token`]],
    [
      '{"a/b~c":{"write to ada@example.com":{"token":"x"}}}',
      [`/a~1b~0c/write to ${REDACTED}`, `/a~1b~0c/write to ${REDACTED}/token`],
    ],
    ['{"ada@example.com":1}\n{"token":"x"}', [`line 1 /${REDACTED}`, "line 2 /token"]],
  ])("the places of %s name nothing that is masked", (text, at) =>
    expect(maskBody(text, DEFAULTS).places.map((place) => place.at)).toEqual(at),
  );

  test("JSON in a string in JSON, three times", () => {
    let text = JSON.stringify({ password: "hunter-2", n: 1 });
    for (let level = 0; level < 3; level++) text = JSON.stringify({ inner: text });
    const shown = maskBody(text, DEFAULTS);
    expect(shown).toMatchObject({ count: 1 });
    expect(shown.text).not.toContain("hunter");
    expect(shown.text).toContain("inner");
    for (let level = 0; level < 5; level++) text = JSON.stringify({ inner: text });
    expect(maskBody(text, DEFAULTS).text).not.toContain("hunter");
  });

  test("what stands below 512 levels is masked as a whole, in strings too", () => {
    const deep = (levels: number, inner: string) => `${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;
    expect(maskBody(deep(512, '"order"'), DEFAULTS).text).toBe(deep(512, '"order"'));
    expect(maskBody(deep(600, '"order"'), DEFAULTS)).toMatchObject({ text: deep(512, M), count: 1 });
    const inString = deep(300, JSON.stringify(deep(300, '"order"')));
    expect(maskBody(inString, DEFAULTS).text).toBe(deep(300, JSON.stringify(deep(212, M))));
  });

  test("a pointer is cut for reading", () => {
    const text = `{"${"n".repeat(9_000)}":{"a":[1,"ada@example.com"]}}`;
    expect(maskBody(text, DEFAULTS).places).toEqual([{ at: `/${"n".repeat(200)}…/a/1`, by: "email" }]);
  });
});

describe("rules", () => {
  test.each([
    ["/customer/name", '{"customer":{"name":"Ada","age":7}}', `{"customer":{"name":${M},"age":7}}`],
    ["/a~1b/c~0d", '{"a/b":{"c~d":{"e":1}}}', `{"a/b":{"c~d":${M}}}`],
    [
      "/items/*/name",
      '{"items":[{"name":"a"},{"name":"b"}],"name":"c"}',
      `{"items":[{"name":${M}},{"name":${M}}],"name":"c"}`,
    ],
    ["/items/1", '{"items":[1,2,3]}', `{"items":[1,${M},3]}`],
    ["/text/name", '{"text":"{\\"name\\":\\"Ada\\"}"}', `{"text":${JSON.stringify(`{"name":${M}}`)}}`],
    ["/", '{"":"x","y":1}', `{"":${M},"y":1}`],
  ])("pointer %s", (pattern, text, shown) => expect(maskBody(text, only(rule("pointer", pattern))).text).toBe(shown));

  test("a text that is not JSON is masked as a whole where a pointer says what is in it", () => {
    const set = only(rule("pointer", "/name"));
    expect(maskBody("name;Ada", set)).toMatchObject({ text: REDACTED, count: null });
    expect(maskBody('{"name":"a"}\n{"name":"b"}\n', set)).toMatchObject({
      text: `{"name":${M}}\n{"name":${M}}\n`,
      count: 2,
    });
    expect(maskText('no {"name":"Ada Lovelace"} here', set)).toBe(`no {"name":${REDACTED}} here`);
  });

  test.each([
    ["*name", "firstName", true],
    ["first?ame", "firstname", true],
    ["*a*b*", "xaxbx", true],
    ["a*", "ba", false],
    ["name", "names", false],
  ])("the glob %s and %s: %s", (glob, name, matches) => expect(matchesGlob(glob, name.toLowerCase())).toBe(matches));

  test("a glob takes no exponential time", () => {
    expect(matchesGlob(`${"*a".repeat(60)}b`, "a".repeat(500))).toBe(false);
  });

  test("keys mask members, headers, tags, origins and names in texts, without case", () => {
    const set = only(rule("key", "*Name"));
    expect(maskBody('{"FirstName":{"a":1}}', set).text).toBe(`{"FirstName":${M}}`);
    expect(maskHeaders([["x-name", "Ada"]], set)).toEqual([["x-name", REDACTED]]);
    expect(maskTags({ name: "Ada", n: "1" }, set)).toEqual({ name: REDACTED, n: "1" });
    expect(maskOrigin({ queue: "q", headers: [["a-name", "Ada"]] } as never, set)).toEqual({
      queue: "q",
      headers: [["a-name", REDACTED]],
    });
    expect(maskText("lastName=Ada, n=1", set)).toBe(`lastName=${REDACTED}, n=1`);
    expect(maskBody("<a><lastName>Ada</lastName><b>1</b></a>", set).text).toBe(
      `<a><lastName>${REDACTED}</lastName><b>1</b></a>`,
    );
  });

  test.each([
    ['refused lastName="Ada Lovelace, born', `refused lastName=${REDACTED}`],
    ["refused lastName='Ada Lovelace\nof London", `refused lastName=${REDACTED}`],
    ['a lastName="Ada\nLovelace", n=1', `a lastName=${REDACTED}, n=1`],
    ["lastName='O''Hara', n='1'", `lastName=${REDACTED}, n='1'`],
    [String.raw`{lastName: 'O\'Hara', n: 1}`, `{lastName: ${REDACTED}, n: 1}`],
    [String.raw`no {"lastName":"A \"x\" b\\","n":"1"} here`, `no {"lastName":${REDACTED},"n":"1"} here`],
    [String.raw`"{\"lastName\":\"A \\\"x\\\" b\\\\\",\"n\":1}`, String.raw`"{\"lastName\":${REDACTED},\"n\":1}`],
    [String.raw`"{\"lastName\":\"Ada", n=1`, String.raw`"{\"lastName\":${REDACTED}", n=1`],
    ['lastName="", n=1', `lastName=${REDACTED}, n=1`],
  ])("a value in quotation marks ends with them, and without an end nothing after it is shown: %j", (text, shown) =>
    expect(maskText(text, only(rule("key", "*name")))).toBe(shown),
  );

  test("a rule of one source counts there alone, and for several sources all do", () => {
    const masks = masksOf([
      rule("key", "name", { source: "orders" }),
      rule("key", "city", { enabled: false }),
      rule("detector", "email", { enabled: false }),
      rule("detector", "email", { source: "mails" }),
      rule("detector", "card", { source: "orders", enabled: false }),
    ]);
    const text = `{"name":"Ada","city":"Bern","to":"ada@example.com","n":"${CARD}"}`;
    const shown = (source: string | null) => JSON.parse(maskBody(text, masks.of(source)).text);
    const [name, city, to, n] = ["Ada", "Bern", "ada@example.com", CARD];
    expect(shown("orders")).toEqual({ name: REDACTED, city, to, n });
    expect(shown("mails")).toEqual({ name, city, to: REDACTED, n: REDACTED });
    expect(shown("others")).toEqual({ name, city, to, n: REDACTED });
    expect(shown(null)).toEqual({ name: REDACTED, city, to: REDACTED, n: REDACTED });
  });

  test.each([
    ["pointer", "/a/*/b", true],
    ["pointer", "a", false],
    ["pointer", "/a~2", false],
    ["key", "*mail", true],
    ["key", "**", false],
    ["key", "", false],
    ["detector", "email", true],
    ["detector", "mail", false],
  ] as const)("%s %j is taken: %s", (kind, pattern, good) => expect(patternFault(kind, pattern) === null).toBe(good));
});

describe("texts", () => {
  test.each([
    ["503 from stock-service for order-77", "503 from stock-service for order-77"],
    ["login failed: password=hunter2, user=ada", `login failed: password=${REDACTED}, user=ada`],
    ["sent Authorization: Bearer abc.def-1 to it", `sent Authorization: Bearer ${REDACTED} to it`],
    ["amqp://guest:guest@mq:5672/v", `amqp://${REDACTED}@mq:5672/v`],
    ["no mail to <ada.l+x@mail.example.com>!", `no mail to <${REDACTED}>!`],
    ["a@b.cc%40d.ee, x@y.zz@w.org @z.org", `${REDACTED}, ${REDACTED} @z.org`],
    ["to=ada%40example.com&n=1", `to=${REDACTED}&n=1`],
    ["GET https://example.com/a?token=abc&x=1", `GET https://example.com/a?token=${REDACTED}&x=1`],
    ["paid by 5555-5555-5555-4444.", `paid by ${REDACTED}.`],
    ["from DE89 3704 0044 0532 0130 00 today", `from ${REDACTED} today`],
    ["from DE88370400440532013000", "from DE88370400440532013000"],
    ["key AKIAIOSFODNN7EXAMPLE is out", `key ${REDACTED} is out`],
    ["TokenExpiredError: 403 from the gateway", "TokenExpiredError: 403 from the gateway"],
    ["at com.acme.Stock.reserve(Stock.java:42)", "at com.acme.Stock.reserve(Stock.java:42)"],
    [
      '{"error":"no {\\"password\\":\\"hun ter\\",\\"a\\":1}"}',
      `{"error":"no {\\"password\\":${REDACTED},\\"a\\":1}"}`,
    ],
  ])("%s", (text, shown) => expect(maskText(text, DEFAULTS)).toBe(shown));

  test("of what no rule masks, redactText masks credentials alone", () => {
    expect(redactText('{"access_token": "abc def"} for ada@example.com by 5555-5555-5555-4444')).toBe(
      `{"access_token": ${REDACTED}} for ada@example.com by 5555-5555-5555-4444`,
    );
    expect(redactText("sent Authorization: Bearer abc.def-1 to amqp://guest:guest@mq:5672/v, password=x")).toBe(
      `sent Authorization: Bearer ${REDACTED} to amqp://${REDACTED}@mq:5672/v, password=${REDACTED}`,
    );
  });

  test("a JWT, tokens of Parkade and others, and a private key", () => {
    const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
    const secrets = [jwt, `pk_${"a1".repeat(12)}`, "sk_live_abcdefghijklmnop", `ghp_${"x".repeat(30)}`];
    for (const secret of secrets) expect(maskText(`it said "${secret}"`, DEFAULTS)).toBe(`it said "${REDACTED}"`);
    expect(maskText(`session-${jwt}, a.${jwt}`, DEFAULTS)).toBe(`session-${REDACTED}, a.${REDACTED}`);
    const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    expect(maskText(`a ${key} b`, DEFAULTS)).toBe(`a ${REDACTED} b`);
  });

  test("XML: elements by name, what is in them, and CDATA", () => {
    const text = "<?xml version='1.0'?><o><ns:password a='1'>x<b>y</b><![CDATA[z]]></ns:password><n>1</n><token/></o>";
    const shown = maskBody(text, DEFAULTS);
    expect(shown.text).toBe(
      `<?xml version='1.0'?><o><ns:password a='1'>${REDACTED}<b>${REDACTED}</b>${REDACTED}</ns:password><n>1</n><token/></o>`,
    );
    expect(shown.count).toBe(3);
  });

  test.each([
    ["<token>x<y", `<token>${REDACTED}<${REDACTED}`],
    ["<token><![CDATA[x></token><a>y</a>", `<token>${REDACTED}</token><a>y</a>`],
    ["<token><!-- </token> -->x</token>", `<token><!-- </token>${REDACTED}</token>`],
    ["<a b='</token>'/><token>x</token>", `<a b='</token>'/><token>${REDACTED}</token>`],
  ])("XML that is not whole: %s", (text, shown) => expect(maskText(text, DEFAULTS)).toBe(shown));
});

test("headers: by name, by what is in them, in base64, and as JSON of a typed value", () => {
  const base64 = Buffer.from("to ada@example.com").toString("base64");
  expect(
    maskHeaders(
      [
        ["authorization", "Bearer x"],
        ["cookie", null],
        ["x-customer", "ada@example.com"],
        ["x-raw", base64, "bytes"],
        ["x-plain", Buffer.from("hello").toString("base64"), "bytes"],
        ["x-table", '{"password":"x"}', "amqp"],
      ],
      DEFAULTS,
    ),
  ).toEqual([
    ["authorization", REDACTED],
    ["cookie", null],
    ["x-customer", REDACTED],
    ["x-raw", REDACTED],
    ["x-plain", Buffer.from("hello").toString("base64"), "bytes"],
    ["x-table", `{"password":${M}}`],
  ]);
});

test.each([
  ["bytes in an array", [{ "!": "bytes", value: btoa("to ada@example.com") }], true],
  ["text that is no UTF-8, in a table", { a: { "!": "longstr-bytes", value: btoa("ada@example.com \xff") } }, true],
  ["a value of AMQP 1.0 as its bytes", { "!": "encoded", value: btoa("\xa1\x0fada@example.com") }, true],
  ["a name in a table of pairs", { "!": "table", value: [["password", "x"]] }, true],
  [
    "a table in a table of pairs",
    { "!": "table", value: [["a", { "!": "bytes", value: btoa("ada@example.com") }]] },
    true,
  ],
  ["bytes that hold nothing", [{ "!": "bytes", value: btoa("hello") }], false],
  ["a number of a type", { "!": "int8", value: 4 }, false],
])("typed headers of AMQP: %s", (_, value, masked) => {
  const header: Header = ["x-typed", JSON.stringify(value), "amqp"];
  expect(maskHeaders([header], DEFAULTS)).toEqual([masked ? ["x-typed", REDACTED] : header]);
});

const CANARIES = ["ada.canary@example.com", CARD, "pk_canarycanarycanary1", "DE89370400440532013000"];
const canary = fc.constantFrom(...CANARIES);
const around = fc
  .tuple(
    fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => text.replace(/[\w@.%+\p{L}\p{N}-]/gu, " ")),
    canary,
    fc.constantFrom("", " ", ", ", "\n"),
  )
  .map(([before, value, after]) => `${before} ${value}${after}`);
const tree = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    around,
    canary,
    fc.integer(),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("node"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), canary), tie("node"), { maxKeys: 4 }),
    tie("node").map((value) => JSON.stringify(value)),
  ),
})).node;

test("no value that a detector knows is shown, wherever in a document it stands", () => {
  fc.assert(
    fc.property(tree, fc.integer({ min: 0, max: 2 }), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const { text: shown } = maskBody(text, DEFAULTS);
      for (const secret of CANARIES) expect(shown).not.toContain(secret);
      // What is shown has the form of what is stored.
      if (text !== undefined) expect(() => JSON.parse(shown)).not.toThrow();
    }),
    { numRuns: 300 },
  );
});

test("no value under a masked name is shown, and nothing else changes", () => {
  const secret = "canary-4711";
  const set = only(rule("key", "name*"));
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom("password", "name", "nameOfHer"), (value, name) => {
      const text = JSON.stringify({ before: value, [name]: { a: [secret, value] }, list: [{ [name]: secret }] });
      const { text: shown } = maskBody(text, set);
      expect(shown).not.toContain(secret);
      expect(JSON.parse(shown)).toMatchObject({ list: [{ [name]: REDACTED }] });
    }),
    { numRuns: 200 },
  );
});
