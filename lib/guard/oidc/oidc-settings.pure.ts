import { type GroupRoles, parseGroupRoles } from "./group-rights.pure";
import type { SignInStrength } from "./sign-in-strength.pure";

export type OidcSettings = {
  /** Address of the provider, whose metadata stand at `/.well-known/openid-configuration` below it. */
  issuer: string;
  clientId: string;
  /** The secret itself, or `file:/path` outside of PARKADE_SECRET_FILES; null = a public client, which PKCE alone protects. */
  clientSecret: string | null;
  scope: string;
  /** Claims in which the name is looked for, in their order. */
  nameClaims: readonly string[];
  groupsClaim: string;
  roles: GroupRoles;
  /** How a person must have signed in at the provider. */
  strength: SignInStrength;
  /** On the button of the sign-in. */
  label: string;
};

export type OidcVariables = {
  PARKADE_OIDC_ISSUER: string | null;
  PARKADE_OIDC_CLIENT_ID: string | null;
  PARKADE_OIDC_CLIENT_SECRET: string | null;
  PARKADE_OIDC_SCOPE: string;
  PARKADE_OIDC_NAME_CLAIM: string | null;
  PARKADE_OIDC_GROUPS_CLAIM: string;
  PARKADE_OIDC_ROLES: string | null;
  PARKADE_OIDC_LABEL: string | null;
  PARKADE_OIDC_ACR: string;
  PARKADE_OIDC_AMR: string;
  PARKADE_OIDC_MAX_AGE_MINUTES: number | null;
};

/** Of the standard, and last what every provider sends. https://openid.net/specs/openid-connect-core-1_0.html#StandardClaims */
const NAME_CLAIMS = ["preferred_username", "email", "sub"];

/** The settings; null = none are given; a sentence for each fault instead, which names its variable. */
export function oidcSettingsOf(variables: OidcVariables): OidcSettings | null | string[] {
  const { PARKADE_OIDC_ISSUER: issuer, PARKADE_OIDC_CLIENT_ID: clientId, PARKADE_OIDC_ROLES: rolesText } = variables;
  if (issuer === null && clientId === null && rolesText === null) return null;
  const faults: string[] = [];
  for (const name of ["PARKADE_OIDC_ISSUER", "PARKADE_OIDC_CLIENT_ID", "PARKADE_OIDC_ROLES"] as const)
    if (variables[name] === null) faults.push(`${name} is missing: sign-in by OpenID Connect needs it.`);
  const roles = rolesText === null ? "" : parseGroupRoles(rolesText);
  if (typeof roles === "string" && rolesText !== null) faults.push(`PARKADE_OIDC_ROLES ${roles}.`);
  if (issuer !== null && !isIssuer(issuer))
    faults.push(
      "PARKADE_OIDC_ISSUER must be an https address without query, such as https://login.example.com/realms/ops; plain http is accepted only on this machine.",
    );
  const scope = variables.PARKADE_OIDC_SCOPE;
  if (!scope.split(/\s+/).includes("openid")) faults.push("PARKADE_OIDC_SCOPE must contain openid.");
  if (faults.length > 0 || issuer === null || clientId === null || typeof roles === "string") return faults;
  const { PARKADE_OIDC_NAME_CLAIM: claim, PARKADE_OIDC_MAX_AGE_MINUTES: maxAgeMinutes } = variables;
  return {
    issuer,
    clientId,
    clientSecret: variables.PARKADE_OIDC_CLIENT_SECRET,
    scope,
    nameClaims: claim === null ? NAME_CLAIMS : [claim],
    groupsClaim: variables.PARKADE_OIDC_GROUPS_CLAIM,
    roles,
    strength: {
      acr: listed(variables.PARKADE_OIDC_ACR),
      amr: listed(variables.PARKADE_OIDC_AMR),
      maxAgeS: maxAgeMinutes === null ? null : maxAgeMinutes * 60,
    },
    label: variables.PARKADE_OIDC_LABEL ?? new URL(issuer).host,
  };
}

function listed(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username } = new URL(text);
  const local = protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return (protocol === "https:" || local) && search === "" && hash === "" && username === "";
}
