import { expect, test } from "vitest";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import { type FormedBody, formOf, formWords, whyNotPlain } from "./body-form.pure";

const body = (change: Partial<FormedBody>): FormedBody => ({
  payload: Buffer.from('{"n":1}'),
  contentType: "application/json",
  headers: [],
  origin: {},
  ...change,
});
const words = (change: Partial<FormedBody>) => formWords(formOf(body(change)));

test.each<[string, Header[], Origin, string | null]>([
  ["HTTP", [["Content-Encoding", "gzip"]], {}, "gzip"],
  ["several", [["content-encoding", "gzip, base64"]], {}, "gzip, base64"],
  ["an SDK's spelling", [["content_encoding", "X-GZIP"]], {}, "gzip"],
  ["a CloudEvent's extension", [["ce-contentencoding", "br"]], {}, "br"],
  ["AMQP 0-9-1", [], { properties: { contentEncoding: "gzip:UTF-8" } }, "gzip"],
  ["AMQP 1.0", [], { properties: { contentEncoding: { "!": "symbol", value: "deflate" } } }, "deflate"],
  ["the same twice", [["content-encoding", "gzip"]], { properties: { contentEncoding: "gzip" } }, "gzip"],
  ["Celery", [["compression", "application/x-gzip"]], { kombu: '{"encoding":"utf-8","properties":{}}' }, "gzip"],
  ["Celery with bzip2", [["compression", "application/x-bz2"]], {}, "bzip2"],
  ["Kombu's charset", [], { kombu: '{"encoding":"utf-16","properties":{}}' }, "utf-16"],
  ["Spring's charset", [], { properties: { contentEncoding: "ISO-8859-1" } }, "windows-1252"],
  ["a charset behind a compression", [], { properties: { contentEncoding: "gzip, latin-1" } }, "gzip, windows-1252"],
  ["zstd", [["content-encoding", "zstd"]], {}, "zstd"],
  ["an unknown one", [["content-encoding", "amz-1.0"]], {}, "amz-1.0"],
  ["what changes nothing", [["content-encoding", "identity"]], { properties: { contentEncoding: "binary" } }, null],
  ["UTF-8", [["content-encoding", "utf-8"]], {}, null],
  ["an application's own header", [["compression", "9"]], {}, null],
  ["a header without a value", [["content-encoding", null]], { properties: { contentEncoding: 7 } }, null],
  ["no envelope of Kombu", [], { kombu: "{" }, null],
])("%s", (_, headers, origin, expected) => expect(words({ headers, origin })).toBe(expected));

test.each([
  ["application/json; charset=utf-8", null],
  ["application/json; charset=US-ASCII", null],
  ["application/json;charset=utf-16", "utf-16"],
  ['text/plain; charset="UTF-16BE"', "utf-16be"],
  ["text/plain; format=flowed; charset = 'latin_1'", "windows-1252"],
  ["text/csv; charset=cp1252", "windows-1252"],
  ["text/csv; charset=Shift_JIS", "shift_jis"],
  ["text/csv; charset=utf_16_le", "utf-16le"],
  ["text/csv; charset=ebcdic-cp-us", "ebcdic-cp-us"],
])("%s", (contentType, expected) => expect(words({ contentType })).toBe(expected));

test.each([
  ["a byte order mark", Buffer.from("\ufeff{}", "utf16le"), "utf-16le"],
  ["the other one", Buffer.from("\ufeff{}", "utf16le").swap16(), "utf-16be"],
  ["JSON of C#, without a mark", Buffer.from('{"n":1}', "utf16le"), "utf-16le"],
  ["a list, the big end first", Buffer.from("[1]", "utf16le").swap16(), "utf-16be"],
  ["bytes", Buffer.from([0x0a, 0x00, 0x7b]), null],
  ["XML", Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a/>'), "windows-1252"],
  ["XML in UTF-8", Buffer.from('<?xml version="1.0" encoding="UTF-8"?><a/>'), null],
  ["XML without a declaration", Buffer.from("<a encoding='latin1'/>"), null],
])("the bytes say it themselves: %s", (_, payload, expected) => expect(words({ payload })).toBe(expected));

test("a binary body is not taken for UTF-16", () => {
  expect(words({ payload: Buffer.from("{\0", "latin1"), contentType: "application/octet-stream" })).toBeNull();
});

test("says why a body need not be JSON in UTF-8", () => {
  expect(whyNotPlain(body({}))).toBeNull();
  expect(whyNotPlain(body({ payload: Buffer.alloc(0) }))).toBe("the body is empty");
  expect(whyNotPlain(body({ headers: [["content-encoding", "gzip"]] }))).toBe("the message declares its body as gzip");
  const long = whyNotPlain(body({ headers: [["content-encoding", "x".repeat(9_000)]] }));
  expect(long!.length).toBeLessThan(120);
  const names = Array.from({ length: 9_000 }, (_, index) => `own-${index}`).join();
  expect(whyNotPlain(body({ headers: [["content-encoding", names]] }))!.length).toBeLessThan(120);
});
