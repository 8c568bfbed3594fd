import { DomainError } from "@/lib/platform/plain/problem.pure";
import { passwordFault, spelledPassword } from "./password.pure";

/** A shorter one stands in many words, and leaves eight of twelve characters anyway. */
const LISTED_CHARS_MIN = 4;

type CommonPasswords = { spelled: ReadonlySet<string>; charsMax: number };
let commonPasswords: Promise<CommonPasswords> | null = null;

/** As `spelledPassword` spells them. Read at the first use: few processes ever judge a new password, and the list takes some MB. */
async function readCommonPasswords(): Promise<CommonPasswords> {
  const { COMMON_PASSWORDS } = await import("@/lib/guard/sign-in/common-passwords");
  const spelled = new Set(COMMON_PASSWORDS.map((each) => spelledPassword(each)));
  return { spelled, charsMax: Math.max(...[...spelled].map(({ length }) => length)) };
}

/** The longest common password in the text; null = none. */
function longestIn(text: string, { spelled, charsMax }: CommonPasswords): string | null {
  for (let chars = Math.min(text.length, charsMax); chars >= LISTED_CHARS_MIN; chars--)
    for (let at = 0; at + chars <= text.length; at++) {
      const part = text.slice(at, at + chars);
      if (spelled.has(part)) return part;
    }
  return null;
}

/** Throws DomainError `invalid-password`. @param field the field of the request that holds the password */
export async function assertGoodPassword(
  password: string,
  { name, field }: { name: string; field: string },
): Promise<void> {
  commonPasswords ??= readCommonPasswords();
  const common = await commonPasswords.catch((error: unknown) => {
    commonPasswords = null;
    throw error;
  });
  const fault = passwordFault(password, name, (spelled) => longestIn(spelled, common));
  if (fault !== null)
    throw new DomainError("invalid-password", `The password ${fault}`, { fields: [{ field, detail: fault }] });
}
