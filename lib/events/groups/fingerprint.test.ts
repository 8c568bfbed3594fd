import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { messagePattern, patternKey } from "@/lib/events/groups/fingerprint/message.pure";
import { readStack, stackLines } from "@/lib/events/groups/fingerprint/stack.pure";
import { fingerprintOf, labelledGroup } from "./fingerprint.pure";

const firstOwnFrame = (stack: string) => readStack(stack).frame;

const error = (message: string | null, type: string | null = null, stack: string | null = null) => ({
  type,
  message,
  stack,
});

describe("messagePattern strips the facts and keeps the words", () => {
  test.each([
    ["order-77 not found", "order-<n> not found"],
    ["timeout after 3,000.5 ms", "timeout after <duration>"],
    ["timed out after 200ms, then 1h30m, then PT1.5S", "timed out after <duration>, then <duration>, then <duration>"],
    ["12 MB of 900 kB", "<size> of <size>"],
    ["user 9f31a2b4-1c2d-4e5f-8a9b-0c1d2e3f4a5b is locked", "user <uuid> is locked"],
    ["customer 'ACME GmbH' and « Beta Ltd » and 「田中 太郎」", "customer '<text>' and «<text>» and 「<text>」"],
    ["can't parse, don't ask", "can't parse, don't ask"],
    ["failed at 2026-11-20T09:12:33.123Z", "failed at <time>"],
    ["failed at Fri, 20 Nov 2026 09:41:00 GMT", "failed at <time>"],
    ["failed at Fri Nov 20 2026 09:41:00 GMT+0100 (Central European Standard Time)", "failed at <time>"],
    ["failed at 11/20/2026 9:41:00 AM, 20261120T094100Z", "failed at <time>, <time>"],
    ["failed at datetime.datetime(2026, 11, 20, tzinfo=datetime.timezone.utc)", "failed at <time>"],
    ["connect ECONNREFUSED 10.0.0.7:5432", "connect ECONNREFUSED <addr>"],
    ["no route to 2001:db8::1 or [fe80::ab:cd]:80", "no route to <addr> or [<addr>]:<n>"],
    ["no answer from orders-7d9f8b6c5d-x2k4q:8080", "no answer from orders-<id>"],
    ["lookup db-1.eu-west-1.compute.internal failed", "lookup <host> failed"],
    ["no stock for QX7RB2, 9LMZKW, V1StGXR8_Z5jdHi6B-myT", "no stock for <id>, <id>, <id>"],
    ["com.acme.Order@1b2c3d4 at commit 3f2a9c1", "com.acme.Order@<id> at commit <id>"],
    ["mail to ada@example.com bounced", "mail to <email> bounced"],
    ["IBAN DE89 3704 0044 0532 0130 00, call (555) 123-4567", "IBAN <id>, call <n>"],
    ["arn:aws:sqs:eu-west-1:123456789012:orders is gone", "<arn> is gone"],
    ["token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc-def expired", "token <id> expired"],
    ["GET https://api.acme.example/v1/customers/zoe/orders?x=1", "GET https://<host>/v1/customers/<id>/orders"],
    ["open '/app/uploads/zoe/invoice 7.pdf'", "open '/<path>.pdf'"],
    ["Cannot find module '/app/releases/41/src/pay/charge.js'", "Cannot find module 'pay/charge.js'"],
    ["value -5, 1e-05 and true, customer=None", "value <n>, <n> and <bool>, customer=<null>"],
    ["502 from acquirer, request req_9a81c3f04e7bd21c05", "502 from acquirer, request req_<id>"],
    [
      "ORA-00001: unique constraint (SHOP.UK_ORDERS) violated",
      "ORA-00001: unique constraint (<id>.UK_ORDERS) violated",
    ],
    ["User zoe not found, no slug red-jacket, id=zoe", "User <text> not found, no slug <id>, id=<text>"],
    ["No enum constant com.acme.Status.LOST", "No enum constant com.acme.Status.<text>"],
    ["Unexpected token o at line 1 column 9", "Unexpected token <text> at line <n> column <n>"],
    ["on field 'email': rejected value [Zoë M.]", "on field 'email': rejected value [<data>]"],
    ["May 28 23:21:58 mail-7 postfix/smtpd[13]: lost", "<time> <host> postfix/smtpd[<n>]: lost"],
    ["trace_id=4bf92f3577b34da6a3ce929d0e0e4736", "trace_id=<id>"],
    ["after 1 attempt", "after <n> attempts"],
    ["password 'hunter2' or secret=s3cr3t", "password '<secret>' or secret=<secret>"],
    ["  many\n  spaces ", "many spaces"],
    ["", ""],
  ])("%j", (message, pattern) => expect(messagePattern(message)).toBe(pattern));

  test.each([
    [
      "names with digits",
      "utf-8, utf_16le, TLSv1.2, v1.Order, http2, Int32, order_handler_v2, x-request-id, read-only, non-null",
    ],
    [
      "a name in quotes",
      'null value in column "price" of relation "orders" violates not-null constraint "uk_l0v72cqq45g2ik"',
    ],
    ["a status", "Request failed with status code 404"],
    ["an exit code", "exit status 137"],
    ["SQLSTATE", "ERROR: (SQLSTATE 40P01)"],
    ["an errno", "[Errno 111] Connection refused"],
    ["Oracle", "ORA-01400: cannot insert NULL into (SHOP.ORDERS.PRICE)"],
    ["what a sentence goes on with", "email: required, user is locked, host unreachable, user session not found"],
    ["a code of gRPC", 'rpc error: code = 14 desc = "card declined"'],
    ["a reply of RabbitMQ", "reply-code=404, reply-text=NOT_FOUND - no exchange 'orders' in vhost '/'"],
    ["a topic", "queue orders.dlq not found"],
    ["a tuple", "no match of right hand side value: {:error, :timeout}"],
    ["other scripts", "库存不足"],
  ])("keeps %s", (_, message) => expect(messagePattern(message)).toBe(message));

  test.each([
    ['{"error":"no stock"}', "{error: no stock}"],
    [
      '422 {"code":"E_STOCK","requestId":"abc-123","message":"no stock for QX7RB2"}',
      "422 {code: E_STOCK, message: no stock for <id>}",
    ],
    [
      '[{"code":"invalid_type","expected":"string","path":["items",404,"price"],"message":"Required"}]',
      "{code: invalid_type, expected: string, path: items, path: <n>, path: price, message: Required}",
    ],
    ["unexpected {'id': 17, 'name': 'Zoë'}", "unexpected <data>"],
    ['(String)"{"id": 17, "title": "cut off', "(String)<data>"],
    ["Order(id=17, name=Zoë Müller) is invalid", "Order<data> is invalid"],
  ])("reads a structure by its members: %s", (message, pattern) => expect(messagePattern(message)).toBe(pattern));

  test("lists of any length have one key, and so have values of any kind", () => {
    const key = (message: string) => patternKey(messagePattern(message));
    for (const list of ["[]", "[1]", "[1, 2, 3]", '["a1b2", "c3d4"]'])
      expect(key(`unknown ids ${list}`)).toBe(key("unknown ids [7]"));
    expect(key("no commit 1234567")).toBe(key("no commit 12a4567"));
  });

  test("reads the first 2,000 characters of a message, however long it is", () => {
    for (const message of ['"'.repeat(10_000), "'a".repeat(10_000), "a1".repeat(50_000), "1.".repeat(50_000)]) {
      expect(messagePattern(message)).toBe(messagePattern(message.slice(0, 2_000)));
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
    ["Java lambda", "\tat com.acme.Foo$$Lambda$14/0x0000800.run(Unknown Source)", "com.acme.Foo.run"],
    ["CGLIB", "\tat com.acme.Foo$$EnhancerBySpringCGLIB$$1a2b3c4d.run(<generated>)", "com.acme.Foo.run"],
    ["a class loader", "\tat app//com.acme.Foo.run(Foo.java:1)", "com.acme.Foo.run"],
    [
      "JavaScript",
      "Error: x\n    at node:internal/process:1:2\n    at post (/app/node_modules/undici/index.js:1:1)\n    at async Stock.reserve (/app/src/stock.ts:10:5)",
      "Stock.reserve (stock.ts)",
    ],
    [
      "Python, most recent call last",
      'Traceback (most recent call last):\n  File "/app/main.py", line 3, in run\n  File "/app/stock.py", line 8, in reserve\n  File "/usr/lib/python3/json.py", line 9, in loads\nValueError: x',
      "reserve (stock.py)",
    ],
    [
      ".NET",
      "   at System.Net.Http.Send()\n   at Acme.Stock.Reserve(String id) in /src/Stock.cs:line 42",
      "Acme.Stock.Reserve",
    ],
    [
      "Go",
      "goroutine 1 [running]:\nruntime.panic(0x1)\n\t/usr/local/go/src/runtime/panic.go:1\nmain.reserve(0xc000, 0x2)\n\t/app/main.go:12",
      "main.reserve",
    ],
    [
      "Go, pkg/errors",
      "x\nmain.charge\n\t/build/src/pay.go:41\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:271",
      "main.charge",
    ],
    [
      "Go, a module above",
      "github.com/lib/pq.(*conn).x(0xc0001)\n\t/go/pkg/mod/github.com/lib/pq@v1.10.7/conn.go:1 +0x1\nshop.charge(0xc0001)\n\t/b/pay.go:1",
      "shop.charge",
    ],
    [
      "PHP: the function that runs in the file",
      "x in /srv/releases/41/vendor/dbal/C.php:9\n#0 /srv/releases/41/vendor/dbal/C.php(9): PDO->exec()\n#1 /srv/releases/41/src/Pay.php(33): C->x()\n#2 /srv/releases/41/src/Run.php(3): App\\Pay->reserve()",
      "App\\Pay->reserve (Pay.php)",
    ],
    ["Ruby 3.3", "app/jobs/pay_job.rb:12:in `block in perform'", "perform (jobs/pay_job.rb)"],
    ["Ruby 3.4", "app/jobs/pay_job.rb:12:in 'block in PayJob#perform'", "perform (jobs/pay_job.rb)"],
    [
      "Rust",
      "   0: std::panicking::begin_panic::h72d94ad23acc9089\n   at /rustc/9fc6/library/std/src/panicking.rs:595\n   1: acme_pay::orders::reserve::{{closure}}::h574be4fada9826dc\n   at ./src/orders.rs:41:9",
      "acme_pay::orders::reserve",
    ],
    [
      "Elixir",
      '(elixir 1.18.2) lib/enum.ex:1: Enum."-map/2-"/2\n(shop 0.4.12) lib/shop/pay.ex:41: anonymous fn/1 in Shop.Pay.charge/2',
      "Shop.Pay.charge",
    ],
    [
      "Erlang",
      '[{lists,nth,2,[{file,"lists.erl"}]},\n {shop_pay,charge,2,[{file,"src/shop_pay.erl"},{line,41}]}]',
      "shop_pay:charge",
    ],
    [
      "Dart",
      "#0 _RootZone.run (dart:async/zone.dart:1)\n#1 Pay.charge.<anonymous closure> (package:shop/pay.dart:15:20)",
      "Pay.charge (shop/pay.dart)",
    ],
    [
      "C++",
      "#0 0x00007f8b in raise () from /lib/libc.so.6\n#1 0x1 in shop::charge(Order const&) (o=1) at /b/src/pay.cpp:41",
      "shop::charge (pay.cpp)",
    ],
    [
      "Swift",
      "0 libswiftCore.so 0x00007f83 swift_reportError + 50\n7 Shop 0x0000560f Shop.charge() throws -> () + 3138",
      "Shop.charge",
    ],
    [
      ".NET in German",
      "   bei Acme.Shop.Handler.<Handle>d__5.MoveNext() in C:\\src\\Handler.cs:Zeile 41.",
      "Acme.Shop.Handler.Handle",
    ],
    [
      ".NET in Japanese",
      "   場所 Acme.Shop.Handler.Handle(Order o) 場所 C:\\src\\Handler.cs:行 41",
      "Acme.Shop.Handler.Handle",
    ],
    ["a bundle", "    at chargeCard (file:///app/dist/worker-3f2a9c1b.js:1:2034)", "chargeCard (worker.js)"],
    ["another language", "in charge at /srv/shop/pay.lua:12", "charge (shop/pay.lua)"],
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

  test("takes any mixture of what messages are made of in bounded time", () => {
    const parts = [
      "'",
      '"',
      "{",
      "[",
      "(",
      '{"a":',
      "a-",
      "a1-",
      "1.",
      "1:",
      "://",
      "a@b.",
      "\u00ab",
      "-5 ",
      "12 ",
      "Jan 1 ",
      "DE89 ",
      "x=",
      "code ",
      "/a",
      "a.b",
      "aB",
      ", 1",
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 }), (cycle) => {
        const message = cycle.join("").repeat(4_000);
        expect(cpuMsOf(() => fingerprintOf({ errorCode: "X", error: error(message) }))).toBeLessThan(100);
      }),
      { numRuns: 200 },
    );
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

describe("the deepest cause", () => {
  const jvm = (cause: string) =>
    `com.acme.ListenerFailed: Listener failed\n\tat com.acme.A.b(A.java:1)\nCaused by: ${cause}\n\tat java.base/java.net.Inet.x(I.java:1)\n\tat com.acme.Bank.pay(Bank.java:7)\n\t... 12 more`;
  test.each([
    ["Java", jvm("java.net.UnknownHostException: bank.internal"), "java.net.UnknownHostException", "com.acme.Bank.pay"],
    [
      ".NET",
      "A: x\n ---> B: y\n ---> System.TimeoutException: late\n   at Acme.Bank.Pay() in /s/B.cs:line 4\n   --- End of inner exception stack trace ---\n   at Acme.A.B() in /s/A.cs:line 1",
      "System.TimeoutException",
      "Acme.Bank.Pay",
    ],
    [
      "Python",
      'Traceback:\n  File "/srv/a.py", line 1, in pay\nKeyError: 1\n\nThe above exception was the direct cause of the following exception:\n\nTraceback:\n  File "/srv/b.py", line 1, in run\nShopError: x',
      "KeyError",
      "pay (a.py)",
    ],
    [
      "a group of Python",
      '  + Exception Group Traceback (most recent call last):\n  |   File "/srv/b.py", line 1, in run\n  | ExceptionGroup: x (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File "/srv/a.py", line 1, in pay\n    | ValueError: bad\n    +------------------------------------',
      "ValueError",
      "pay (a.py)",
    ],
    [
      "Node",
      "Error: x\n    at run (/srv/b.js:1:1) {\n  [cause]: RangeError: y\n      at pay (/srv/a.js:1:1)\n}",
      "RangeError",
      "pay (a.js)",
    ],
    [
      "PHP",
      "PDOException: gone in /srv/src/A.php:1\nStack trace:\n#0 /srv/src/B.php(2): A->pay()\n#1 {main}\n\nNext ShopException: x in /srv/src/C.php:1",
      "PDOException",
      "A->pay (A.php)",
    ],
    ["Ruby", "b.rb:1:in 'run': x (ShopError)\na.rb:2:in 'pay': y (KeyError)", "KeyError", "pay (a.rb)"],
  ])("%s", (_, stack, type, frame) => {
    const read = readStack(stack);
    expect([read.cause?.type, read.frame]).toEqual([type, frame]);
  });

  test("is part of the identity and of the title", () => {
    const of = (cause: string) =>
      fingerprintOf({ errorCode: "E", error: error("Listener failed", "com.acme.ListenerFailed", jvm(cause)) });
    const late = of("java.net.SocketTimeoutException: Read timed out after 30 ms");
    expect(late.pattern).toBe(
      "Listener failed; caused by java.net.SocketTimeoutException: Read timed out after <duration>",
    );
    expect(of("java.net.UnknownHostException: bank.internal").fingerprint).not.toBe(late.fingerprint);
    expect(of("java.net.SocketTimeoutException: Read timed out after 1.5 s").fingerprint).toBe(late.fingerprint);
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

  test("a family is the error code, the type and the frame, whatever the message", () => {
    const other = { ...base, error: { ...base.error, message: "the stock is closed" } };
    expect(fingerprintOf(other).family).toBe(fingerprintOf(base).family);
    expect(fingerprintOf({ ...base, errorCode: "X" }).family).not.toBe(fingerprintOf(base).family);
    expect(labelledGroup("E", "late").family).toMatch(/^[0-9a-f]{16}$/);
  });

  test("differs by what a message says behind the part that is shown", () => {
    const long = (end: string) => ({
      ...base,
      error: { ...base.error, message: `${"the stock is closed ".repeat(20)}${end}` },
    });
    expect(fingerprintOf(long("by hand")).pattern).toHaveLength(300);
    expect(fingerprintOf(long("by hand")).fingerprint).not.toBe(fingerprintOf(long("by law")).fingerprint);
  });

  test("a pattern of values alone is named by its type, frame or code", () => {
    expect(fingerprintOf({ errorCode: "E", error: error("41", "KeyError") }).pattern).toBe("KeyError: <n>");
    expect(fingerprintOf({ errorCode: "E", error: error("41") }).pattern).toBe("E: <n>");
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
