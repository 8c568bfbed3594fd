import type { FactorState } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { TokenRights } from "./token.pure";
import type { TokenOut } from "./tokens.shapes";

export type TokenTerms = {
  /** How many days after the last sign-in of its owner a token of an account of the OpenID provider works. */
  oidcTokensDays: number;
};

export type StoredToken = TokenRights &
  FactorState & {
    token: string;
    usedAtMs: number | null;
    /** Why it is not good any more; null = it is. */
    ended: "expired" | "revoked" | "disabled" | "sign-in-due" | null;
  };

/**
 * When the owner of a token must have signed in at the provider again, which alone says whether a person has left or lost a group. null =
 * the account is none of a provider. `days`: the parameter with `oidcTokensDays`.
 */
const signInBy = (days: string) =>
  `case when a.oidc_subject is not null then coalesce(a.signed_in_at, a.created_at) + ${days}::int * interval '1 day' end`;

/** The token of a secret, by its SHA-256, with the present rights of its account; null = there is none. One read by index. */
export async function readToken(
  db: Queryable,
  hash: Uint8Array,
  { oidcTokensDays }: TokenTerms,
): Promise<StoredToken | null> {
  const [row] = await db.query<StoredToken>(
    `select t.id as token, t.actions as "tokenActions", t.sources as "tokenSources", t.used_at as "usedAtMs",
            case when t.revoked_at is not null then 'revoked' when a.disabled_at is not null then 'disabled'
                 when t.expires_at <= now() then 'expired' when ${signInBy("$2")} <= now() then 'sign-in-due' end as ended,
            a.id as account, a.name, a.kind, a.role, a.actions, a.sources, a.password is not null as "hasPassword",
            a.totp_since as "totpSince"
       from api_tokens t join accounts a on a.id = t.account_id
      where t.hash = $1`,
    [hash, oidcTokensDays],
    { name: "live-token" },
  );
  return row ?? null;
}

const SHOWN = `t.id, t.account_id as account, a.name as "accountName", t.name, t.hint, t.actions, t.sources,
  t.created_at as "createdAt", t.created_by as "createdBy", t.expires_at as "expiresAt", t.used_at as "usedAt",
  t.used_address as "usedAddress", t.revoked_at as "revokedAt", t.revoked_by as "revokedBy", ${signInBy("$2")} as "signInBy"`;
const FROM = "from api_tokens t join accounts a on a.id = t.account_id";

/** Those that are good come first. */
export function listTokensOf(db: Queryable, account: string, { oidcTokensDays }: TokenTerms): Promise<TokenOut[]> {
  return db.query<TokenOut>(
    `select ${SHOWN} ${FROM} where t.account_id = $1
      order by (t.revoked_at is null and t.expires_at > now()) desc, t.created_at desc limit 500`,
    [account, oidcTokensDays],
    { isoTimes: true },
  );
}

export async function findToken(db: Queryable, id: string, { oidcTokensDays }: TokenTerms): Promise<TokenOut | null> {
  const [row] = await db.query<TokenOut>(`select ${SHOWN} ${FROM} where t.id = $1`, [id, oidcTokensDays], {
    isoTimes: true,
  });
  return row ?? null;
}
