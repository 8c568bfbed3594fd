import { nameKey } from "@/lib/guard/viewer/actor.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const PASSWORD_CHARS_MIN = 12;
/** More would only make the server work. */
export const PASSWORD_CHARS_MAX = 200;

/** Of what is left when all that everybody tries first is taken away. */
const OWN_CHARS_MIN = 8;

/** Words that lists of stolen passwords are full of, and the product's name. Runs of keys are taken away without a list. */
const COMMON =
  /parkade|password|passw0rd|passwort|letmein|welcome|willkommen|iloveyou|change-?me|administrator|admin|login|secret|geheim|default|company|monkey|dragon|football|baseball|master|sunshine|princess|superman|abc123|spring|summer|autumn|winter|(?:19|20)\d\d/g;

/** Keys in their order, as fingers run over them, forwards and backwards. */
const RUNS = [
  ...["abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "qsdfghjklm"],
  ...[
    "zxcvbnm",
    "yxcvbnm",
    "wxcvbn",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "1qaz2wsx3edc4rfv5tgb",
    "!@#$%^&*()",
  ],
].flatMap((keys) => [keys, [...keys].reverse().join("")]);
/** Three keys in their order stand in many words: `first`, `power`. */
const RUN_CHARS_MIN = 4;
const RUN_DIGITS_MIN = 3;

/** A password as it is compared: one form of each character, so that two keyboards type the same. */
export function plainPassword(password: string): string {
  return password.normalize("NFKC");
}

/**
 * Why a password cannot be chosen, in words that follow "The password"; null = it can.
 *
 * @param listed finds the longest password of a list in a text that was spelled by `spelledPassword`; the browser has no list
 */
export function passwordFault(
  password: string,
  name: string,
  listed: (spelled: string) => string | null = () => null,
): string | null {
  const plain = plainPassword(password);
  const { length } = [...plain];
  if (length < PASSWORD_CHARS_MIN) return `has ${length} characters: choose at least ${PASSWORD_CHARS_MIN}`;
  if (length > PASSWORD_CHARS_MAX) return `has ${length} characters: choose at most ${PASSWORD_CHARS_MAX}`;
  if (new Set(plain).size < 5) return "repeats a few characters: choose another";
  if (ownChars(plain, name) < OWN_CHARS_MIN)
    return "is little more than the name, common words, or runs such as 1234: choose another, such as four random words";
  const common = listed(spelledPassword(plain));
  if (common !== null && ownChars(plain, name, common) < OWN_CHARS_MIN)
    return "is little more than a password that many people have: choose another, such as four random words";
  return null;
}

/** How many characters are left without `common`, the name, its parts, common words, runs of keys, repetitions and separators. */
function ownChars(plain: string, name: string, common = ""): number {
  const spelled = plainLetters(name);
  const parts = [
    nameKey(name),
    ...[spelled, ...spelled.split(SEPARATORS)].map((part) => part.replaceAll(SEPARATORS, "")),
  ]
    .filter((part) => part.length > 2)
    .sort((one, other) => other.length - one.length);
  let left = spelledPassword(plain);
  if (common !== "") left = left.replaceAll(common, " ");
  for (const part of parts) left = left.replaceAll(part, " ");
  left = withoutRuns(left.replace(COMMON, " "));
  // Blanks keep apart what was not beside each other; one of each repetition counts.
  left = left.replace(/(.{1,6}?)\1{2,}/gu, "$1");
  return [...left.replaceAll(" ", "")].length;
}

const SEPARATORS = /[\s._+@-]+/g;

/** Without case, accents and separators: as passwords are compared with words. */
export function spelledPassword(text: string): string {
  return plainLetters(text).replaceAll(SEPARATORS, "");
}

/** Without case and accents. */
function plainLetters(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").normalize("NFC").toLowerCase();
}

function withoutRuns(text: string): string {
  let left = "";
  for (let at = 0; at < text.length; ) {
    let end = at + RUN_DIGITS_MIN;
    while (end <= text.length && RUNS.some((run) => run.includes(text.slice(at, end)))) end++;
    const run = text.slice(at, end - 1);
    const isRun = run.length >= (/^\d+$/.test(run) ? RUN_DIGITS_MIN : RUN_CHARS_MIN);
    left += isRun ? " " : text[at];
    at += isRun ? run.length : 1;
  }
  return left;
}

/** Of the environment. False = people sign in at the provider alone. */
export type PasswordTerms = { passwordSignIn: boolean };

/** Throws DomainError `forbidden` where nobody signs in by a password, and so nobody chooses one. */
export function assertPasswordSignIn({ passwordSignIn }: PasswordTerms): void {
  if (passwordSignIn) return;
  throw new DomainError(
    "forbidden",
    "Sign-in by password is disabled here (PARKADE_PASSWORD_SIGN_IN): sign in with the OpenID provider",
  );
}
