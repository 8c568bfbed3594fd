import * as z from "zod/mini";
import { abortable } from "@/lib/brokers/abortable";
import { basicAuthorization, poolFor, type Request, send } from "@/lib/brokers/http/exchange";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import type { OAuthSettings, TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import { type OnPhase, PublishError } from "@/lib/brokers/port";
import { excerpt } from "@/lib/brokers/scrub";
import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import { ADDRESS_REFUSED, type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { type Clock, within } from "@/lib/platform/clock";

/** A token is renewed this long before it expires; one of a short life in its last tenth. */
const RENEW_BEFORE_MS = 30_000;
/** One request for a token. A send that waits for it has its own limit, and the next one finds the token. */
const REQUEST_MS = 10_000;
/** A failed request answers for whoever asks within this time: a token server that is down, or locks clients out, is left alone. */
const REST_MS = 1_000;
const DESCRIPTION_CHARS_MAX = 200;

type Token = { authorization: string; renewAtMs: number; expiresAtMs: number };

type Deps = { clock: Clock; addresses?: AddressFilter };

/** What authorizes at a target. `address`: who is asked for it. */
export type Authorizer = {
  address: string;
  authorization(signal: AbortSignal, onPhase?: OnPhase): Promise<string | null>;
  send: AccessTokens["send"];
};

/** A token, the user of the URL, or nothing. A client certificate names us to the target alone; its authority may sign for both. */
export function authorizerOf(url: URL, { oauth, tls = {} }: HttpConfig, deps: Deps): Authorizer {
  if (oauth !== undefined)
    return new AccessTokens(oauth, { ...deps, tls: new URL(oauth.url).host === url.host ? tls : { ca: tls.ca } });
  const basic = basicAuthorization(url);
  return { address: redactUrl(url.href), authorization: async () => basic, send: (request) => request(basic) };
}

/** The access token of one OAuth client, for all sends of this process to one receiver. It is kept in memory alone. */
export class AccessTokens {
  private readonly settings: OAuthSettings;
  private readonly deps: Deps & { tls?: TlsSettings };
  /** The token server, without secrets. */
  readonly address: string;
  private token: Token | null = null;
  /** The request under way: there is one at a time. */
  private renewal: Promise<Token> | null = null;
  private failure: { error: unknown; untilMs: number } | null = null;

  constructor(settings: OAuthSettings, deps: Deps & { tls?: TlsSettings }) {
    this.settings = settings;
    this.deps = deps;
    this.address = redactUrl(settings.url);
  }

  /**
   * The value of the Authorization header. Rejects with `signal.reason`, or with a PublishError: `OAUTH_UNAVAILABLE` and codes of
   * the network say that nobody gave a token now, `OAUTH_REFUSED` that the settings must change, whose fields it names.
   */
  async authorization(signal: AbortSignal, onPhase?: OnPhase): Promise<string> {
    const nowMs = this.deps.clock.nowMs();
    const { token } = this;
    if (token !== null && nowMs < token.renewAtMs) return token.authorization;
    const renewal = this.renew(nowMs);
    if (token !== null && nowMs < token.expiresAtMs) {
      renewal.catch(() => undefined); // the failure matters once the token has expired
      return token.authorization;
    }
    onPhase?.("authorizing");
    return (await abortable(renewal, signal)).authorization;
  }

  /**
   * Sends with a token. An answer 401 or 403 says that the request was not processed: its token is dropped, and the same request is
   * sent a second time with a new one. What that is answered stands.
   */
  async send<Answer extends { status: number }>(
    request: (authorization: string | null) => Promise<Answer>,
    signal: AbortSignal,
    onPhase?: OnPhase,
  ): Promise<Answer> {
    const first = await this.authorization(signal, onPhase);
    const answer = await request(first);
    if (answer.status !== 401 && answer.status !== 403) return answer;
    // Another send may have replaced it already.
    if (this.token?.authorization === first) this.token = null;
    return request(await this.authorization(signal, onPhase));
  }

  private renew(nowMs: number): Promise<Token> {
    if (this.failure !== null && nowMs < this.failure.untilMs) return Promise.reject(this.failure.error);
    this.renewal ??= this.request();
    return this.renewal;
  }

  private async request(): Promise<Token> {
    const { clock, addresses = DEFAULT_ADDRESSES, tls } = this.deps;
    const url = new URL(this.settings.url);
    const pool = poolFor(url, addresses, tls);
    const { headers, body } = tokenRequest(this.settings);
    const path = url.pathname + url.search;
    const request: Request = { pool, path, method: "POST", headers, body, readsBody: true };
    // The life of the token begins no later than now.
    const sentMs = clock.nowMs();
    try {
      const answer = await within(clock, REQUEST_MS, (late) => send(request, this.address, late));
      this.token = this.tokenOf(answer, sentMs);
      return this.token;
    } catch (error) {
      this.failure = { error: this.unreached(error), untilMs: clock.nowMs() + REST_MS };
      throw this.failure.error;
    } finally {
      this.renewal = null;
      await pool.destroy();
    }
  }

  private tokenOf({ status, body }: { status: number; body: Buffer | null }, sentMs: number): Token {
    if (status >= 500 || status === 408 || status === 429)
      throw this.fault("OAUTH_UNAVAILABLE", `${this.address} answered ${status}`);
    const said = jsonOf(body);
    if (status < 200 || status >= 300) throw this.refused(status, said);
    const given = tokenAnswer.safeParse(said);
    if (!given.success)
      throw this.fault("OAUTH_REFUSED", `${this.address} answered ${status} without a bearer token: correct oauth.url`);
    const { access_token, expires_in } = given.data;
    const lifeMs = expires_in === undefined ? Number.POSITIVE_INFINITY : Number(expires_in) * 1_000;
    const expiresAtMs = sentMs + lifeMs;
    return {
      authorization: `Bearer ${access_token}`,
      expiresAtMs,
      renewAtMs: expiresAtMs - Math.min(RENEW_BEFORE_MS, lifeMs / 10),
    };
  }

  private refused(status: number, said: unknown): PublishError {
    const named = errorAnswer.safeParse(said);
    const error = named.success ? named.data.error : status === 401 ? "invalid_client" : null;
    if (error === null)
      return this.fault(
        "OAUTH_REFUSED",
        `${this.address} answered ${status}, which is not the answer of a token server: correct oauth.url`,
      );
    const { clientSecret } = this.settings;
    const secrets = [clientSecret, formEncoded(clientSecret), basic(this.settings)];
    const description = named.success
      ? excerpt(named.data.error_description ?? "", secrets, DESCRIPTION_CHARS_MAX)
      : "";
    const why = `${this.address} refused the client (${[error, description].filter(Boolean).join(": ")})`;
    return this.fault("OAUTH_REFUSED", `${why}: ${FIXES.get(error) ?? "correct the settings of oauth"}`);
  }

  /** A failure of the network, of the address filter, or of the clock. */
  private unreached(error: unknown): unknown {
    if (!(error instanceof PublishError))
      return this.fault("OAUTH_UNAVAILABLE", `${this.address} did not answer in ${REQUEST_MS / 1_000} s`);
    if (/^OAUTH_/.test(error.code)) return error;
    const refused = error.code === ADDRESS_REFUSED && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    return this.fault(error.code, `${this.address} cannot be reached (${error.code})${refused}`);
  }

  /** Of the request that wanted the token nothing was sent. */
  private fault(code: string, why: string): PublishError {
    return new PublishError(code, `no access token: ${why}`, { sent: "no" });
  }
}

/** RFC 6749, sections 2.3.1 and 4.4.2. */
function tokenRequest(settings: OAuthSettings): { headers: string[]; body: Uint8Array } {
  const { clientId, clientSecret, method, scope, audience } = settings;
  const inBody = method === "client_secret_post";
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    ...(scope !== undefined && { scope }),
    ...(audience !== undefined && { audience }),
    ...(inBody && { client_id: clientId, client_secret: clientSecret }),
  });
  const headers = ["content-type", "application/x-www-form-urlencoded", "accept", "application/json"];
  if (!inBody) headers.push("authorization", `Basic ${basic(settings)}`);
  return { headers, body: Buffer.from(form.toString()) };
}

function basic({ clientId, clientSecret }: OAuthSettings): string {
  return Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString("base64");
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function jsonOf(body: Buffer | null): unknown {
  try {
    return JSON.parse(body?.toString("utf8") ?? "");
  } catch {
    return null;
  }
}

/** RFC 6749, section 5.1. Some servers write the number as text. */
const tokenAnswer = z.object({
  access_token: z.string().check(z.regex(/^[\x21-\x7e]+$/)),
  token_type: z.string().check(z.regex(/^bearer$/i)),
  expires_in: z.optional(z.union([z.number().check(z.gte(0)), z.string().check(z.regex(/^\d{1,12}$/))])),
});

/** RFC 6749, section 5.2. */
const errorAnswer = z.object({
  error: z.string().check(z.regex(/^[a-zA-Z0-9_.-]{1,100}$/)),
  error_description: z.optional(z.string()),
});

const CLIENT = "correct oauth.clientId and oauth.clientSecret, or choose the other oauth.method";

/** What to change for an error of RFC 6749, section 5.2, or of RFC 8707. */
const FIXES = new Map([
  ["invalid_client", CLIENT],
  ["unauthorized_client", "allow the client of oauth.clientId the client_credentials grant on the token server"],
  ["unsupported_grant_type", "use an oauth.url that supports the client_credentials grant"],
  ["invalid_request", "correct oauth.scope and oauth.audience, or choose the other oauth.method"],
  ["invalid_scope", "correct oauth.scope"],
  ["invalid_target", "correct oauth.audience"],
]);
