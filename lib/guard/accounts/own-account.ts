import { appendAudit } from "@/lib/guard/audit/audit.write";
import { readOpening } from "@/lib/guard/sessions/sessions.read";
import { assertGoodPassword } from "@/lib/guard/sign-in/good-password";
import { assertPasswordSignIn, type PasswordTerms } from "@/lib/guard/sign-in/password.pure";
import { hashPassword, isPassword } from "@/lib/guard/sign-in/password-hash";
import { codeOf, newRecoveryCodes, takeCode } from "@/lib/guard/sign-in/second-factor";
import { lacksSecondFactor, type SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { base32, newTotpSecret, totpAddress, totpStepOf } from "@/lib/guard/sign-in/totp";
import { countTry, forgetTries, proofLimits, tryLimits } from "@/lib/guard/sign-in/tries.write";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Tx } from "@/lib/platform/database/db";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { lockAccount, readAccount, type SignInAccount } from "./accounts.read";
import type { PasswordChange, Proof } from "./accounts.shapes";
import { endAccess, setPassword } from "./accounts.write";

/** The account and session of a person who has signed in. Throws DomainError `forbidden` for anybody else. */
export function ownOf(viewer: Viewer): { account: string; session: string } {
  if (viewer.means === "session" && viewer.account !== undefined && viewer.session !== undefined)
    return { account: viewer.account, session: viewer.session };
  throw new DomainError("forbidden", "This requires a person who is signed in: sign in to the console", {
    fields: [{ field: "action", detail: "own account" }],
  });
}

type FactorDeps = SignInDeps & { env: SecondFactorTerms };

export async function readOwnAccount({ db, env }: FactorDeps, viewer: Viewer) {
  const { account } = ownOf(viewer);
  const [row] = await db.query<{ left: number }>(
    "select coalesce(cardinality(recovery_codes), 0) as left from accounts where id = $1",
    [account],
  );
  const shown = await readAccount({ db, env }, viewer, account);
  const demanded = lacksSecondFactor({ ...shown, totpSince: null }, env);
  return { account: shown, totp: { since: shown.totpSince, recoveryCodesLeft: row?.left ?? 0, demanded } };
}

/** For this long after a sign-in no further proof of the person is needed. */
const FRESH_MS = 5 * 60_000;

/**
 * Makes sure that the person acts, where it gives away what an account may: a session that is older than FRESH_MS needs its password, and a
 * code where there is a second factor. Who has no password signs in again. Others than sessions have nothing to prove. Throws
 * DomainError `proof-failed`, `too-many-requests`.
 */
export async function assertProof(deps: SignInDeps, viewer: Viewer, proof: Proof): Promise<void> {
  if (viewer.means !== "session") return;
  const opening = await readOpening(deps.db, viewer);
  if (proof === undefined && opening !== null && opening.ageMs < FRESH_MS) return;
  if (proof === undefined) {
    const detail = "is needed, since you signed in a while ago: enter your password, or sign out and in again";
    throw invalidFields([{ field: "proof.password", detail }], "proof-failed");
  }
  await withProof(
    deps,
    { viewer, proof },
    {
      work: async (tx, account) => {
        if (account.totpSince !== null) await takeProof(tx, account, proof.code, deps.clock.wallMs());
      },
    },
  );
}

type PasswordProof = { password: string };

/**
 * Runs work on the own account after its password was typed again: an unlocked screen alone changes no way in. The tries are
 * forgotten once the work is done, so that a wrong code counts as a try, too. `prepare`: slow work, before the row is locked. Throws DomainError `proof-failed`, `too-many-requests`.
 */
async function withProof<T, Ready = undefined>(
  { db }: SignInDeps,
  { viewer, proof }: { viewer: Viewer; proof: PasswordProof },
  {
    prepare,
    work,
  }: {
    prepare?: (before: SignInAccount) => Promise<Ready>;
    work: (tx: Tx, account: SignInAccount, ready: Ready) => Promise<T>;
  },
): Promise<T> {
  const { account: id, session } = ownOf(viewer);
  const before = await db.transaction((tx) => lockAccount(tx, id));
  const limits = proofLimits(session);
  await countTry(db, limits);
  if (!(await isPassword(proof.password, before.password))) throw wrongProof();
  const ready = (await prepare?.(before)) as Ready;
  const done = await db.transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    if (account.password !== before.password || account.disabledAt !== null) throw wrongProof();
    return work(tx, account, ready);
  });
  await forgetTries(db, limits);
  return done;
}

/** Takes a code of the second factor. Throws DomainError `proof-failed`. */
async function takeProof(tx: Tx, account: SignInAccount, code: string | undefined, nowMs: number): Promise<void> {
  if (!(await takeCode(tx, account, code ?? "", nowMs))) throw wrongCode(code);
}

function wrongCode(code: string | undefined): DomainError {
  const detail =
    code === undefined
      ? "is needed: your account has a second factor"
      : "is wrong or already used: each code works once, wait for the next one";
  return invalidFields([{ field: "code", detail }], "proof-failed");
}

function wrongProof(): DomainError {
  return invalidFields([{ field: "password", detail: "is wrong" }], "proof-failed");
}

/**
 * Needs a code as well where the account has a second factor. Other sessions and all tokens of the account end: whoever had the old
 * password has nothing left.
 */
export async function changePassword(
  deps: SignInDeps & { env: PasswordTerms },
  { password, newPassword, code }: PasswordChange,
  viewer: Viewer,
): Promise<void> {
  assertPasswordSignIn(deps.env);
  await assertGoodPassword(newPassword, { name: viewer.name, field: "newPassword" });
  const { session } = ownOf(viewer);
  await withProof(
    deps,
    { viewer, proof: { password } },
    {
      // Hashing is expensive: only for those with both factors.
      prepare: async (before) => {
        if (before.totpSince !== null && codeOf(before, code ?? "", deps.clock.wallMs()) === null)
          throw wrongCode(code);
        return hashPassword(newPassword);
      },
      work: async (tx, row, hash) => {
        if (row.totpSince !== null) await takeProof(tx, row, code, deps.clock.wallMs());
        const { account } = row;
        await setPassword(tx, account, hash);
        await tx.run("delete from account_links where account_id = $1", [account]);
        await endAccess(tx, account, { exceptSession: session, tokensBy: viewer.name });
        await audit(tx, { deps, viewer, account, action: "account.password-set" });
      },
    },
  );
}

const ISSUER = "Parkade";

/** A secret for an authenticator app; no code is asked for until one was confirmed. */
export async function offerTotp(
  deps: SignInDeps,
  proof: PasswordProof,
  viewer: Viewer,
): Promise<{ secret: string; uri: string }> {
  return withProof(
    deps,
    { viewer, proof },
    {
      work: async (tx, { account, name, totpSince }) => {
        if (totpSince !== null)
          throw new DomainError("illegal-transition", "The account has a second factor: remove it first");
        const secret = newTotpSecret();
        await tx.run("update accounts set totp_secret = $2, totp_step = null where id = $1", [account, secret]);
        return { secret: base32(secret), uri: totpAddress(secret, { name, issuer: ISSUER }) };
      },
    },
  );
}

/**
 * From now on a code is asked for. Returns the recovery codes, which are shown once. The other sessions of the account end: they
 * were opened by the password alone, perhaps by somebody else. Those of the OpenID provider stay.
 */
export async function confirmTotp(
  deps: SignInDeps,
  code: string,
  { viewer, address }: { viewer: Viewer; address: string | null },
): Promise<{ recoveryCodes: string[] }> {
  const { account: id, session } = ownOf(viewer);
  await countTry(deps.db, tryLimits(`confirm ${id}`, address).slice(0, 1));
  return deps.db.transaction(async (tx) => {
    const { account, totpSecret, totpSince } = await lockAccount(tx, id);
    if (totpSecret === null || totpSince !== null)
      throw new DomainError("illegal-transition", "There is no second factor to confirm: ask for a new secret first");
    const nowMs = deps.clock.wallMs();
    const step = totpStepOf(code.replace(/\s/g, ""), { secret: totpSecret, usedStep: null, nowMs });
    if (step === null)
      throw invalidFields(
        [{ field: "code", detail: "is not valid now: check the clocks of phone and server" }],
        "proof-failed",
      );
    const { codes, hashes } = newRecoveryCodes();
    await tx.run("update accounts set totp_since = now(), totp_step = $2, recovery_codes = $3 where id = $1", [
      account,
      step,
      hashes,
    ]);
    const sessions = await endPasswordSessions(tx, { account, exceptSession: session });
    await audit(tx, { deps, viewer, account, action: "account.second-factor-added", more: { sessions } });
    return { recoveryCodes: codes };
  });
}

/** Those that a password or a link has opened. Returns how many have ended. */
function endPasswordSessions(tx: Tx, { account, exceptSession }: { account: string; exceptSession: string }) {
  return tx.run("delete from sessions where account_id = $1 and id <> $2 and means <> 'oidc'", [
    account,
    exceptSession,
  ]);
}

/** Where the role demands one, the account may do nothing but add another from then on: this is how a factor is replaced. */
export async function removeTotp(
  deps: SignInDeps,
  { password, code }: PasswordProof & { code: string },
  viewer: Viewer,
): Promise<void> {
  await withProof(
    deps,
    { viewer, proof: { password } },
    {
      work: async (tx, account) => {
        if (account.totpSince === null) throw new DomainError("illegal-transition", "The account has no second factor");
        await takeProof(tx, account, code, deps.clock.wallMs());
        await tx.run(
          "update accounts set totp_secret = null, totp_since = null, totp_step = null, recovery_codes = '{}', wrong_codes = 0 where id = $1",
          [account.account],
        );
        await audit(tx, { deps, viewer, account: account.account, action: "account.second-factor-removed" });
      },
    },
  );
}

type Entry = { deps: SignInDeps; viewer: Viewer; account: string; action: string; more?: object };

async function audit(tx: Tx, { deps, viewer, account, action, more }: Entry): Promise<void> {
  await appendAudit(tx, {
    ...{ action, subjectKind: "account" as const, subjectId: account },
    actor: viewer.name,
    after: { account: viewer.name, ...more },
    atMs: deps.clock.wallMs(),
  });
}
