import { describe, expect, it } from "vitest";
import { type HexDocument, hexDocument, moveTo, pasteHex, pressKey, readOffset, redo, undo } from "./hex-document";

const start = (text = "ABCD") => hexDocument(new TextEncoder().encode(text));
const press = (doc: HexDocument, ...keys: string[]) => keys.reduce((now, key) => pressKey(now, key, 4)!, doc);
const shown = ({ bytes, at }: HexDocument) => [new TextDecoder("latin1").decode(bytes), at];

describe("typed digits", () => {
  it("replace the byte at the cursor after the second digit", () => {
    expect(shown(press(start(), "7"))).toEqual(["ABCD", 0]);
    expect(shown(press(start(), "7", "a"))).toEqual(["zBCD", 1]);
    expect(shown(press(start(), "7", "A", "7", "a"))).toEqual(["zzCD", 2]);
  });
  it("insert a byte in the insert mode, and behind the last byte", () => {
    expect(shown(press(start(), "ArrowRight", "Insert", "7", "a"))).toEqual(["AzBCD", 2]);
    expect(shown(press(start("A"), "ArrowRight", "7", "a"))).toEqual(["Az", 2]);
    expect(shown(press(start(""), "7", "a"))).toEqual(["z", 1]);
  });
  it("are forgotten when the cursor moves, or by Backspace", () => {
    expect(press(start(), "7", "ArrowRight").half).toBeNull();
    expect(shown(press(start(), "7", "Backspace", "7", "a"))).toEqual(["zBCD", 1]);
  });
});

describe("the cursor", () => {
  it("stays between the first byte and the place behind the last", () => {
    expect(press(start(), "ArrowLeft").at).toBe(0);
    expect(press(start(), "End").at).toBe(4);
    expect(press(start(), "PageDown").at).toBe(4);
    expect(moveTo(start(), 99).at).toBe(4);
  });
  it("moves by lines of 16 bytes and by pages", () => {
    const doc = moveTo(start("x".repeat(200)), 37);
    expect(press(doc, "ArrowUp").at).toBe(21);
    expect(press(doc, "ArrowDown").at).toBe(53);
    expect(press(doc, "Home").at).toBe(32);
    expect(press(doc, "End").at).toBe(47);
    expect(press(doc, "PageDown").at).toBe(101);
    expect(press(moveTo(doc, 3), "ArrowUp").at).toBe(3);
  });
});

describe("a removed byte", () => {
  it("is the one at the cursor or before it", () => {
    expect(shown(press(start(), "Delete"))).toEqual(["BCD", 0]);
    expect(shown(press(start(), "End", "Backspace"))).toEqual(["ABC", 3]);
    expect(shown(press(start(), "Backspace"))).toEqual(["ABCD", 0]);
    expect(shown(press(start(), "End", "Delete"))).toEqual(["ABCD", 4]);
  });
});

it("takes pasted digits, and nothing else", () => {
  expect(shown(pasteHex(start(), "7a 79\n78")!)).toEqual(["zyxD", 3]);
  expect(shown(pasteHex(press(start(), "Insert"), "7a79")!)).toEqual(["zyABCD", 2]);
  expect(pasteHex(start(), "7a7")).toBeNull();
  expect(pasteHex(start(), "hello!")).toBeNull();
});

it("undoes and redoes each change, and never changes the bytes it was given", () => {
  const original = new Uint8Array([0x41, 0x42]);
  const changed = press(hexDocument(original), "7", "a", "Delete");
  expect(shown(changed)).toEqual(["z", 1]);
  expect(shown(undo(changed))).toEqual(["zB", 1]);
  expect(shown(undo(undo(changed)))).toEqual(["AB", 1]);
  expect(undo(undo(undo(changed))).bytes).toEqual(original);
  expect(shown(redo(undo(changed)))).toEqual(["z", 1]);
  expect([...original]).toEqual([0x41, 0x42]);
});

it("reads an offset in decimal and in hexadecimal", () => {
  expect([readOffset("18"), readOffset(" 0x1F "), readOffset("1f"), readOffset("-1")]).toEqual([18, 31, null, null]);
});

it("leaves every other key to the page", () => {
  for (const key of ["Tab", "Escape", "g", "Enter"]) expect(pressKey(start(), key, 4)).toBeNull();
});
