import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertPasswordSignIn, type PasswordTerms } from "@/lib/guard/sign-in/password.pure";
import type { SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { actorFault, cleanActor } from "@/lib/guard/viewer/actor.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { makeLink } from "./account-links";
import { lockAccount, readAccount, type SignInAccount } from "./accounts.read";
import type { AccountChange, AccountOut, NewAccount } from "./accounts.shapes";
import { endAccess, hasAdmin, insertAccount, lockAdmins } from "./accounts.write";
import { serviceFaults } from "./role.pure";

type Deps = SignInDeps & { env: { publicUrl: string } & PasswordTerms & SecondFactorTerms };

/** Only a person who has signed in, or somebody on an open machine: a token that is stolen makes no accounts. */
function assertMayChange(viewer: Viewer): void {
  assertMay(viewer, "change-accounts", "all");
  if (viewer.means === "token")
    throw new DomainError("forbidden", "A token may not change accounts: sign in to the console", {
      fields: [{ field: "action", detail: "change-accounts" }],
    });
}

/**
 * Makes an account. A person gets a link, by which it chooses its password. Throws DomainError `name-taken`, `invalid-name`, and
 * `forbidden` for a person where passwords are off.
 */
export async function createAccount(
  { db, clock, env }: Deps,
  account: NewAccount,
  viewer: Viewer,
): Promise<{ account: AccountOut; link: string | null }> {
  assertMayChange(viewer);
  if (account.kind === "person") assertPasswordSignIn(env);
  const name = cleanActor(account.name);
  const fault =
    actorFault(name) ?? (name === "local" ? "is the name for people who have not signed in: use another" : null);
  if (fault !== null) throw invalidFields([{ field: "name", detail: fault }], "invalid-name");
  assertForKind(account.kind, account);
  const nowMs = clock.wallMs();
  const id = uuidv7(nowMs);
  const link = await db.transaction(async (tx) => {
    await assertSources(tx, account.sources);
    await insertAccount(tx, { ...account, id, name, by: viewer.name });
    await audit(tx, {
      id,
      action: "account.created",
      before: null,
      after: termsOf({ ...account, name }),
      viewer,
      nowMs,
    });
    if (account.kind === "service") return null;
    return makeLink(tx, { purpose: "invitation", account: id, by: viewer.name, publicUrl: env.publicUrl });
  });
  return { account: await readAccount({ db, env }, viewer, id), link: link?.link ?? null };
}

/**
 * Changes rights, or disables an account, which ends its sessions and tokens at once. Throws DomainError `unknown-account`,
 * `stale-account` when it has another version by now, `last-admin`.
 */
export async function changeAccount(
  { db, clock, env }: Deps,
  { id, change }: { id: string; change: AccountChange },
  viewer: Viewer,
): Promise<AccountOut> {
  assertMayChange(viewer);
  const nowMs = clock.wallMs();
  await db.transaction(async (tx) => {
    await lockAdmins(tx);
    const passwords = env.passwordSignIn;
    const hadAdmin = await hasAdmin(tx, { passwords });
    const before = await lockAccount(tx, id);
    assertForKind(before.kind, change);
    if (before.oidcManaged && (change.role ?? change.actions ?? change.sources) !== undefined)
      throw new DomainError(
        "forbidden",
        "Its permissions come from its groups at the OpenID provider: change them there",
      );
    await assertSources(tx, change.sources);
    const changed = await tx.run(
      `update accounts set role = coalesce($3, role), actions = coalesce($4, actions),
              sources = case when $5 then $6::text[] else sources end,
              email = case when $7 then $8 else email end,
              disabled_at = case when $9::boolean is null then disabled_at when $9 then coalesce(disabled_at, now()) end,
              updated_at = now(), version = version + 1
        where id = $1 and version = $2`,
      [
        id,
        change.version,
        change.role ?? null,
        change.actions ?? null,
        change.sources !== undefined,
        change.sources ?? null,
        change.email !== undefined,
        change.email ?? null,
        change.disabled ?? null,
      ],
    );
    if (changed === 0)
      throw new DomainError("stale-account", "The account has changed since you read it: read it again", {
        fields: [{ field: "version", detail: "is not the current one" }],
      });
    // A store that has no administrator, such as an imported one, can be changed: the change takes none away.
    if (hadAdmin && !(await hasAdmin(tx, { passwords })))
      throw new DomainError(
        "last-admin",
        "Nobody would be left who can change accounts: make another person an administrator first",
      );
    if (change.disabled) await endAccess(tx, id, { tokensBy: viewer.name });
    const { version: _, ...after } = change;
    await audit(tx, {
      ...{ id, viewer, nowMs },
      action: change.disabled ? "account.disabled" : "account.changed",
      before: { ...termsOf(before), disabled: before.disabledAt !== null },
      after: { account: before.name, ...after },
    });
  });
  return readAccount({ db, env }, viewer, id);
}

/**
 * A link to choose a new password. The present one goes on to work until it is used. Throws DomainError `illegal-transition` for a
 * service and for a person of the OpenID provider.
 */
export async function resetAccount(
  { db, clock, env }: Deps,
  id: string,
  viewer: Viewer,
): Promise<{ link: string; expiresAt: string }> {
  assertMayChange(viewer);
  assertPasswordSignIn(env);
  return db.transaction(async (tx) => {
    const account = await lockAccount(tx, id);
    if (account.kind === "service")
      throw new DomainError("illegal-transition", "A service account has no password: create a token for it");
    if (account.oidcManaged)
      throw new DomainError(
        "illegal-transition",
        "This person signs in with the OpenID provider: with a password they would keep rights that their groups no longer give",
      );
    const purpose = account.password === null ? "invitation" : "reset";
    const { link, expiresAtMs } = await makeLink(tx, {
      purpose,
      account: id,
      by: viewer.name,
      publicUrl: env.publicUrl,
    });
    const after = { account: account.name, link: purpose };
    await audit(tx, { id, action: "account.link-made", before: null, after, viewer, nowMs: clock.wallMs() });
    return { link, expiresAt: iso(expiresAtMs) };
  });
}

export async function endSessions({ db, clock }: Deps, id: string, viewer: Viewer): Promise<void> {
  assertMayChange(viewer);
  await db.transaction(async (tx) => {
    const { name } = await lockAccount(tx, id);
    const ended = await endAccess(tx, id, {});
    const after = { account: name, sessions: ended };
    await audit(tx, { id, action: "account.sessions-ended", before: null, after, viewer, nowMs: clock.wallMs() });
  });
}

/** Takes away a second factor whose phone is lost. */
export async function removeTotpOf({ db, clock }: Deps, id: string, viewer: Viewer): Promise<void> {
  assertMayChange(viewer);
  await db.transaction(async (tx) => {
    const { name, totpSince } = await lockAccount(tx, id);
    await tx.run(
      "update accounts set totp_secret = null, totp_since = null, totp_step = null, recovery_codes = '{}', wrong_codes = 0 where id = $1",
      [id],
    );
    const before = { account: name, secondFactor: totpSince !== null };
    const after = { account: name, secondFactor: false };
    await audit(tx, { id, action: "account.second-factor-removed", before, after, viewer, nowMs: clock.wallMs() });
  });
}

/** A service is given nothing that is for people. */
function assertForKind(kind: "person" | "service", rights: Pick<AccountChange, "role" | "actions">): void {
  const faults = kind === "service" ? serviceFaults(rights) : [];
  if (faults.length > 0) throw invalidFields(faults, "invalid-account");
}

/** A name that no source has would give no right, and later one to whoever makes that source. */
async function assertSources(tx: Tx, sources: readonly string[] | null | undefined): Promise<void> {
  if (!sources || sources.length === 0) return;
  const rows = await tx.query<{ name: string }>(
    "select w.name from unnest($1::text[]) as w(name) where not exists (select from sources s where s.name = w.name)",
    [sources],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => JSON.stringify(name)).join(", ");
  throw invalidFields([{ field: "sources", detail: `${names}: there is no such source` }], "invalid-account");
}

function termsOf({
  name,
  role,
  actions,
  sources,
}: (Pick<SignInAccount, "name" | "role"> & Partial<Pick<NewAccount, "actions" | "sources">>) | SignInAccount) {
  return { account: name, role, actions: actions ?? [], sources: sources ?? null };
}

type Entry = { id: string; action: string; before: object | null; after: object; viewer: Viewer; nowMs: number };

async function audit(tx: Tx, { id, action, before, after, viewer, nowMs }: Entry): Promise<void> {
  await appendAudit(tx, {
    ...{ action, before, after, subjectKind: "account" as const, subjectId: id, atMs: nowMs },
    actor: viewer.name,
  });
}
