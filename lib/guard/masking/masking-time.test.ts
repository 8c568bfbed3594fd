import { describe, expect, test } from "vitest";
import { REDACTED, secretValues } from "@/lib/guard/redaction/redact.pure";
import { BODY_CHARS_MAX, maskBody } from "./mask.pure";
import { countMasks } from "./mask-json.pure";
import { type MaskRule, masksOf, NOTHING_MASKED } from "./mask-rule.pure";
import { maskText, redactText, SEARCHED_MAX } from "./mask-text.pure";

const rule = (kind: MaskRule["kind"], pattern: string): MaskRule => ({ source: null, kind, pattern, enabled: true });
const DEFAULTS = masksOf([]).of(null);
const RULES = masksOf([rule("pointer", "/*/0/name"), rule("key", "*a*b")]).of(null);

/** Beginnings of what the patterns look for. Repeated, each is a start from which a pattern could read all that follows. */
const PARTS = [
  ..."a@-_=:%\\<>&{[(\"'\n4 \u2022é",
  ...[
    "a@",
    "4 ",
    "x=",
    "x: ",
    "<a>",
    "</a>",
    "<a ",
    "<!--",
    "<?",
    "<![CDATA[",
    "<![CDATA[]",
    "]]>",
    "<token>",
    "<token><![CDATA[x>",
  ],
  ...[
    "://",
    "://a:",
    "a.",
    "@a.",
    "@a.bb",
    "%40a.bb",
    "\\u0040a.",
    "a@b.cc,",
    "-eyJAAAAA",
    "eyJ",
    "eyJAAAAA.",
    "eyJAAAAA.AAAAA.",
    "A.-eyJAAAAA",
  ],
  ...[
    "Bearer ",
    "Bearer AAA ",
    "Basic",
    "pk_",
    "sk_live_",
    "ghp_",
    "xoxb-",
    "AKIA",
    "AIza",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----END ",
  ],
  ...[
    "4111111111111111",
    "4111-",
    "DE89",
    "DE89 3704",
    "DE89 3704   ",
    "password=",
    "password='",
    'password="',
    'password=\\\\"',
    'password="\\',
    'password=\\"x\\\\\\"',
    "password='x'",
    "token:",
    "a-",
    "token-",
  ],
  ...["\u2022".repeat(6), "\\u2022"],
];

/** Milliseconds of this thread on the processor, which other work on the machine hardly changes. */
function cpuMs(work: () => void): number {
  const began = process.threadCpuUsage();
  work();
  return process.threadCpuUsage(began).user / 1_000;
}

/** Four times the text takes about four times as long; sixteen times where the time grows with the square of the length. */
function expectLinear(make: (chars: number) => string, work: (text: string) => void): void {
  const [short, long] = [make(8_192), make(32_768)];
  const shortMs = cpuMs(() => work(short));
  let longMs = cpuMs(() => work(long));
  // Once more, because a collection of garbage counts as this thread's time.
  if (longMs >= 8 * shortMs + 50) longMs = cpuMs(() => work(long));
  expect(longMs, `${longMs} ms after ${shortMs} ms`).toBeLessThan(8 * shortMs + 50);
}

const repeated = (part: string) => (chars: number) => part.repeat(Math.ceil(chars / part.length));
const levels = (open: string, inner: string, close: string) => (chars: number) => {
  const count = Math.ceil(chars / (open.length + close.length));
  return open.repeat(count) + inner + close.repeat(count);
};

describe("time in proportion to the text", () => {
  test.each(PARTS)("%j repeated", (part) => {
    expectLinear(repeated(part), (text) => {
      maskBody(JSON.stringify({ text }), RULES);
      maskText(text, DEFAULTS);
      maskText(`<${text}`, DEFAULTS);
      redactText(text);
    });
  });

  test.each([
    ["deep arrays with a value in each", levels('["ada@example.com",', "1", "]")],
    ["deep objects with a value in each", levels('{"token":1,"a":', "1", "}")],
    ["deep arrays with JSON in strings", levels('["[1]",', "1", "]")],
    [
      "long names around each other",
      (chars) => levels(`{"${"n".repeat(chars / 64)}":["ada@example.com",`, "1", "]}")(chars),
    ],
    [
      "many values below a long name",
      (chars) => `{"${"n".repeat(chars / 2)}":[${'"ada@example.com",'.repeat(chars / 36)}1]}`,
    ],
    ["lines of JSON", repeated('{"token":"x"}\n')],
    ["names that repeat", (chars) => `{${'"token":1,'.repeat(chars / 10)}"a":1}`],
    ["strings of JSON", (chars) => `[${'"[\\"[1]\\"]",'.repeat(chars / 12)}1]`],
    ["white space", (chars) => `{"token"${" ".repeat(chars)}:1}`],
  ] as [string, (chars: number) => string][])("%s", (_, make) => {
    expectLinear(make, (text) => {
      for (const set of [DEFAULTS, RULES]) maskBody(text, set);
      secretValues(text);
      countMasks(text);
    });
  });
});

/** More parts than a call takes arguments. */
test("a line of JSON with 112,000 masked values, beside another", () => {
  expect(maskBody(`[${'"a@b.cc",'.repeat(112_000)}1]\n{}`, DEFAULTS).count).toBe(112_000);
});

/** More text than a pattern that goes back to each character has memory for. */
test("a private key of a megabyte, in a string", () => {
  const key = `-----BEGIN PRIVATE KEY-----${"A -".repeat(340_000)}`;
  expect(maskBody(JSON.stringify({ key: "x", text: key }), DEFAULTS).count).toBe(1);
});

test("a payload of more than a megabyte is masked as a whole", () => {
  const text = JSON.stringify("x".repeat(BODY_CHARS_MAX - 2));
  expect(maskBody(text, DEFAULTS)).toMatchObject({ text, count: 0 });
  expect(maskBody(`${text} `, DEFAULTS)).toMatchObject({ text: REDACTED, count: null });
});

test("of another text the first 262,144 characters are searched, and the rest is masked", () => {
  const line = "at com.acme.Stock.reserve(Stock.java:42)\n";
  const stack = line.repeat(Math.ceil(SEARCHED_MAX / line.length));
  const [before, after] = [stack.slice(0, SEARCHED_MAX), stack.slice(0, SEARCHED_MAX - 20)];
  expect(maskText(before, DEFAULTS)).toBe(before);
  expect(maskText(`${before}.`, DEFAULTS)).toBe(`${before}${REDACTED}`);
  expect(maskText(`${after} for ada.lovelace.canary@example.com ${stack}`, DEFAULTS)).toBe(`${after} for ${REDACTED}`);
  expect(maskText(`${before}.`, NOTHING_MASKED)).toBe(`${before}.`);
  expect(maskBody(`${before}.`, DEFAULTS)).toMatchObject({ text: `${before}${REDACTED}`, count: 1 });
});
