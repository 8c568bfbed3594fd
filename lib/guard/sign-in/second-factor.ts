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
 * Takes a code of the second factor: of the app, whose step counts from now on as used, or a recovery code, which is gone then.
 * The row is locked. False = it is none.
 */
export async function takeCode(tx: Tx, account: SignInAccount, code: string, nowMs: number): Promise<boolean> {
  const { totpSecret, totpStep, recoveryCodes } = account;
  const plain = code.replace(/\s/g, "");
  const step = totpSecret === null ? null : totpStepOf(plain, { secret: totpSecret, usedStep: totpStep, nowMs });
  if (step !== null) {
    await tx.run("update accounts set totp_step = $2 where id = $1", [account.account, step]);
    return true;
  }
  const hash = hashOfCode(plain);
  if (!recoveryCodes.some((stored) => stored.equals(hash))) return false;
  await tx.run("update accounts set recovery_codes = array_remove(recovery_codes, $2) where id = $1", [
    account.account,
    hash,
  ]);
  return true;
}
