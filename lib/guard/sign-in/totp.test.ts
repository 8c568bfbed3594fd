import { describe, expect, test } from "vitest";
import { base32, totpAddress, totpCode, totpStepOf } from "./totp";

const SECRET = Buffer.from("12345678901234567890");

describe("codes of the second factor", () => {
  // RFC 6238, appendix B, by their last six digits.
  test.each([
    [59, "287082"],
    [1111111109, "081804"],
    [1111111111, "050471"],
    [1234567890, "005924"],
    [2000000000, "279037"],
    [20000000000, "353130"],
  ])("at second %s is %s", (second, code) => {
    expect(totpCode(SECRET, Math.floor(second / 30))).toBe(code);
  });

  test("count within a step before and after, once, and never backwards", () => {
    const at = { secret: SECRET, usedStep: null, nowMs: 100_000 * 30_000 + 4_000 };
    for (const step of [99_999, 100_000, 100_001]) expect(totpStepOf(totpCode(SECRET, step), at)).toBe(step);
    for (const step of [99_998, 100_002]) expect(totpStepOf(totpCode(SECRET, step), at)).toBeNull();
    const used = { ...at, usedStep: 100_000 };
    expect(totpStepOf(totpCode(SECRET, 100_000), used)).toBeNull();
    expect(totpStepOf(totpCode(SECRET, 99_999), used)).toBeNull();
    expect(totpStepOf(totpCode(SECRET, 100_001), used)).toBe(100_001);
    for (const code of ["", "12345", "1234567", "abcdef"]) expect(totpStepOf(code, at)).toBeNull();
  });

  // RFC 4648, section 10.
  test.each([
    ["", ""],
    ["f", "MY"],
    ["fo", "MZXQ"],
    ["foo", "MZXW6"],
    ["foob", "MZXW6YQ"],
    ["fooba", "MZXW6YTB"],
    ["foobar", "MZXW6YTBOI"],
  ])("a secret %j is written %s", (text, written) => {
    expect(base32(Buffer.from(text))).toBe(written);
  });

  test("the address of a QR code keeps names apart", () => {
    const address = new URL(totpAddress(SECRET, { name: "a&b=c/ü", issuer: "Parkade" }));
    expect(decodeURIComponent(address.pathname)).toBe("/Parkade:a&b=c/ü");
    expect(address.searchParams.get("secret")).toBe(base32(SECRET));
    expect(address.searchParams.get("issuer")).toBe("Parkade");
  });
});
