import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SEAL_BYTES, seal, unseal } from "@/lib/platform/sealing/sealed-bytes";

describe("sealed bytes", () => {
  const key = createSecretKey(randomBytes(32));
  const text = Buffer.from('{"iban":"DE02 1203 0000 0000 2020 51"}');

  test("open as they were, in their place and with their key alone", () => {
    const sealed = seal(key, "here", text);
    expect(sealed).toHaveLength(text.length + SEAL_BYTES);
    expect(sealed.includes("DE02")).toBe(false);
    expect(seal(key, "here", text)).not.toEqual(sealed);
    expect(unseal(key, "here", sealed)).toEqual(text);
    expect(unseal(key, "there", sealed)).toBeNull();
    expect(unseal(createSecretKey(randomBytes(32)), "here", sealed)).toBeNull();
    expect(unseal(key, "here", seal(key, "here", Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  test("do not open with any byte changed or cut", () => {
    const sealed = seal(key, "here", text);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(unseal(key, "here", changed), String(at)).toBeNull();
      expect(unseal(key, "here", sealed.subarray(0, at)), String(at)).toBeNull();
    }
  });

  test("never use a nonce twice, also where the spare random bytes end", () => {
    const nonces = new Set(Array.from({ length: 3_000 }, () => seal(key, "", text).subarray(1, 13).toString("hex")));
    expect(nonces.size).toBe(3_000);
  });
});
