import { findByName, lockAccount, type SignInAccount } from "@/lib/guard/accounts/accounts.read";
import type { SignIn } from "@/lib/guard/accounts/accounts.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { openSession } from "@/lib/guard/sessions/open-session";
import { hashOf } from "@/lib/guard/sessions/secret";
import { cleanActor, nameKey } from "@/lib/guard/viewer/actor.pure";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { findKnownBrowser, rememberBrowser } from "./known-browsers";
import { assertPasswordSignIn, type PasswordTerms } from "./password.pure";
import { isPassword } from "./password-hash";
import { takeCode, WRONG_CODES_MAX } from "./second-factor";
import { countTry, forgetTries, knownBrowserLimits, takeBackTry, tryLimits } from "./tries.write";

export type SignInDeps = { db: Db; clock: Pick<Clock, "wallMs"> };

/** What is known of the browser that signs in. */
export type Browser = {
  address: string | null;
  agent: string | null;
  sessionSecret: string | null;
  /** The secret by which accounts know it. */
  knownBrowserSecret: string | null;
};

/** Of two cookies: the new session's, and the one by which the account knows the browser from now on. */
export type SignedIn = { sessionSecret: string; knownBrowserSecret: string };

/**
 * Signs a person in by name and password, and by a code where the account has a second factor. Throws DomainError `sign-in-failed`,
 * which does not say whether the name or the password is wrong, `code-required`, `too-many-requests`, `forbidden` where passwords are
 * off.
 */
export async function signIn(
  { db, clock, env }: SignInDeps & { env: PasswordTerms },
  { name, password, code }: SignIn,
  browser: Browser,
): Promise<SignedIn> {
  assertPasswordSignIn(env);
  const key = nameKey(cleanActor(name));
  const oldSecret = browser.knownBrowserSecret;
  const known = oldSecret === null ? null : await findKnownBrowser(db, { nameKey: key, secretHash: hashOf(oldSecret) });
  const limits = known === null ? tryLimits(key, browser.address) : knownBrowserLimits(known);
  await countTry(db, limits);
  const found = await findByName(db, key);
  const fits = await isPassword(password, found?.password ?? null, { first: known !== null });
  if (found === null || !fits || found.disabledAt !== null) {
    await auditFailure({ db, clock }, found, { browser });
    throw failed();
  }
  if (found.totpSince !== null && code === undefined) {
    await takeBackTry(db, limits);
    throw new DomainError("code-required", "Enter the code that your app shows now, or a recovery code");
  }
  const opened = await db.transaction(async (tx): Promise<SignedIn | "wrong-code" | null> => {
    // The password was judged outside: whoever changed it meanwhile has closed this way in.
    const account = await lockAccount(tx, found.account);
    if (account.disabledAt !== null || account.password !== found.password) return null;
    const nowMs = clock.wallMs();
    if (account.totpSince !== null && !(await takeCode(tx, account, code ?? "", nowMs))) {
      await tx.run("update accounts set wrong_codes = wrong_codes + 1 where id = $1", [account.account]);
      return "wrong-code";
    }
    if (account.wrongCodes > 0) await tx.run("update accounts set wrong_codes = 0 where id = $1", [account.account]);
    const { secret: sessionSecret } = await openSession(tx, {
      ...browser,
      account: account.account,
      name: account.name,
      means: "password",
      wrongCodes: account.wrongCodes,
      nowMs,
    });
    const knownBrowserSecret = await rememberBrowser(tx, { account: account.account, oldSecret, nowMs });
    return { sessionSecret, knownBrowserSecret };
  });
  if (opened === null || opened === "wrong-code") {
    await auditFailure({ db, clock }, found, { browser, wrongCode: opened !== null });
    throw found.wrongCodes < WRONG_CODES_MAX ? failed() : onlyRecovery();
  }
  await forgetTries(db, limits);
  return opened;
}

function failed(): DomainError {
  return new DomainError(
    "sign-in-failed",
    "Name, password or code is wrong, or the account is disabled: try again, or ask an administrator. Each code works once: wait for the next one",
  );
}

/** Only shown to somebody who knows the password. */
function onlyRecovery(): DomainError {
  return new DomainError(
    "sign-in-failed",
    `${WRONG_CODES_MAX} wrong codes were entered with your password: enter a recovery code, or ask an administrator to remove the second factor. Then change the password, which somebody else may know`,
  );
}

/**
 * Writes an entry for an account that exists: with other names strangers would fill the audit. `account` null = there is none: the entry
 * is written and taken back before the commit, so that the time of the answer does not tell which names exist. The commit waits for the
 * disk in both cases, because both have written.
 */
async function auditFailure(
  { db, clock }: SignInDeps,
  account: SignInAccount | null,
  { browser: { address }, wrongCode = false }: { browser: Browser; wrongCode?: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run("savepoint entry");
    await appendAudit(tx, {
      actor: "web",
      action: "session.refused",
      subjectKind: "account",
      subjectId: account?.account ?? null,
      after: { account: account?.name ?? "nobody", address, ...(wrongCode && { wrong: "code" }) },
      atMs: clock.wallMs(),
    });
    await tx.run(account === null ? "rollback to savepoint entry" : "release savepoint entry");
  });
}
