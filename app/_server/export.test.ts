import { expect, it } from "vitest";
import { csvField, fileName, fileResponse } from "./export";

it("names an export by its filter and its minute, in letters that a header takes", () => {
  const nowMs = Date.parse("2026-11-22T02:44:59Z");
  expect(fileName({}, nowMs)).toBe("events-20261122T0244Z");
  expect(fileName({ source: ["orders"], errorCode: ["TIMEOUT"], q: "stock" }, nowMs)).toBe(
    "events-orders-TIMEOUT-20261122T0244Z",
  );
  expect(fileName({ source: ['a"; x=\r\ny/../z'] }, nowMs)).toBe("events-a_x_y_.._z-20261122T0244Z");
  expect(fileName({ errorCode: ["X".repeat(500)] }, nowMs)).toHaveLength(80 + 15);
});

it.each([
  ["csv", "true", "\ufeffname\r\nZoë\r\n"],
  ["csv", "false", "name\r\nZoë\r\n"],
  ["ndjson", "true", '{"name":"Zoë"}\n'],
] as const)("begins a file with a byte order mark where it is asked for: %s, %s", async (format, bom, content) => {
  const pages = (async function* () {
    yield [{ name: "Zoë" }];
  })();
  const response = await fileResponse(pages, { columns: ["name"], format, bom, name: "x" });
  // A text would lose the mark.
  expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(content));
});

it.each([
  ["=1+1", "'=1+1"],
  ["+1+1", "'+1+1"],
  ["-1+1|cmd", "'-1+1|cmd"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\t=1", '"\'\t=1"'],
  ['=HYPERLINK("http://evil.example")', '"\'=HYPERLINK(""http://evil.example"")"'],
  ["\n=1+1", '"\'\n=1+1"'],
  ["\uff1dSUM(A1)", "'\uff1dSUM(A1)"],
  ["\uff0b1", "'\uff0b1"],
  ["\uff20x", "'\uff20x"],
  ["  =1", "'  =1"],
  ["\u200b=1", "'\u200b=1"],
  ["\ufeff@x", "'\ufeff@x"],
  ["a;=1", '"a;=1"'],
  ["a\t=1", '"a\t=1"'],
  ['say "so"', '"say ""so"""'],
  ["order-7", "order-7"],
  ["two words", "two words"],
  [-7, "-7"],
  [null, ""],
])("a cell of %j is %j: no spreadsheet runs it", (value, cell) => expect(csvField(value)).toBe(cell));
