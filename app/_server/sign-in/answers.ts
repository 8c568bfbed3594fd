import { hasAccounts } from "@/lib/guard/accounts/accounts.read";
import type { MeOut } from "@/lib/guard/accounts/accounts.shapes";
import {
  knownBrowserCookie,
  SESSION_MS_MAX,
  sentKnownBrowser,
  sentSecret,
  sessionCookie,
} from "@/lib/guard/sessions/session.pure";
import { readOpening } from "@/lib/guard/sessions/sessions.read";
import type { Browser, SignedIn } from "@/lib/guard/sign-in/sign-in";
import { isOpen } from "@/lib/guard/viewer/sign-in-mode.pure";
import { NOBODY, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "../deps";
import { ADDRESS_HEADER } from "../viewer";
import { isHttps, originOf } from "./identify";

/** What is known of the browser behind a request. */
export function browserOf({ headers }: Request, { env }: Deps): Browser {
  return {
    address: headers.get(ADDRESS_HEADER) || null,
    agent: headers.get("user-agent"),
    sessionSecret: sentSecret(headers.get("cookie"), isHttps(env)),
    knownBrowserSecret: sentKnownBrowser(headers.get("cookie"), isHttps(env)),
  };
}

/** Who the request comes from, and how somebody would sign in. Holds nothing else of the store. */
export async function meOf(request: Request, { db, env, oidc }: Deps, viewer: Viewer): Promise<MeOut> {
  const { name, means, account, actions, sources, secondFactorNeeded = false } = viewer;
  const known = viewer !== NOBODY && (means === "local" || means === "session" || means === "token");
  return {
    name: known ? name : null,
    means: known ? means : null,
    account: account ?? null,
    actions: actions === "all" ? "all" : [...actions],
    sources: sources === "all" ? "all" : [...sources],
    secondFactorNeeded,
    wrongCodes: (await readOpening(db, viewer))?.wrongCodes ?? 0,
    signIn: {
      mode: env.signIn,
      open: isOpen(env.signIn, originOf(request.headers)),
      accounts: await hasAccounts(db),
      oidc: oidc?.label ?? null,
      password: env.passwordSignIn,
    },
  };
}

/** The answer to a sign-in: its session is in a cookie, and nothing of it in the body. */
export function signedIn(deps: Deps, opened: SignedIn): Response {
  return new Response(null, { status: 204, headers: opening(deps, opened) });
}

/** The answer to a link that was used. `opened`: null = no session was opened. */
export function linkUsed(deps: Deps, opened: SignedIn | null): Response {
  const headers = opened === null ? withCookies() : opening(deps, opened);
  return Response.json({ signedIn: opened !== null }, { headers });
}

function opening({ env }: Deps, { sessionSecret, knownBrowserSecret }: SignedIn): Headers {
  const https = isHttps(env);
  return withCookies(
    sessionCookie(sessionSecret, { https, maxAgeMs: SESSION_MS_MAX }),
    knownBrowserCookie(knownBrowserSecret, https),
  );
}

/** Takes the cookie of the session away; the browser stays known. `next`: where the browser goes on to sign out. */
export function signedOut({ env }: Deps, answer: { next: string | null }): Response {
  return Response.json(answer, { headers: withCookies(sessionCookie("", { https: isHttps(env), maxAgeMs: 0 })) });
}

function withCookies(...cookies: string[]): Headers {
  const headers = new Headers({ "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return headers;
}
