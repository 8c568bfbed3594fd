import { expect, it } from "vitest";
import { fromBase64, hexLines } from "./hex-lines";

it("prints bytes as xxd does", () => {
  const bytes = new TextEncoder().encode("Parkade\n\0\u00e9 and more");
  expect(hexLines(bytes, 0, 10)).toEqual([
    { offset: "00000000", hex: "5061 726b 6164 650a 00c3 a920 616e 6420 ", ascii: "Parkade···· and " },
    { offset: "00000010", hex: "6d6f 7265                               ", ascii: "more" },
  ]);
});

it("reads base64 byte for byte", () => {
  expect([...fromBase64("q83v/w==")]).toEqual([0xab, 0xcd, 0xef, 0xff]);
});
