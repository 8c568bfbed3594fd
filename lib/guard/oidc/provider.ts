import { createRemoteJWKSet, type RemoteJWKSet } from "jose";
import * as client from "openid-client";
import { type Logout, verifyLogoutToken } from "./logout-token";
import { OidcRefusal } from "./oidc-refusal.pure";
import type { OidcSettings } from "./oidc-settings.pure";
import { strengthFault } from "./sign-in-strength.pure";

/** For each call to the provider, its answer included. A person waits for it. */
const TIMEOUT_S = 10;
/** The provider may move its endpoints. Its keys are read anew for each sign-in: see `finish`. */
const METADATA_MS = 10 * 60_000;

/** What the provider says of a person. */
export type Identity = {
  issuer: string;
  subject: string;
  /** null = none of the claims is there. */
  name: string | null;
  email: string | null;
  groups: string[];
  /** Of its session at the provider. */
  sid: string | null;
  /** The ID token as it came: it names the session when the person signs out at the provider. */
  idToken: string;
};

export type Started = { address: string; state: string; nonce: string; verifier: string };

/**
 * One OpenID provider, over the certified `openid-client`: authorisation code with PKCE (S256), state and nonce; issuer, audience, time and
 * signature of the ID token are checked, and no redirect of the provider is followed by this process.
 */
export class OidcProvider {
  private readonly settings: OidcSettings;
  private readonly secretOf: (given: string) => string | undefined;
  private readonly nowMs: () => number;
  private readonly timeoutS: number;
  /** For logout tokens, which come without an occasion to read the keys anew. */
  private keys: { address: string; set: RemoteJWKSet } | null = null;
  private known: { configuration: Promise<client.Configuration>; readMs: number } | null = null;

  constructor(
    settings: OidcSettings,
    {
      secretOf,
      nowMs,
      timeoutS = TIMEOUT_S,
    }: { secretOf: (given: string) => string | undefined; nowMs: () => number; timeoutS?: number },
  ) {
    this.settings = settings;
    this.secretOf = secretOf;
    this.nowMs = nowMs;
    this.timeoutS = timeoutS;
  }

  get label(): string {
    return this.settings.label;
  }

  get roles() {
    return this.settings.roles;
  }

  /** Where the browser goes. Throws OidcRefusal `unavailable`. */
  async start(redirectUri: string): Promise<Started> {
    const configuration = await this.configuration();
    const { acr, maxAgeS } = this.settings.strength;
    const [state, nonce, verifier] = [client.randomState(), client.randomNonce(), client.randomPKCECodeVerifier()];
    const address = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      response_type: "code",
      scope: this.settings.scope,
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(acr.length > 0 && { acr_values: acr.join(" ") }),
      ...(maxAgeS !== null && { max_age: String(maxAgeS) }),
    });
    return { address: address.href, state, nonce, verifier };
  }

  /** Takes what the provider sent the browser back with. Throws OidcRefusal `refused`, `invalid`, `weak`, `stale`, `unavailable`. */
  async finish(answer: URL, checks: { state: string; nonce: string; verifier: string }): Promise<Identity> {
    // The library reads keys at most once a minute for one configuration. A provider may sign with a new key at once, and a code that
    // was judged by the former keys cannot be sent again.
    const configuration = await this.configuration({ anew: true });
    const { strength } = this.settings;
    try {
      const tokens = await client.authorizationCodeGrant(configuration, answer, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
        ...(strength.maxAgeS !== null && { maxAge: strength.maxAgeS }),
      });
      const claims = tokens.claims()!;
      const weak = strengthFault(claims, strength);
      if (weak !== null) throw new OidcRefusal("weak", new Error(weak));
      const more =
        claims[this.settings.groupsClaim] === undefined && configuration.serverMetadata().userinfo_endpoint
          ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)
          : {};
      return { ...this.identityOf({ ...more, ...claims }), idToken: tokens.id_token! };
    } catch (error) {
      throw refusalOf(error, this.settings.strength.maxAgeS);
    }
  }

  /**
   * Where the browser ends its session at the provider; null = the provider has no such place, or does not answer. `idToken`: of the
   * session that ends; without it some providers ask the person, or do not lead back.
   */
  async signOutAddress(returnTo: string, idToken: string | null): Promise<string | null> {
    const configuration = await this.configuration().catch(() => null);
    if (!configuration?.serverMetadata().end_session_endpoint) return null;
    return client.buildEndSessionUrl(configuration, {
      post_logout_redirect_uri: returnTo,
      ...(idToken !== null && { id_token_hint: idToken }),
    }).href;
  }

  /** See `verifyLogoutToken`. Throws OidcRefusal `invalid`, `unavailable`. */
  async verifyLogout(token: string): Promise<Logout> {
    const metadata = (await this.configuration()).serverMetadata();
    return verifyLogoutToken(token, {
      metadata,
      clientId: this.settings.clientId,
      keys: this.keysAt(metadata.jwks_uri),
    });
  }

  private keysAt(address: string | undefined): RemoteJWKSet {
    if (address === undefined || !URL.canParse(address))
      throw new OidcRefusal("unavailable", new Error("The metadata of the provider has no valid jwks_uri"));
    if (this.keys?.address !== address)
      this.keys = {
        address,
        set: createRemoteJWKSet(new URL(address), { timeoutDuration: Math.round(this.timeoutS * 1000) }),
      };
    return this.keys.set;
  }

  private identityOf(claims: Record<string, unknown> & { iss: string; sub: string }): Omit<Identity, "idToken"> {
    const text = (name: string) => (typeof claims[name] === "string" && claims[name] !== "" ? claims[name] : null);
    const groups = claims[this.settings.groupsClaim];
    return {
      issuer: claims.iss,
      subject: claims.sub,
      name: this.settings.nameClaims.map(text).find((name) => name !== null) ?? null,
      email: text("email"),
      groups: (Array.isArray(groups) ? groups : [groups]).filter((group) => typeof group === "string"),
      sid: text("sid"),
    };
  }

  /** What could not be read is read again at the next sign-in. */
  private async configuration({ anew = false } = {}): Promise<client.Configuration> {
    if (anew || this.known === null || this.nowMs() - this.known.readMs > METADATA_MS) {
      const read = { configuration: this.discover(), readMs: this.nowMs() };
      this.known = read;
      read.configuration.catch(() => {
        if (this.known === read) this.known = null;
      });
    }
    try {
      return await this.known.configuration;
    } catch (error) {
      throw new OidcRefusal("unavailable", error);
    }
  }

  private async discover(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.settings;
    const secret = clientSecret === null ? null : this.secretOf(clientSecret);
    if (secret === undefined)
      throw new Error(
        "PARKADE_OIDC_CLIENT_SECRET names a file that cannot be read, or that lies in PARKADE_SECRET_FILES, where sources may name it",
      );
    return client.discovery(
      new URL(issuer),
      clientId,
      undefined,
      secret === null ? client.None() : client.ClientSecretBasic(secret),
      {
        timeout: this.timeoutS,
        execute: [
          // The signature counts although the token came over TLS: a proxy in between changes nothing.
          client.enableNonRepudiationChecks,
          ...(issuer.startsWith("http:") ? [client.allowInsecureRequests] : []),
        ],
      },
    );
  }
}

/** The time was over while an answer was read: the library calls it an answer that is not valid. */
function isLate(error: unknown): boolean {
  return error instanceof Error && (error.name === "TimeoutError" || isLate(error.cause));
}

/**
 * Why a sign-in is not lately enough, in words for the log; null = another fault. The library compares `auth_time` with `maxAge` alone,
 * and misses it only where that is demanded.
 *
 * @param maxAgeS seconds; null = nothing is demanded
 */
function staleFault(error: unknown, maxAgeS: number | null): string | null {
  if (maxAgeS === null || !(error instanceof Error)) return null;
  const { claim, claims } = (error.cause ?? {}) as { claim?: unknown; claims?: Record<string, unknown> };
  const time = claims?.auth_time;
  if (claim !== "auth_time" && (claims === undefined || time !== undefined)) return staleFault(error.cause, maxAgeS);
  const said = time === undefined ? "no auth_time" : `the auth_time ${JSON.stringify(time)}`;
  return `The ID token has ${said}, and PARKADE_OIDC_MAX_AGE_MINUTES allows ${maxAgeS / 60}`;
}

/** @param maxAgeS as of `staleFault` */
function refusalOf(error: unknown, maxAgeS: number | null = null): OidcRefusal {
  if (error instanceof OidcRefusal) return error;
  if (error instanceof client.AuthorizationResponseError) return new OidcRefusal("refused", error);
  const stale = staleFault(error, maxAgeS);
  if (stale !== null) return new OidcRefusal("stale", new Error(stale, { cause: error }));
  if (isLate(error)) return new OidcRefusal("unavailable", error);
  const answered =
    error instanceof client.ResponseBodyError ||
    (error instanceof client.ClientError && error.code !== "OAUTH_TIMEOUT");
  return new OidcRefusal(answered ? "invalid" : "unavailable", error);
}
