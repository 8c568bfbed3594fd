import { ROLES, type Role } from "@/lib/guard/accounts/role.pure";

/** Of the environment: people of these roles who have a password need a second factor. */
export type SecondFactorTerms = { secondFactorRoles: readonly Role[] };

export const SECOND_FACTOR_RULE = `must be own, all, or a list of roles such as approver,admin; the roles are ${ROLES.join(", ")}`;

/** `own` = nobody's role, `all` = every role, else roles between commas or blanks; null = the text is none of these. */
export function parseSecondFactorRoles(text: string): Role[] | null {
  const named = text.split(/[\s,]+/).filter(Boolean);
  if (named.length === 1 && named[0] === "own") return [];
  if (named.length === 1 && named[0] === "all") return [...ROLES];
  const isRole = (name: string): name is Role => (ROLES as readonly string[]).includes(name);
  return named.length > 0 && named.every(isRole) ? ROLES.filter((role) => named.includes(role)) : null;
}

/** What of an account decides whether it lacks a factor. `totpSince`: null = it has none. */
export type FactorState = {
  kind: "person" | "service";
  role: Role;
  hasPassword: boolean;
  totpSince: number | string | null;
};

/**
 * Whether the account must add a second factor. The role alone decides: single actions that were added to an account do not. A
 * person without a password signs in at the OpenID provider, whose factor counts.
 */
export function lacksSecondFactor(
  { kind, role, hasPassword, totpSince }: FactorState,
  { secondFactorRoles }: SecondFactorTerms,
): boolean {
  return kind === "person" && hasPassword && totpSince === null && secondFactorRoles.includes(role);
}
