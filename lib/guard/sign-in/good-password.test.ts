import { describe, expect, test } from "vitest";
import { COMMON_PASSWORDS } from "./common-passwords";
import { assertGoodPassword } from "./good-password";
import { passwordFault } from "./password.pure";

const NAMED = { name: "Maria Curie", field: "newPassword" };

describe("a chosen password", () => {
  test.each([
    "chickenwing101",
    "Counter-Strike",
    "counterstrike 16",
    "JustinBieber!!2",
    "xfinalfantasyx7",
    "Websolutions-Websolutions",
    "ghjcnjgfhjkm",
  ])("%s is refused by the list alone, which says so at its field", async (password) => {
    expect(passwordFault(password, NAMED.name), "without the list").toBeNull();
    await expect(assertGoodPassword(password, NAMED)).rejects.toMatchObject({
      code: "invalid-password",
      fields: [{ field: "newPassword", detail: expect.stringMatching(/a password that many people have/) }],
    });
  });

  test("is none of the 3000 most common ones with seven characters more", async () => {
    const common = COMMON_PASSWORDS.filter((each) => each.length >= 5);
    expect(common.length).toBeGreaterThan(40_000);
    const taken = [];
    for (const each of common.slice(0, 3000)) {
      const refusal = await assertGoodPassword(`${each}#7Vk2Zp`, NAMED).catch((error: unknown) => error);
      if (refusal === undefined) taken.push(each);
    }
    expect(taken).toEqual([]);
  });

  test.each([
    "four small grey owls",
    "q8#Vt0-pLw2!x",
    "password is what I never say at home",
    "비밀번호는 네 단어로 만든다",
  ])("%s may be", async (password) => {
    await assertGoodPassword(password, NAMED);
  });
});
