import { lockAccount } from "@/lib/guard/accounts/accounts.read";
import { assertProof, ownOf } from "@/lib/guard/accounts/own-account";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import { hashOfCode, newReadableCode } from "@/lib/guard/sign-in/readable-code";
import type { SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { countTry, forgetTries, programLimits, tryLimits } from "@/lib/guard/sign-in/tries.write";
import { assertOwnsTokens, assertWithin, insertToken, type TokenDeps } from "@/lib/guard/tokens/change-tokens";
import { findToken } from "@/lib/guard/tokens/tokens.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { DeviceAnswer, DeviceDecision, DeviceShown, DeviceStarted } from "./device-sign-ins.shapes";
import { decideUndecided, insertDeviceSignIn, readDecision, readUndecided, takeDecided } from "./device-sign-ins.write";

/** A person needs a minute or two; a code that is left on a screen is soon worth nothing. */
const DEVICE_MS = 10 * 60_000;
const POLL_MS = 1_000;
/** 49 bits: a code is good for ten minutes, and tries are limited. */
const USER_CODE_GROUPS = 2;
/** Of the token, where the person chooses no other. */
const DAYS_DEFAULT = 30;

/** A program asks to act for a person. Nothing is known of either yet. Throws DomainError `too-many-requests`. */
export async function startDeviceSignIn(
  { db, env }: SignInDeps & { env: { publicUrl: string } },
  { name, address }: { name: string; address: string | null },
): Promise<DeviceStarted> {
  await countTry(db, programLimits(address));
  const { secret, hash } = newSecret();
  const userCode = newReadableCode(USER_CODE_GROUPS);
  const expiresAtMs = await insertDeviceSignIn(db, {
    ...{ secretHash: hash, codeHash: hashOfCode(userCode), name, address, msMax: DEVICE_MS },
  });
  const url = `${env.publicUrl}/sign-in/device?code=${userCode}`;
  return { deviceSecret: secret, userCode, url, expiresAt: iso(expiresAtMs), pollMs: POLL_MS };
}

/** Which program waits under a code. For a person who has signed in. Throws DomainError `unknown-device-sign-in`. */
export async function lookAtDeviceSignIn(
  deps: SignInDeps,
  code: string,
  { viewer, address }: { viewer: Viewer; address: string | null },
): Promise<DeviceShown> {
  const found = await guessing(deps, { viewer, address }, () => readUndecided(deps.db, hashOfCode(code)));
  return {
    name: found.name,
    address: found.address,
    askedAt: iso(found.askedAt),
    expiresAt: iso(found.expiresAt),
  };
}

/**
 * Lets the program have a token of your own account, or not. The token may do what the decision names of what the account may.
 * Throws DomainError `unknown-device-sign-in`, also when somebody has decided before, `invalid-token`, `second-factor-needed`, `proof-failed`.
 */
export async function decideDeviceSignIn(
  deps: SignInDeps & { env: SecondFactorTerms },
  { code, decision, days = DAYS_DEFAULT, actions, sources, proof }: DeviceDecision,
  { viewer, address }: { viewer: Viewer; address: string | null },
): Promise<void> {
  const { account } = ownOf(viewer);
  if (decision === "confirm") await assertProof(deps, viewer, proof);
  const wanted = { days, ...(actions && { actions }), ...(sources && { sources }) };
  await guessing(deps, { viewer, address }, () =>
    deps.db.transaction(async (tx) => {
      const owner = await lockAccount(tx, account);
      if (decision === "confirm") {
        assertOwnsTokens(owner, deps.env);
        assertWithin(owner, wanted);
      }
      const program = await decideUndecided(tx, hashOfCode(code), {
        account,
        wanted: decision === "confirm" ? wanted : null,
      });
      if (program === null) return null;
      await appendAudit(tx, {
        ...{ actor: viewer.name, subjectKind: "account" as const, subjectId: account },
        action: decision === "confirm" ? "account.program-confirmed" : "account.program-denied",
        after: {
          account: viewer.name,
          program: program.name,
          address: program.address,
          ...(decision === "confirm" && wanted),
        },
        atMs: deps.clock.wallMs(),
      });
      return program;
    }),
  );
}

/** Counts each code that is typed before it is judged, and forgets the tries after a right one. */
async function guessing<Found>(
  { db }: SignInDeps,
  { viewer, address }: { viewer: Viewer; address: string | null },
  find: () => Promise<Found | null>,
): Promise<Found> {
  const limits = tryLimits(`program ${ownOf(viewer).account}`, address).slice(0, 2);
  await countTry(db, limits);
  const found = await find();
  if (found === null) throw unknown("No program is waiting with this code: it may be older than ten minutes");
  await forgetTries(db, limits);
  return found;
}

/**
 * What has become of the sign-in of a program: nothing yet, or the token, which is made and answered once. Throws DomainError
 * `unknown-device-sign-in` for a wrong secret, after ten minutes, and after the answer, and `second-factor-needed` while the person
 * must add one: the sign-in stays, and the token can be taken then.
 */
export async function takeDeviceSignIn({ db, clock, env }: TokenDeps, secret: string): Promise<DeviceAnswer> {
  const hash = hashOf(secret);
  const made = await db.transaction(async (tx) => {
    const waiting = await readDecision(tx, hash);
    if (waiting === null) return null;
    if (waiting.account === null) return "waiting";
    // The account before the sign-in, as whoever disables the account locks them.
    const owner = await lockAccount(tx, waiting.account);
    const decided = await takeDecided(tx, hash);
    if (decided === null || owner.disabledAt !== null) return null;
    if (decided.decision === "denied") return "denied";
    assertOwnsTokens(owner, env);
    const { name, days, actions, sources } = decided;
    const wanted = { name, days, ...(actions && { actions }), ...(sources && { sources }) };
    return insertToken(tx, { owner, wanted, by: owner.name, nowMs: clock.wallMs() });
  });
  if (made === null) throw unknown("The sign-in has ended, or its token was already used: start again");
  if (typeof made === "string") return { state: made, token: null, secret: null };
  return { state: "confirmed", token: await findToken(db, made.id, env), secret: made.secret };
}

function unknown(detail: string): DomainError {
  return new DomainError("unknown-device-sign-in", detail);
}
