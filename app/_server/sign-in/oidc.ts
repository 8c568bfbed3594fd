import { endSessionsOfProvider } from "@/lib/guard/oidc/back-channel-logout";
import { OidcRefusal } from "@/lib/guard/oidc/oidc-refusal.pure";
import { FLOW_MS, finishOidc, type OidcDeps, startOidc } from "@/lib/guard/oidc/oidc-sign-in";
import { flowCookie, SESSION_MS_MAX, sentFlow, sessionCookie } from "@/lib/guard/sessions/session.pure";
import type { QueryOf } from "@/lib/platform/api/query.shapes";
import { decodeUtf8, mediaTypeOf, readBody } from "../body";
import type { Deps } from "../deps";
import { browserOf } from "./answers";
import { isHttps } from "./identify";

/** Whatever the provider sends: later versions of the standard add names. */
export const anyQuery: QueryOf<URLSearchParams> = { parameters: {}, problems: [], read: (params) => params };

/** Leads the browser to the provider; `to` is where it comes out in the end. */
export async function leadToProvider(request: Request, deps: Deps, query: URLSearchParams): Promise<Response> {
  return redirecting(deps, async () => {
    const https = isHttps(deps.env);
    const own = sentFlow(request.headers.get("cookie"), https);
    const { address, browser } = await startOidc(withProvider(deps), {
      to: query.get("to"),
      browser: own,
      address: browserOf(request, deps).address,
    });
    return seeOther(address, [flowCookie(browser, { https, maxAgeMs: FLOW_MS })]);
  });
}

/** Takes the browser that comes back from the provider. */
export async function takeFromProvider(request: Request, deps: Deps, query: URLSearchParams): Promise<Response> {
  return redirecting(deps, async () => {
    const https = isHttps(deps.env);
    const secret = sentFlow(request.headers.get("cookie"), https);
    const opened = await finishOidc(withProvider(deps), { query, secret }, browserOf(request, deps));
    return seeOther(`${deps.env.publicUrl}${opened.returnTo}`, [
      sessionCookie(opened.secret, { https, maxAgeMs: SESSION_MS_MAX }),
    ]);
  });
}

/** A refusal leads to the sign-in page, which says why. */
async function redirecting({ env, log }: Deps, run: () => Promise<Response>): Promise<Response> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OidcRefusal)) throw error;
    log.warn({ err: error, reason: error.reason }, "a sign-in at the provider led to no session");
    return seeOther(`${env.publicUrl}/sign-in?refused=${error.reason}`, []);
  }
}

/** A token with many groups has a few KiB. */
const LOGOUT_BYTES_MAX = 64 * 1024;

/**
 * Back-channel logout: 200, or 400 with an error as of OAuth. The answer says the kind of the fault alone, the log the rest.
 * https://openid.net/specs/openid-connect-backchannel-1_0.html#BCResponse
 */
export async function takeLogout(request: Request, deps: Deps): Promise<Response> {
  try {
    const token = await logoutTokenOf(request);
    await endSessionsOfProvider(withProvider(deps), { token, address: browserOf(request, deps).address });
    return new Response(null, { status: 200, headers: { "cache-control": "no-store" } });
  } catch (error) {
    if (!(error instanceof OidcRefusal)) throw error;
    // pino logs the messages of the causes only: the error of jose also holds the claims.
    deps.log.warn({ err: error, reason: error.reason }, "a logout token was refused");
    return Response.json(LOGOUT_FAULTS[error.reason === "unavailable" ? "unavailable" : "invalid"], {
      status: 400,
      headers: { "cache-control": "no-store" },
    });
  }
}

const LOGOUT_FAULTS = {
  invalid: {
    error: "invalid_request",
    error_description: "Send a form with one logout_token of the provider of this console that is new and not expired",
  },
  unavailable: {
    error: "temporarily_unavailable",
    error_description: "The keys of the provider cannot be read: send the token again",
  },
};

async function logoutTokenOf(request: Request): Promise<string> {
  if (mediaTypeOf(request) !== "application/x-www-form-urlencoded") throw new OidcRefusal("invalid");
  const sent = await readBody(request, LOGOUT_BYTES_MAX);
  sent.release();
  const tokens = new URLSearchParams(decodeUtf8(sent.bytes)).getAll("logout_token");
  if (tokens.length !== 1) throw new OidcRefusal("invalid");
  return tokens[0]!;
}

function withProvider(deps: Deps): OidcDeps {
  if (deps.oidc === null) throw new OidcRefusal("none");
  return { ...deps, oidc: deps.oidc };
}

function seeOther(location: string, cookies: string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
