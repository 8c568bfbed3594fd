import type { AccountRights } from "@/lib/guard/accounts/account.pure";
import { lacksSecondFactor, type SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import { nameKey } from "@/lib/guard/viewer/actor.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ACCOUNTS_MAX, type AccountList, type AccountOut } from "./accounts.shapes";

/** A row as a sign-in needs it. Times in epoch milliseconds. */
export type SignInAccount = AccountRights & {
  nameKey: string;
  password: string | null;
  totpSecret: Buffer | null;
  totpSince: number | null;
  totpStep: number | null;
  recoveryCodes: Buffer[];
  /** Consecutive wrong codes, each typed with the right password. */
  wrongCodes: number;
  disabledAt: number | null;
  /** The rights come from the groups at the OpenID provider. */
  oidcManaged: boolean;
};

const SIGN_IN = `a.id as account, a.name, a.kind, a.role, a.actions, a.sources, a.name_key as "nameKey", a.password,
  a.totp_secret as "totpSecret", a.totp_since as "totpSince", a.totp_step as "totpStep", a.recovery_codes as "recoveryCodes", a.wrong_codes as "wrongCodes",
  a.disabled_at as "disabledAt", a.oidc_managed as "oidcManaged"`;

export async function findByName(db: Queryable, nameKey: string): Promise<SignInAccount | null> {
  const [row] = await db.query<SignInAccount>(`select ${SIGN_IN} from accounts a where a.name_key = $1`, [nameKey]);
  return row ?? null;
}

/** Locks the row until the transaction ends: two changes of one account come one after the other. */
export async function lockAccount(tx: Queryable, id: string): Promise<SignInAccount> {
  const [row] = await tx.query<SignInAccount>(`select ${SIGN_IN} from accounts a where a.id = $1 for update`, [id]);
  if (row === undefined) throw unknownAccount();
  return row;
}

function unknownAccount(): DomainError {
  return new DomainError("unknown-account", "There is no account with this id: see /api/v1/accounts");
}

const SHOWN = `a.id, a.kind, a.name, a.email, a.role, a.actions, a.sources, a.password is not null as "hasPassword",
  a.totp_since as "totpSince", a.oidc_issuer as "oidcIssuer", a.oidc_managed as "oidcManaged", a.created_at as "createdAt",
  a.created_by as "createdBy", a.disabled_at as "disabledAt", a.signed_in_at as "signedInAt", a.version,
  (select count(*)::int from sessions s where s.account_id = a.id and s.expires_at > now()) as sessions,
  (select max(l.expires_at) from account_links l where l.account_id = a.id and l.expires_at > now()) as "linkUntil"`;

type Reading = { db: Queryable; env: SecondFactorTerms };
type Row = Omit<AccountOut, "secondFactorNeeded">;

function shown(row: Row, terms: SecondFactorTerms): AccountOut {
  return { ...row, secondFactorNeeded: lacksSecondFactor(row, terms) };
}

/** `name`: a part of the names of the accounts that are listed; null = all. */
export async function listAccounts(
  { db, env }: Reading,
  { name }: { name: string | null },
  viewer: Viewer,
): Promise<AccountList> {
  assertMay(viewer, "change-accounts", "all");
  const from = "from accounts a where strpos(a.name_key, $1) > 0";
  const part = [name === null ? "" : nameKey(name)];
  const rows = await db.query<Row>(`select ${SHOWN} ${from} order by a.kind, a.name_key limit ${ACCOUNTS_MAX}`, part, {
    isoTimes: true,
  });
  const [row] = await db.query<{ total: number }>(`select count(*)::int as total ${from}`, part);
  return { items: rows.map((account) => shown(account, env)), total: row!.total };
}

export async function readAccount({ db, env }: Reading, viewer: Viewer, id: string): Promise<AccountOut> {
  if (viewer.account !== id) assertMay(viewer, "change-accounts", "all");
  const [row] = await db.query<Row>(`select ${SHOWN} from accounts a where a.id = $1`, [id], { isoTimes: true });
  if (row === undefined) throw unknownAccount();
  return shown(row, env);
}

/** True when somebody could sign in: a person with an account that is not disabled. */
export async function hasAccounts(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    "select exists (select from accounts where kind = 'person' and disabled_at is null) as found",
  );
  return row!.found;
}

/** Of all accounts, as `nameKey` makes them. */
export async function readNameKeys(db: Queryable): Promise<Set<string>> {
  const rows = await db.query<{ key: string }>("select name_key as key from accounts");
  return new Set(rows.map(({ key }) => key));
}
