import type { AccountRights } from "@/lib/guard/accounts/account.pure";
import { actionsOf } from "@/lib/guard/accounts/role.pure";
import { ACTIONS, type Action, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { hash64 } from "@/lib/platform/plain/hash.pure";

/** `pk_`, 256 bits as base64url, and six letters over them: a scanner of leaked secrets knows one, and so does a typing error. */
const FORM = /^pk_([A-Za-z0-9_-]{43})([0-9a-f]{6})$/;
/** Shown in lists: a person knows a token again by it, and nobody can guess the rest. */
const HINT_CHARS = 9;

export const TOKEN_DAYS_MAX = 366;

export function tokenOf(secret: string): { token: string; hint: string } {
  const token = `pk_${secret}${checkOf(secret)}`;
  return { token, hint: token.slice(0, HINT_CHARS) };
}

function checkOf(secret: string): string {
  return hash64(secret).slice(0, 6);
}

/** The secret of a token; null = it is none, as a typing error makes of it. */
export function secretOf(token: string): string | null {
  const [, secret, check] = FORM.exec(token) ?? [];
  return secret !== undefined && checkOf(secret) === check ? secret : null;
}

/** What an Authorization header brings; null = it is absent or of another scheme. */
export function bearerOf(header: string | null): string | null {
  return /^Bearer +(\S+) *$/i.exec(header ?? "")?.[1] ?? null;
}

export type TokenRights = AccountRights & {
  /** null = as the account. */
  tokenActions: readonly Action[] | null;
  tokenSources: readonly string[] | null;
};

/** The actions of a token that names none: approving is for a person, so a token must name it. */
const UNNAMED: readonly Action[] = ACTIONS.filter((action) => action !== "approve");

/** A token may do what it names of what its account may do now. */
export function viewerOfToken({ account, name, kind, role, actions, sources, ...token }: TokenRights): Viewer {
  const own = actionsOf({ kind, role, actions });
  const allowed = narrowed(own === "all" ? ACTIONS : own, token.tokenActions ?? UNNAMED);
  const seen =
    token.tokenSources === null ? sources : sources ? narrowed(sources, token.tokenSources) : token.tokenSources;
  return { name, means: "token", account, actions: allowed, sources: seen ?? "all" };
}

function narrowed<T>(all: readonly T[], named: readonly T[]): T[] {
  return all.filter((one) => named.includes(one));
}
