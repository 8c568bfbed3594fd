import { describe, expect, test } from "vitest";
import { passwordFault } from "./password.pure";
import { hashPassword, isPassword } from "./password-hash";

/** A stored password with N = 16, for what does not depend on the cost. */
const CHEAP = `scrypt$4$8$1$${"A".repeat(22)}$${"A".repeat(43)}`;

describe("a password that is chosen", () => {
  test.each([
    ["short", /has 5 characters: choose at least 12/],
    ["x".repeat(300), /has 300 characters: choose at most 200/],
    ["abababababab", /repeats a few characters/],
    ["maria-maria-1", /little more than the name/],
    ["Password12345!", /common words, or runs/],
    ["maria1234567", /little more than the name/],
    ["1234567maria", /little more than the name/],
    ["m.a.r.i.a 1-2-3-4", /little more than the name/],
    ["maria-parkade", /little more than the name/],
    ["María.Curie.2026", /little more than the name/],
    ["mariacurie!!!!", /little more than the name/],
    ["curie qwertyuiop", /little more than the name/],
    ["parkade-admin-1", /common words/],
    ["abcdefghijkl", /runs such as 1234/],
    ["poiuytrewq98765", /runs such as 1234/],
    ["1q2w3e4r5t6y", /runs such as 1234/],
    ["Welcome!Summer2026", /common words/],
    ["xyw1xyw1xyw1xyw1 9", /little more/],
    ["🦊🦊🦊🦊🦊🦊🦊🦊🦊🦊🦊🦊", /repeats/],
  ])("%s is refused", (password, words) => {
    expect(passwordFault(password, "Maria Curie")).toMatch(words);
  });

  test.each([
    "four small grey owls",
    "q8#Vt0-pLw2!x",
    "пароль из четырёх слов",
    "password is what I never say at home",
    "four random words",
    "five large blue whales",
    "property of first power",
    "maria knew four grey owls",
    "비밀번호는 네 단어로 만든다",
  ])("%s may be", (password) => {
    expect(passwordFault(password, "Maria Curie")).toBeNull();
  });
});

describe("a stored password", () => {
  test("is known again in either form of its characters, and by nothing else", async () => {
    const stored = await hashPassword("caf\u00e9 with four words");
    expect(stored).toMatch(/^scrypt\$15\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
    expect(await isPassword("cafe\u0301 with four words", stored)).toBe(true);
    expect(await isPassword("cafe with four words", stored)).toBe(false);
  });

  test("of another cost is known as well", async () => {
    // scrypt of "pleaseletmein" and "SodiumChloride" is that of RFC 7914, cut to 32 bytes: N = 16384, r = 8, p = 1.
    const hash = Buffer.from("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2", "hex").toString(
      "base64url",
    );
    const salt = Buffer.from("SodiumChloride").toString("base64url");
    expect(await isPassword("pleaseletmein", `scrypt$14$8$1$${salt}$${hash}`)).toBe(true);
    expect(await isPassword("", CHEAP)).toBe(false);
  });

  test("that nobody has is refused, whatever is typed", async () => {
    expect(await isPassword("anything", null)).toBe(false);
  });

  test("is judged for at most so many at once, a known browser goes first, and the rest is asked to come again", async () => {
    const ended: string[] = [];
    const tries = Array.from({ length: 30 }, () => isPassword("anything", CHEAP).then(() => ended.push("stranger")));
    const known = isPassword("anything", CHEAP, { first: true }).then(() => ended.push("known"));
    const refused = (await Promise.allSettled(tries)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(8);
    for (const one of refused) expect(one).toMatchObject({ reason: { code: "too-many-requests" } });
    await known;
    // Behind the two that were being judged when it came, and perhaps one beside it.
    expect(ended.indexOf("known")).toBeLessThanOrEqual(3);
  });
});
