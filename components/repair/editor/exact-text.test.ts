import { EditorState } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exactBytes, exactText, toBase64 } from "./exact-text";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The bytes after the editor has opened and saved them, with `typed` inserted at its start. */
function throughEditor(bytes: Uint8Array, typed = ""): Uint8Array {
  const exact = exactText(bytes)!;
  const opened = EditorState.create({
    doc: exact.text,
    extensions: EditorState.lineSeparator.of(exact.separator),
  });
  const changed = opened.update({ changes: { from: 0, insert: typed } }).state;
  return exactBytes({ ...exact, text: changed.sliceDoc() });
}

describe("the bytes of a text that is not touched", () => {
  it.each([
    ["a byte order mark", "\uFEFF{}"],
    ["a byte order mark inside", "a\uFEFFb"],
    ["CRLF", '{\r\n  "a": 1\r\n}\r\n'],
    ["LF without a newline at the end", '{\n  "a": 1\n}'],
    ["LF and CRLF mixed", '{\r\n  "a": 1\n}\r\n'],
    ["CR alone", "a\rb\r"],
    ["CRLF and CR mixed", "a\r\r\nb\r\n"],
    ["NUL and other controls", "\u0000\u0007\u2028\u0085"],
    ["nothing", ""],
  ])("survive the editor: %s", (_name, text) => {
    expect(throughEditor(bytesOf(text))).toEqual(bytesOf(text));
  });

  it("survive the editor for any mixture of line breaks", () => {
    const piece = fc.constantFrom("\r", "\n", "\r\n", "a", "\uFEFF", "ß", "\u2028", " ");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        expect(throughEditor(bytesOf(pieces.join("")))).toEqual(bytesOf(pieces.join("")));
      }),
    );
  });

  it("keep their line breaks and their mark when another place is edited", () => {
    expect(throughEditor(bytesOf("\uFEFFa\r\nb\r\n"), "x")).toEqual(bytesOf("\uFEFFxa\r\nb\r\n"));
    expect(throughEditor(bytesOf("a\r\nb\n"), "x")).toEqual(bytesOf("xa\r\nb\n"));
  });
});

it("does not open bytes that are not UTF-8 as text", () => {
  expect(exactText(new Uint8Array([0xff, 0xfe, 0x41]))).toBeNull();
  expect(exactText(new Uint8Array([0xe2, 0x82]))).toBeNull();
});

it("says which line breaks a text has", () => {
  const facts = (text: string) => {
    const { separator, mixed } = exactText(bytesOf(text))!;
    return [separator, mixed];
  };
  expect(facts("a\r\nb")).toEqual(["\r\n", false]);
  expect(facts("a\nb")).toEqual(["\n", false]);
  expect(facts("a\r\nb\n")).toEqual(["\n", true]);
  expect(facts("a")).toEqual(["\n", false]);
});

it("writes base64 of more bytes than a call takes arguments", () => {
  const bytes = Uint8Array.from({ length: 300_001 }, (_, at) => at % 251);
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
});
