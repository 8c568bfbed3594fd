import { appendAudit } from "@/lib/guard/audit/audit.write";
import { openSession } from "@/lib/guard/sessions/open-session";
import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import { assertGoodPassword } from "@/lib/guard/sign-in/good-password";
import { rememberBrowser } from "@/lib/guard/sign-in/known-browsers";
import { assertPasswordSignIn, type PasswordTerms } from "@/lib/guard/sign-in/password.pure";
import { hashPassword } from "@/lib/guard/sign-in/password-hash";
import type { Browser, SignedIn, SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { countTry, linkLimits, takeBackTry } from "@/lib/guard/sign-in/tries.write";
import { actorFault, cleanActor } from "@/lib/guard/viewer/actor.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError, invalidFields } from "@/lib/platform/plain/problem.pure";
import { lockAccount } from "./accounts.read";
import type { LinkUse } from "./accounts.shapes";
import { endAccess, insertAccount, lockAdmins, setPassword } from "./accounts.write";

const LINK_MS: Record<LinkPurpose, number> = { setup: 86_400_000, invitation: 7 * 86_400_000, reset: 86_400_000 };

/** The secret stands behind `#`, which a browser sends to nobody: no log and no proxy reads it. */
function addressOf(publicUrl: string, secret: string): string {
  return `${publicUrl}/sign-in/link#${secret}`;
}

/** Makes a link and voids the earlier ones of the account. Returns its address, which is stored nowhere. */
export async function makeLink(
  tx: Tx,
  { purpose, account, by, publicUrl }: { purpose: LinkPurpose; account: string | null; by: string; publicUrl: string },
): Promise<{ link: string; expiresAtMs: number }> {
  const { secret, hash } = newSecret();
  const expiresAtMs = await replaceLink(tx, { hash, purpose, account, by, msMax: LINK_MS[purpose] });
  return { link: addressOf(publicUrl, secret), expiresAtMs };
}

/**
 * The link by which the first administrator is made, while nobody has an account; null = somebody has. Each start makes a new one
 * and voids the former.
 */
export async function makeSetupLink({ db }: SignInDeps, publicUrl: string): Promise<string | null> {
  return db.transaction(async (tx) => {
    await lockAdmins(tx);
    if (await hasPerson(tx)) return null;
    const { link } = await makeLink(tx, { purpose: "setup", account: null, by: "web", publicUrl });
    return link;
  });
}

async function hasPerson(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ found: boolean }>(
    "select exists (select from accounts where kind = 'person') as found",
  );
  return row!.found;
}

type LinkDeps = SignInDeps & { env: PasswordTerms };

/** What a link is for. Throws DomainError `unknown-link`, `forbidden` where passwords are off. */
export async function lookAtLink(
  { db, env }: LinkDeps,
  secret: string,
  { address }: Browser,
): Promise<Pick<LinkRow, "purpose" | "name" | "expiresAt">> {
  assertPasswordSignIn(env);
  const limits = linkLimits(address);
  await countTry(db, limits);
  const link = await readLink(db, hashOf(secret));
  if (link === null) throw unknownLink();
  await takeBackTry(db, limits);
  return link;
}

/**
 * Sets a password, once, and opens a session. The former sessions and tokens of the account end. Returns null where the account has a
 * second factor: a link alone is no proof of it, so the person signs in with the new password and a code.
 */
export async function useLink({ db, clock, env }: LinkDeps, use: LinkUse, browser: Browser): Promise<SignedIn | null> {
  const shown = await lookAtLink({ db, clock, env }, use.secret, browser);
  const name = shown.name ?? chosenName(use.name);
  await assertGoodPassword(use.password, { name, field: "password" });
  const password = await hashPassword(use.password);
  return db.transaction(async (tx) => {
    await lockAdmins(tx);
    const link = await takeLink(tx, hashOf(use.secret));
    if (link === null || (link.purpose === "setup" && (await hasPerson(tx)))) throw unknownLink();
    const nowMs = clock.wallMs();
    const account = link.account ?? uuidv7(nowMs);
    if (link.account === null) await insertAccount(tx, { id: account, kind: "person", name, role: "admin", by: name });
    const { totpSince } = await lockAccount(tx, account);
    await setPassword(tx, account, password);
    await endAccess(tx, account, { tokensBy: name });
    await appendAudit(tx, {
      actor: name,
      action: link.purpose === "setup" ? "account.created" : "account.password-set",
      subjectId: account,
      after: { account: name, by: link.purpose, ...(link.purpose === "setup" && { role: "admin" }) },
      atMs: nowMs,
    });
    if (totpSince !== null) return null;
    const { secret: sessionSecret } = await openSession(tx, { ...browser, account, name, means: "link", nowMs });
    const oldSecret = browser.knownBrowserSecret;
    return { sessionSecret, knownBrowserSecret: await rememberBrowser(tx, { account, oldSecret, nowMs }) };
  });
}

function chosenName(given: string | undefined): string {
  const name = cleanActor(given ?? "");
  const fault =
    actorFault(name) ?? (name === "local" ? "is the name for people who have not signed in: use your own" : null);
  if (fault !== null) throw invalidFields([{ field: "name", detail: fault }], "invalid-name");
  return name;
}

function unknownLink(): DomainError {
  return new DomainError("unknown-link", "This link was used, has expired or was replaced: ask for a new one");
}

export type LinkPurpose = "setup" | "invitation" | "reset";
export type LinkRow = { purpose: LinkPurpose; account: string | null; name: string | null; expiresAt: number };

/** A new link makes the earlier ones of its account void. */
async function replaceLink(
  tx: Tx,
  {
    hash,
    purpose,
    account,
    by,
    msMax,
  }: { hash: Uint8Array; purpose: LinkPurpose; account: string | null; by: string; msMax: number },
): Promise<number> {
  await tx.run("delete from account_links where account_id is not distinct from $1 or expires_at < now()", [account]);
  const [row] = await tx.query<{ expiresAt: number }>(
    `insert into account_links (hash, purpose, account_id, created_by, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms') returning expires_at as "expiresAt"`,
    [hash, purpose, account, by, msMax],
  );
  return row!.expiresAt;
}

const LINK = `select l.purpose, l.account_id as account, a.name, l.expires_at as "expiresAt"
  from account_links l left join accounts a on a.id = l.account_id
 where l.hash = $1 and l.expires_at > now() and a.disabled_at is null`;

async function readLink(db: Queryable, hash: Uint8Array): Promise<LinkRow | null> {
  const [row] = await db.query<LinkRow>(LINK, [hash]);
  return row ?? null;
}

/** Takes the link away: of two uses at once one gets it. */
async function takeLink(tx: Tx, hash: Uint8Array): Promise<LinkRow | null> {
  const [row] = await tx.query<LinkRow>(`${LINK} for update of l`, [hash]);
  if (row === undefined) return null;
  await tx.run("delete from account_links where hash = $1", [hash]);
  return row;
}
