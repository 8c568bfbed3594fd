import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fingerprintOf, firstOwnFrame, messagePattern, stackLines } from "./fingerprint.pure";

const error = (message: string | null, type: string | null = null, stack: string | null = null) => ({
  type,
  message,
  stack,
});

describe("messagePattern strips the facts and keeps the words", () => {
  test.each([
    ["order-77 not found", "order-<n> not found"],
    ["timeout after 3,000.5 ms", "timeout after <n> ms"],
    ["user 9f31a2b4-1c2d-4e5f-8a9b-0c1d2e3f4a5b is locked", "user <uuid> is locked"],
    ["no row for 'ada' in \"users\"", "no row for <text> in <text>"],
    ["can't parse, don't ask", "can't parse, don't ask"],
    ["failed at 2026-11-20T09:12:33.123Z", "failed at <time>"],
    ["connect ECONNREFUSED 10.0.0.7:5432", "connect ECONNREFUSED <addr>"],
    ["mail to ada@example.com bounced", "mail to <email> bounced"],
    ["object 0x7f3a91c2 freed, commit deadbeef12", "object <hex> freed, commit <hex>"],
    ["token eyJhbGciOiJIUzI1NiJ9abc expired", "token <id> expired"],
    ["502 from acquirer, request req_9a81c3f04e7bd21c05", "<n> from acquirer, request req_<hex>"],
    ["declined for pm_c0ffee12", "declined for pm_<hex>"],
    ["charge ch_3MqLk2eZvKY failed", "charge ch_<id> failed"],
    ["session sess_Zk3q9LmT0xWv4RbY7 is gone", "session sess_<id> is gone"],
    ["trace_id=4bf92f3577b34da6a3ce929d0e0e4736", "trace_id=<hex>"],
    ["invoice 1234567, invoice 12345678", "invoice <n>, invoice <n>"],
    ["utf_16le and order_handler_v2 stay", "utf_<n>le and order_handler_v<n> stay"],
    ["  many\n  spaces ", "many spaces"],
    ["", ""],
  ])("%j", (message, pattern) => expect(messagePattern(message)).toBe(pattern));

  test("reads the first 600 characters of a message, however long it is, and gives at most 300", () => {
    for (const message of ['"'.repeat(10_000), "'a".repeat(10_000), "a1".repeat(50_000), "1.".repeat(50_000)]) {
      expect(messagePattern(message)).toBe(messagePattern(message.slice(0, 600)));
      expect(messagePattern(message).length).toBeLessThanOrEqual(300);
    }
  });
});

describe("firstOwnFrame skips runtimes and frameworks", () => {
  test.each([
    [
      "Java",
      "java.lang.IllegalStateException: x\n\tat java.base/java.util.Optional.get(Optional.java:143)\n\tat org.springframework.aop.Proxy.invoke(Proxy.java:1)\n\tat com.acme.orders.Stock.reserve(Stock.java:42)",
      "com.acme.orders.Stock.reserve",
    ],
    ["Java lambda", "\tat com.acme.Foo$$Lambda$14/0x0000800.run(Unknown Source)", "com.acme.Foo$$"],
    [
      "JavaScript",
      "Error: x\n    at node:internal/process:1:2\n    at post (/app/node_modules/undici/index.js:1:1)\n    at async Stock.reserve (/app/src/stock.ts:10:5)",
      "Stock.reserve (/app/src/stock.ts)",
    ],
    [
      "Python, most recent call last",
      'Traceback (most recent call last):\n  File "/app/main.py", line 3, in run\n  File "/app/stock.py", line 8, in reserve\n  File "/usr/lib/python3/json.py", line 9, in loads\nValueError: x',
      "reserve (/app/stock.py)",
    ],
    [
      ".NET",
      "   at System.Net.Http.Send()\n   at Acme.Stock.Reserve(String id) in /src/Stock.cs:line 42",
      "Acme.Stock.Reserve(String id)",
    ],
    [
      "Go",
      "goroutine 1 [running]:\nruntime.panic(0x1)\n\t/usr/local/go/src/runtime/panic.go:1\nmain.reserve(0xc000, 0x2)\n\t/app/main.go:12",
      "main.reserve",
    ],
    ["only foreign frames", "\tat java.lang.Thread.run(Thread.java:1)", "java.lang.Thread.run"],
  ])("%s", (_, stack, frame) => expect(firstOwnFrame(stack)).toBe(frame));

  test("is null for a text without frames", () => expect(firstOwnFrame("it broke")).toBeNull());
});

describe("the reader of stacks", () => {
  /** Processor time of this thread alone: what others do on the machine does not count. */
  function cpuMsOf(work: () => void): number {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  }

  /** Each took seconds to hours of 32 KB when expressions went back over what they had read. */
  const HOSTILE = [
    [".(", ""],
    ["a.(", ")"],
    ["(/", ")"],
    [".a(/", "()"],
    ["at aaaa", "("],
    ["at a@", "/"],
    ["at :1", "x"],
    ["at f (:1", "x)"],
    ["at $$EnhancerBya", "("],
    ["#1 (1", "): "],
    ["#1 x(1): (", "\u2028"],
    ["from a.rb", ":1:in `"],
    ['File "a, line 1', '"'],
    ["aException", "!"],
    [" ", "x"],
    ["0x", "at "],
  ] as const;

  test.each(HOSTILE)("takes %j repeated, then %j, in bounded time, as one line and as many", (part, end) => {
    const oneLine = part.repeat(1_000_000 / part.length) + end;
    const bare = part.replace(/^(?:at |#1 |from |File ")/, "");
    const start = part.slice(0, part.length - bare.length);
    const fill = (chars: number) => start + bare.repeat(chars / bare.length) + end;
    const manyLines = Array.from({ length: 40 }, () => fill(990)).join("\n");
    const work = cpuMsOf(() => {
      for (const stack of [oneLine, fill(32_700), manyLines]) {
        fingerprintOf({ errorCode: "X", error: error(null, null, stack) });
        stackLines(stack);
      }
    });
    expect(work).toBeLessThan(150);
  });

  test("takes any mixture of the characters that frames are made of in bounded time", () => {
    const parts = [
      "at ",
      "a",
      ".",
      "(",
      ")",
      "/",
      ":1",
      "$$Lambda",
      " in ",
      ":line ",
      "@",
      "#1 ",
      ".rb",
      "'",
      '"',
      "\n",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 12 }), (cycle) => {
        const once = cycle.join("");
        const stack = once.repeat(Math.ceil(32_768 / once.length));
        expect(cpuMsOf(() => fingerprintOf({ errorCode: "X", error: error(null, null, stack) }))).toBeLessThan(100);
      }),
      { numRuns: 300 },
    );
  });

  test("reads Go, Java and position suffixes as the expressions say that it replaces", () => {
    const go = /^([\w./*()-]+\.[\w.*()-]+)\(.*\)$/;
    const java = /^at (?:[\w.-]+@?[\w.-]*\/)?([\w.$<>/]+)\([^)]*\)/;
    const expected = (line: string) =>
      line.startsWith("at ")
        ? (java.exec(line)?.[1] ?? line.slice(3).replace(/(?::\d+)+$/, ""))
        : (go.exec(line)?.[1] ?? null);
    const line = fc
      .tuple(fc.constantFrom("", "at "), fc.array(fc.constantFrom(..."a.(/)*-@:1<"), { minLength: 1, maxLength: 14 }))
      .map(([start, letters]) => start + letters.join(""));
    fc.assert(
      fc.property(line, (text) => {
        expect(firstOwnFrame(text)).toBe(expected(text));
      }),
      { numRuns: 4_000 },
    );
  });
});

describe("ids that a producer makes up", () => {
  /** Of a random id: it begins with a digit and a letter, as nearly every one of that length has both. */
  const id = (seed: bigint, radix: number, length: number) => `1a${seed.toString(radix).padStart(length, "0")}`;
  test.each<[string, (seed: bigint) => string]>([
    ["hex behind a prefix", (seed) => `502 for req_${id(seed, 16, 16)}`],
    ["hex alone", (seed) => `no object ${id(seed, 16, 16)}`],
    ["base 36 behind a prefix", (seed) => `no session sess_${id(seed, 36, 18)}2z`],
    ["a number", (seed) => `no row ${seed % 100_000_000n}`],
  ])("fold into one group: %s", (_, messageOf) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: (1n << 60n) - 1n }), (seed) => {
        expect(messagePattern(messageOf(seed))).toBe(messagePattern(messageOf(7n)));
      }),
      { numRuns: 200 },
    );
  });
});

describe("fingerprintOf", () => {
  const base = { errorCode: "TIMEOUT", error: error("order-1 timed out", "E", "at com.acme.A.b(A.java:1)") };

  test("is the same for the same failure with other facts and line numbers", () => {
    const again = { errorCode: "TIMEOUT", error: error("order-2 timed out", "E", "at com.acme.A.b(A.java:99)") };
    expect(fingerprintOf(again).fingerprint).toBe(fingerprintOf(base).fingerprint);
    expect(fingerprintOf(base).fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });

  test.each([
    ["error code", { ...base, errorCode: "UPSTREAM_5XX" }],
    ["exception type", { ...base, error: { ...base.error, type: "F" } }],
    ["message", { ...base, error: { ...base.error, message: "order-1 was lost" } }],
    ["frame", { ...base, error: { ...base.error, stack: "at com.acme.A.c(A.java:1)" } }],
  ])("differs by %s", (_, other) => {
    expect(fingerprintOf(other).fingerprint).not.toBe(fingerprintOf(base).fingerprint);
  });

  test("reads the type from the stack when none is given", () => {
    const letter = {
      errorCode: "X",
      error: error(null, null, "com.acme.StockException: gone\n\tat com.acme.A.b(A.java:1)"),
    };
    expect(fingerprintOf(letter).exceptionType).toBe("com.acme.StockException");
  });
});

test("stackLines tells own frames from foreign ones and keeps every line", () => {
  const stack =
    "java.lang.IllegalStateException: no stock\n\tat com.acme.Stock.reserve(Stock.java:88)\n\tat java.base/java.lang.Thread.run(Thread.java:1583)\n\t... 18 more";
  const lines = stackLines(stack);
  expect(lines.map((line) => line.kind)).toEqual(["text", "own", "foreign", "text"]);
  expect(lines.map((line) => line.text).join("\n")).toBe(stack);
});
