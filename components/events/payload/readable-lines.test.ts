import { expect, test } from "vitest";
import { readableLines } from "./readable-lines";

test.each<[string, string, string, string | null]>([
  [
    "a form",
    "application/x-www-form-urlencoded; charset=utf-8",
    "name=Zo%C3%AB+K&empty=&name=2",
    "name = Zoë K\nempty = \nname = 2",
  ],
  [
    "XML",
    "application/xml",
    "<?xml version='1.0'?><a><b>1</b><c/></a>",
    "<?xml version='1.0'?>\n<a>\n  <b>1</b>\n  <c/>\n</a>",
  ],
  [
    "XML of another type",
    "",
    '<s:E xmlns:s="x"> <s:B>\n<q> t </q></s:B></s:E>',
    '<s:E xmlns:s="x">\n  <s:B>\n    <q> t </q>\n  </s:B>\n</s:E>',
  ],
  ["text between elements", "text/xml", "<p>a <b>c</b> d</p>", "<p>a <b>c</b> d</p>"],
  ["XML that is cut off", "text/xml", "<a></b></a><c>", "<a>\n</b>\n</a>\n<c>"],
  ["JSON", "application/json", '{"a":"<b>"}', null],
  ["a page", "text/html", "<!DOCTYPE html><p>x</p>", null],
  ["text", "text/plain", "< 5", null],
])("%s", (_, contentType, text, expected) => expect(readableLines(text, contentType)).toBe(expected));

test("a large document takes no time, and a deep one no width", () => {
  const began = performance.now();
  const lines = readableLines(`<a>${"<b>".repeat(100_000)}`, "text/xml")!.split("\n");
  expect(lines.at(-1)).toBe(`${"  ".repeat(20)}<b>`);
  readableLines(`<a>${" ".repeat(1_000_000)}`, "text/xml");
  expect(performance.now() - began).toBeLessThan(2_000);
});
