/** How a person must have signed in at the provider. https://openid.net/specs/openid-connect-core-1_0.html#IDToken */
export type SignInStrength = {
  /** Accepted values of `acr`, the preferred one first; none = any, and no `acr` as well. */
  acr: readonly string[];
  /** Methods of which `amr` must have one; none = any. */
  amr: readonly string[];
  /** Seconds since the person signed in at the provider; null = any. `openid-client` compares it with `auth_time`. */
  maxAgeS: number | null;
};

/** What the claims of an ID token say too little of, in words for the log; null = the sign-in was strong enough. */
export function strengthFault(
  { acr, amr }: Readonly<Record<string, unknown>>,
  demanded: Pick<SignInStrength, "acr" | "amr">,
): string | null {
  if (demanded.acr.length > 0 && !(typeof acr === "string" && demanded.acr.includes(acr)))
    return `The ID token has ${said("acr", acr)}, and PARKADE_OIDC_ACR accepts ${demanded.acr.join(", ")}`;
  const methods: unknown[] = Array.isArray(amr) ? amr : [];
  if (demanded.amr.length > 0 && !demanded.amr.some((method) => methods.includes(method)))
    return `The ID token has ${said("amr", amr)}, and PARKADE_OIDC_AMR demands ${demanded.amr.join(" or ")}`;
  return null;
}

function said(claim: string, value: unknown): string {
  return value === undefined ? `no ${claim}` : `the ${claim} ${JSON.stringify(value)}`;
}
