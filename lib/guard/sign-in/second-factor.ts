import type { SignInAccount } from "@/lib/guard/accounts/accounts.read";
import type { Tx } from "@/lib/platform/database/db";
import { hashOfCode, newReadableCode } from "./readable-code";
import { totpStepOf } from "./totp";

const RECOVERY_CODES = 10;
/** 123 bits: nobody finds a code by its plain hash. */
const RECOVERY_CODE_GROUPS = 5;

/** Codes to keep for the day on which the phone is lost, and their hashes. */
export function newRecoveryCodes(): { codes: string[]; hashes: Buffer[] } {
  const codes = Array.from({ length: RECOVERY_CODES }, () => newReadableCode(RECOVERY_CODE_GROUPS));
  return { codes, hashes: codes.map(hashOfCode) };
}

/**
 * Consecutive wrong codes with the right password, after which only a recovery code counts. NIST SP 800-63B allows 100: three of a million
 * codes are right at a time, so somebody who knows the passwords gets into one in 3,000 accounts.
 */
export const WRONG_CODES_MAX = 100;

/** Identifies a code: the step of the app, or a recovery code by its hash; null = neither. Does not use it up. */
export function codeOf(
  account: SignInAccount,
  code: string,
  nowMs: number,
): { step: number } | { hash: Buffer } | null {
  const { totpSecret, totpStep, recoveryCodes, wrongCodes } = account;
  const plain = code.replace(/\s/g, "");
  const ofApp = totpSecret !== null && wrongCodes < WRONG_CODES_MAX;
  const step = ofApp ? totpStepOf(plain, { secret: totpSecret, usedStep: totpStep, nowMs }) : null;
  if (step !== null) return { step };
  const hash = hashOfCode(plain);
  return recoveryCodes.some((stored) => stored.equals(hash)) ? { hash } : null;
}

/**
 * Takes a code of the second factor: of the app, whose step counts from now on as used, or a recovery code, which is gone then.
 * The row is locked. False = it is none.
 */
export async function takeCode(tx: Tx, account: SignInAccount, code: string, nowMs: number): Promise<boolean> {
  const found = codeOf(account, code, nowMs);
  if (found === null) return false;
  await ("step" in found
    ? tx.run("update accounts set totp_step = $2 where id = $1", [account.account, found.step])
    : tx.run("update accounts set recovery_codes = array_remove(recovery_codes, $2) where id = $1", [
        account.account,
        found.hash,
      ]));
  return true;
}
