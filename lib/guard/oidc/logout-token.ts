import { errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { ServerMetadata } from "openid-client";
import { OidcRefusal } from "./oidc-refusal.pure";

/** How old a logout token may be, and how far the provider's clock may be from ours. */
const LOGOUT_S_MAX = 600;
const SKEW_S = 60;
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Codes of jose: the answer of the provider was no set of keys, or came too late. */
const KEYS_UNREAD = new Set(["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"]);

/** Sessions that the provider says have ended: that of `sid`, or all of `subject`. One of the two is not null. */
export type Logout = {
  issuer: string;
  subject: string | null;
  sid: string | null;
  jti: string;
  /** Epoch milliseconds: the token is refused for its age from then on. */
  refusedFromMs: number;
};

/**
 * Verifies a logout token, https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation, but for its `jti`. Throws OidcRefusal
 * `invalid`, `unavailable`.
 */
export async function verifyLogoutToken(
  token: string,
  { metadata, clientId, keys }: { metadata: ServerMetadata; clientId: string; keys: JWTVerifyGetKey },
): Promise<Logout> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer: metadata.issuer,
      audience: clientId,
      // By the provider's key pairs alone: `none` and the client's secret sign nothing here.
      algorithms: (metadata.id_token_signing_alg_values_supported ?? ["RS256"]).filter(
        (name) => !/^(none|HS)/.test(name),
      ),
      requiredClaims: ["exp", "jti", "events"],
      maxTokenAge: LOGOUT_S_MAX,
      clockTolerance: SKEW_S,
    });
    const { iat, exp, jti, sub, sid, nonce, events } = payload;
    // An ID token has a nonce, and no such event: it ends nothing.
    if (nonce !== undefined || !isObject(events) || !isObject(events[LOGOUT_EVENT])) throw invalid("is none");
    if (![sub ?? "", sid ?? "", jti].every((claim) => typeof claim === "string"))
      throw invalid("has a claim that is not text");
    if (!sub && !sid) throw invalid("names neither sub nor sid");
    return {
      issuer: metadata.issuer,
      subject: sub || null,
      sid: (sid as string | undefined) || null,
      jti: jti!,
      refusedFromMs: (Math.min(exp!, iat! + LOGOUT_S_MAX) + SKEW_S) * 1000,
    };
  } catch (error) {
    if (error instanceof OidcRefusal) throw error;
    // Keys that cannot be read are the only fault that is not the token's.
    const ofToken = error instanceof errors.JOSEError && !KEYS_UNREAD.has(error.code);
    throw new OidcRefusal(ofToken ? "invalid" : "unavailable", error);
  }
}

function invalid(fault: string): OidcRefusal {
  return new OidcRefusal("invalid", new Error(`The logout token ${fault}`));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
