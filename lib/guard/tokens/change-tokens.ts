import type { AccountRights } from "@/lib/guard/accounts/account.pure";
import { lockAccount, type SignInAccount } from "@/lib/guard/accounts/accounts.read";
import { assertProof } from "@/lib/guard/accounts/own-account";
import { actionsOf } from "@/lib/guard/accounts/role.pure";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import { SEEN_EVERY_MS } from "@/lib/guard/sessions/session.pure";
import { lacksSecondFactor, type SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { assertMay, assertSecondFactor, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { tokenOf } from "./token.pure";
import { findToken, listTokensOf, type TokenTerms } from "./tokens.read";
import type { NewToken, TokenOut, TokenRequest } from "./tokens.shapes";

export type TokenDeps = SignInDeps & { env: TokenTerms & SecondFactorTerms };

/** Whose tokens the viewer may see and change: the own ones after a sign-in, those of any account as an administrator. */
function assertMayChange(viewer: Viewer, account: string): void {
  if (viewer.means === "token")
    throw new DomainError("forbidden", "A token may not list or create tokens: sign in to the console", {
      fields: [{ field: "action", detail: "change tokens" }],
    });
  if (viewer.account !== account) assertMay(viewer, "change-accounts", "all");
}

export async function listTokens(
  { db, env }: TokenDeps,
  account: string,
  viewer: Viewer,
): Promise<{ items: TokenOut[] }> {
  assertMayChange(viewer, account);
  return { items: await listTokensOf(db, account, env) };
}

/** Makes a token; its secret is not stored. Throws DomainError `unknown-account`, `invalid-token`, `second-factor-needed`, `proof-failed`. */
export async function makeToken(
  deps: TokenDeps,
  { account, request: { proof, ...wanted } }: { account: string; request: TokenRequest },
  viewer: Viewer,
): Promise<{ token: TokenOut; secret: string }> {
  assertMayChange(viewer, account);
  await assertProof(deps, viewer, proof);
  const nowMs = deps.clock.wallMs();
  const { id, secret } = await deps.db.transaction(async (tx) => {
    const owner = await lockAccount(tx, account);
    if (viewer.account !== account && owner.kind === "person")
      throw new DomainError("forbidden", "People create their own tokens: create a service account for a program", {
        fields: [{ field: "account", detail: "is a person's" }],
      });
    assertOwnsTokens(owner, deps.env);
    assertWithin(owner, wanted);
    return insertToken(tx, { owner, wanted, by: viewer.name, nowMs });
  });
  return { token: (await findToken(deps.db, id, deps.env))!, secret };
}

/** Throws DomainError `second-factor-needed` for a person who must add one first. */
export function assertOwnsTokens(owner: SignInAccount, terms: SecondFactorTerms): void {
  if (lacksSecondFactor({ ...owner, hasPassword: owner.password !== null }, terms))
    assertSecondFactor({ means: "session", secondFactorNeeded: true });
}

/** Stores a token of an account, with its audit entry. The caller has checked who may. */
export async function insertToken(
  tx: Tx,
  {
    owner,
    wanted,
    by,
    nowMs,
  }: { owner: { account: string; name: string }; wanted: NewToken; by: string; nowMs: number },
): Promise<{ id: string; secret: string }> {
  const id = uuidv7(nowMs);
  const { token, hint } = tokenOf(newSecret().secret);
  const { name, days, actions = null, sources = null } = wanted;
  await tx.run(
    `insert into api_tokens (id, hash, hint, account_id, name, actions, sources, created_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 day')`,
    [id, hashOf(token), hint, owner.account, name, actions, sources, by, days],
  );
  await audit(tx, { id, action: "token.created", actor: by, nowMs, after: { account: owner.name, hint, ...wanted } });
  return { id, secret: token };
}

/** More than its account may do would be taken away again at each request, and look like a fault. */
export function assertWithin(owner: AccountRights, { actions, sources }: Pick<NewToken, "actions" | "sources">): void {
  const own = actionsOf(owner);
  const beyond = own === "all" ? [] : (actions ?? []).filter((action) => !own.includes(action));
  const unseen = (sources ?? []).filter((source) => !sees({ sources: owner.sources ?? "all" } as Viewer, source));
  const fields = [
    ...beyond.map((action) => ({ field: "actions", detail: `${action} is not one that the account has` })),
    ...unseen.map((source) => ({
      field: "sources",
      detail: `${JSON.stringify(source)} is not one that the account has`,
    })),
  ];
  if (fields.length > 0) throw invalidFields(fields, "invalid-token");
}

/** Ends a token at once; one that has ended stays as it is. Throws DomainError `unknown-token`. */
export async function revokeToken({ db, clock, env }: TokenDeps, id: string, viewer: Viewer): Promise<void> {
  await db.transaction(async (tx) => {
    const token = await findToken(tx, id, env);
    const own = token !== null && token.account === viewer.account;
    if (token === null || !(own || viewer.actions === "all" || viewer.actions.includes("change-accounts")))
      throw new DomainError("unknown-token", "You have no token with this id");
    if (!own) assertMayChange(viewer, token.account);
    const revoked = await tx.run(
      "update api_tokens set revoked_at = now(), revoked_by = $2 where id = $1 and revoked_at is null",
      [id, viewer.name],
    );
    if (revoked === 0) return;
    const after = { account: token.accountName, name: token.name, hint: token.hint };
    await audit(tx, { id, action: "token.revoked", actor: viewer.name, nowMs: clock.wallMs(), after });
  });
}

async function audit(
  tx: Tx,
  { id, action, actor, nowMs, after }: { id: string; action: string; actor: string; nowMs: number; after: object },
): Promise<void> {
  await appendAudit(tx, {
    ...{ action, subjectKind: "token" as const, subjectId: id, after, atMs: nowMs },
    actor,
  });
}

/** At most once a minute; of several requests at once one writes. */
export async function touchToken(db: Queryable, id: string, address: string | null): Promise<void> {
  await db.run(
    `update api_tokens set used_at = now(), used_address = $2
      where id = $1 and (used_at is null or used_at < now() - $3 * interval '1 ms')`,
    [id, address, SEEN_EVERY_MS],
  );
}
