import { expect, test } from "vitest";
import { CopyRows } from "./copy-binary";

function rows(count: number, text: string): Buffer {
  const copy = new CopyRows(1);
  for (let i = 0; i < count; i++) copy.row().text(text);
  const bytes = Buffer.concat(copy.end());
  copy.release();
  return bytes;
}

test("rows have the format's signature, lengths and end", () => {
  const bytes = Buffer.concat(new CopyRows(3).row().text("\u20ac").int8(-1n).text(null).end());
  expect(bytes.toString("hex")).toBe(
    [
      "5047434f50590aff0d0a00" + "00000000" + "00000000",
      "0003",
      "00000003" + "e282ac",
      "00000008" + "ffffffffffffffff",
      "ffffffff",
      "ffff",
    ].join(""),
  );
});

test("chunks that are filled again hold nothing of what they held", () => {
  const first = rows(3_000, "a".repeat(100));
  const again = rows(3_000, "b".repeat(100));
  expect(again.length).toBe(first.length);
  expect(again.includes("aaaa")).toBe(false);
  expect(first.includes("bbbb")).toBe(false);
});

test("a value larger than a chunk goes in whole", () => {
  const text = "x".repeat(300_000);
  expect(rows(2, text).toString("latin1").split(text)).toHaveLength(3);
  const payload = Buffer.alloc(200_000, 7);
  expect(Buffer.concat(new CopyRows(1).row().bytea(payload).end()).includes(payload)).toBe(true);
});
