import { brotliCompressSync, deflateRawSync, deflateSync, gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { DEFAULT_MASKS, NOTHING_MASKED, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { FormedBody } from "@/lib/sources/schemas/body-form.pure";
import { DECODED_BYTES_MAX, decodeBody } from "./decode-body.read";
import { bodyOf, holdsMasked } from "./event-detail.read";

const TEXT = '{"order":77,"name":"Zoë"}';
const body = (payload: Uint8Array, encoding: string | null, contentType = "application/json"): FormedBody => ({
  payload,
  contentType,
  headers: encoding === null ? [] : [["content-encoding", encoding]],
  origin: {},
});
const base64 = (bytes: Uint8Array) => Buffer.from(Buffer.from(bytes).toString("base64"));
const utf16 = Buffer.from(TEXT, "utf16le");

describe("a body that its message says is encoded", () => {
  test.each<[string, FormedBody, string]>([
    ["gzip", body(gzipSync(TEXT), "gzip"), "gzip"],
    ["zlib that Kombu calls gzip", body(deflateSync(TEXT), "gzip"), "gzip"],
    ["deflate", body(deflateSync(TEXT), "deflate"), "deflate"],
    ["deflate without its frame", body(deflateRawSync(TEXT), "deflate"), "deflate"],
    ["br", body(brotliCompressSync(TEXT), "br"), "br"],
    ["zstd", body(zstdCompressSync(TEXT), "zstd"), "zstd"],
    ["Spring's gzip:UTF-8", body(gzipSync(TEXT), "gzip:UTF-8"), "gzip"],
    ["base64 of gzip", body(base64(gzipSync(TEXT)), "gzip, base64"), "gzip, base64"],
    ["the other order", body(base64(gzipSync(TEXT)), "base64, gzip"), "gzip, base64"],
    ["base64 of gzip that names gzip alone", body(base64(gzipSync(TEXT)), "gzip"), "gzip, base64"],
    ["base64", body(base64(Buffer.from(TEXT)), "base64"), "base64"],
    ["UTF-16", body(utf16, null, "application/json; charset=utf-16"), "utf-16"],
    ["UTF-16, big end first", body(Buffer.from(utf16).swap16(), null, "text/plain; charset=utf-16"), "utf-16"],
    ["latin-1", body(Buffer.from(TEXT, "latin1"), null, "text/plain; charset=latin-1"), "windows-1252"],
    ["gzip of UTF-16", body(gzipSync(utf16), "gzip", "application/json; charset=utf-16le"), "gzip, utf-16le"],
  ])("%s is shown decoded", async (_, encoded, from) => {
    expect(await decodeBody(encoded)).toMatchObject({ from, text: TEXT, fault: null });
  });

  test("is named by the charset that its decoded bytes declare", async () => {
    const xml = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><n>Zoë</n>', "latin1");
    const decoded = await decodeBody(body(gzipSync(xml), "gzip"));
    expect(decoded).toMatchObject({ from: "gzip, windows-1252", text: expect.stringContaining("<n>Zoë</n>") });
  });

  test.each<[string, FormedBody]>([
    ["plain", body(Buffer.from(TEXT), null)],
    ["empty", body(Buffer.alloc(0), "gzip")],
    ["of the same text in its charset", body(Buffer.from('{"n":1}'), null, "application/json; charset=latin1")],
  ])("%s is not decoded", async (_, plain) => expect(await decodeBody(plain)).toBeNull());

  test.each<[string, FormedBody, string]>([
    ["plain bytes behind the name of an encoding", body(Buffer.from(TEXT), "gzip"), "the bytes are not gzip"],
    ["cut off", body(gzipSync(TEXT).subarray(0, 20), "gzip"), "the bytes are not gzip"],
    ["bzip2", body(Buffer.from("BZh9"), "bzip2"), "bzip2 is not supported"],
    ["no text", body(gzipSync(Buffer.from([0xff, 0x00, 0x81])), "gzip"), "the bytes are not text in utf-8"],
    ["an unknown charset", body(Buffer.from(TEXT), null, "text/plain; charset=x-own"), "x-own is not supported"],
    ["many encodings", body(Buffer.from(TEXT), "br, gzip, zstd, deflate, base64"), "at most 4 encodings are decoded"],
  ])("%s: its fault is named", async (_, encoded, fault) => {
    expect(await decodeBody(encoded)).toMatchObject({ text: null, fault });
  });

  // Decodes to nothing: what is too large is the step before, which no look at the text finds.
  const none = gzipSync("");
  const bomb = Buffer.concat(Array(Math.ceil((DECODED_BYTES_MAX + 1) / none.byteLength)).fill(none));
  test.each<[string, FormedBody]>([
    ["gzip", body(gzipSync(bomb), "gzip")],
    ["deflate", body(deflateRawSync(bomb), "gzip, deflate")],
    ["br", body(brotliCompressSync(bomb), "gzip, br")],
    ["zstd", body(zstdCompressSync(bomb), "gzip, zstd")],
    ["base64", body(base64(bomb), "base64")],
    ["UTF-16", body(Buffer.alloc(DECODED_BYTES_MAX + 2, "a\0"), null, "text/plain; charset=utf-16le")],
  ])("of more bytes than are shown is not decoded: %s", async (_, encoded) => {
    expect(await decodeBody(encoded)).toMatchObject({
      text: null,
      fault: "it has more than 1048576 bytes when it is decoded",
    });
  });
});

describe("the body that a viewer sees", () => {
  const SECRET = '{"password":"hunter2","n":1}';
  const MASKED = `{"password":"${REDACTED}","n":1}`;
  const DEFAULTS = DEFAULT_MASKS.of("orders");

  test("its decoded text is masked, and the stored one does not give it away", async () => {
    for (const encoded of [
      body(gzipSync(SECRET), "gzip"),
      body(base64(gzipSync(SECRET)), "gzip, base64"),
      body(Buffer.from(SECRET, "utf16le"), null, "application/json; charset=utf-16"),
    ]) {
      const shown = await bodyOf(encoded, DEFAULTS);
      expect(shown).toMatchObject({ masked: true, maskedCount: null, text: REDACTED });
      expect(shown.base64).toBe(Buffer.from(REDACTED).toString("base64"));
      expect(shown.decoded).toMatchObject({ text: MASKED, maskedCount: 1 });
    }
  });

  test.each([
    ["too large", base64(gzipSync(SECRET.padEnd(DECODED_BYTES_MAX + 1))), "gzip"],
    ["of an unknown encoding", base64(Buffer.from(SECRET)), "bzip2"],
  ])("a text that hides what could not be decoded is masked as a whole: %s", async (_, payload, encoding) => {
    const shown = await bodyOf(body(payload, encoding), DEFAULTS);
    expect(shown).toMatchObject({ text: REDACTED, maskedCount: null, decoded: { text: null } });
  });

  test("bytes that happen to be UTF-8 are masked as a whole", async () => {
    const payload = Buffer.from(`\n${SECRET}`, "utf16le");
    const shown = await bodyOf(body(payload, null), DEFAULTS);
    expect(shown).toMatchObject({ text: REDACTED, maskedCount: null, decoded: null });
  });

  test("a plain text behind the name of an encoding is masked like any other", async () => {
    expect(await bodyOf(body(Buffer.from(SECRET), "gzip"), DEFAULTS)).toMatchObject({ text: MASKED, maskedCount: 1 });
  });

  test.each<[string, FormedBody, boolean]>([
    ["plain JSON", body(Buffer.from(TEXT), null), false],
    ["JSON with a masked value", body(Buffer.from(SECRET), null), true],
    ["base64 of a masked value", body(base64(Buffer.from(SECRET)), "base64"), true],
    ["gzip of a masked value", body(gzipSync(SECRET), "gzip"), true],
    // JSON as it is stored, and bytes as its consumer reads it.
    ["digits that are base64 of bytes", body(Buffer.from("12345678"), "base64"), true],
    ["a masked header", { ...body(Buffer.from(TEXT), null), headers: [["authorization", "x"]] }, true],
  ])("decides who may edit and mend it: %s", async (_, message, masked) => {
    const set = setFor(DEFAULTS, false);
    expect(await holdsMasked(message, set)).toBe(masked);
    expect((await bodyOf(message, set)).masked).toBe(masked && message.headers[0]?.[0] !== "authorization");
  });

  test("without masks the stored bytes are what they are", async () => {
    const payload = gzipSync(SECRET);
    const shown = await bodyOf(body(payload, "gzip"), NOTHING_MASKED);
    expect(gunzipSync(Buffer.from(shown.base64, "base64")).toString()).toBe(SECRET);
    expect(shown).toMatchObject({ masked: false, text: null, decoded: { text: SECRET, maskedCount: 0 } });
  });
});
