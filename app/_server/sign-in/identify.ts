import { viewerOf } from "@/lib/guard/accounts/account.pure";
import { readNameKeys } from "@/lib/guard/accounts/accounts.read";
import { hashOf } from "@/lib/guard/sessions/secret";
import { SEEN_EVERY_MS, sentSecret } from "@/lib/guard/sessions/session.pure";
import { readLiveSession } from "@/lib/guard/sessions/sessions.read";
import { touchSession } from "@/lib/guard/sessions/sessions.write";
import { lacksSecondFactor, type SecondFactorTerms } from "@/lib/guard/sign-in/second-factor-demand.pure";
import { touchToken } from "@/lib/guard/tokens/change-tokens";
import { bearerOf, secretOf, viewerOfToken } from "@/lib/guard/tokens/token.pure";
import { readToken, type StoredToken, type TokenTerms } from "@/lib/guard/tokens/tokens.read";
import { LOCAL_ACTOR, nameKey } from "@/lib/guard/viewer/actor.pure";
import { isOpen, type Origin, type SignInMode } from "@/lib/guard/viewer/sign-in-mode.pure";
import { untilSecondFactor, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { ADDRESS_HEADER, type Identify, identifyLocal, PROXIED_HEADER, type SentHeaders } from "../viewer";

type Needs = {
  db: Db;
  clock: Pick<Clock, "wallMs">;
  env: { signIn: SignInMode; publicUrl: string } & TokenTerms & SecondFactorTerms;
};

/**
 * Knows who asks: by the token of the request, else by the session of its cookie, else, where nobody needs to sign in, by the
 * name in x-actor. A token that is not good is refused even there: whoever sends one means to be somebody. Rejects with
 * DomainError `unauthenticated`.
 */
export function identifyBy(needs: Needs): Identify {
  const isTaken = accountNames(needs);
  return async (headers) => {
    const token = bearerOf(headers.get("authorization"));
    if (token !== null) return byToken(needs, token, headers);
    const secret = sentSecret(headers.get("cookie"), isHttps(needs.env));
    const viewer = secret === null ? null : await bySession(needs, secret);
    if (viewer !== null) return viewer;
    if (isOpen(needs.env.signIn, originOf(headers))) {
      const local = identifyLocal(headers);
      if (local.name === LOCAL_ACTOR || !(await isTaken(local.name))) return local;
      throw unauthenticated(`${local.name} is the name of an account: sign in, or act under another name`);
    }
    throw unauthenticated(
      secret === null
        ? "Sign in to the console, or send a token: Authorization: Bearer pk_..."
        : "The session has ended: sign in again",
    );
  };
}

/** How long a new account may wait until nobody else acts under its name. */
const NAMES_KEPT_MS = 5_000;

/** Whether a name is that of an account: an audit that shows it must mean the account. */
function accountNames({ db, clock }: Needs): (name: string) => Promise<boolean> {
  let known: { keys: Promise<Set<string>>; readMs: number } | null = null;
  return async (name) => {
    const nowMs = clock.wallMs();
    if (known === null || Math.abs(nowMs - known.readMs) > NAMES_KEPT_MS) {
      const keys = readNameKeys(db);
      known = { keys, readMs: nowMs };
      // What could not be read is read again.
      keys.catch(() => {
        known = null;
      });
    }
    return (await known.keys).has(nameKey(name));
  };
}

/** A session of the OpenID provider has the factor that the provider asks for. */
async function bySession({ db, clock, env }: Needs, secret: string): Promise<Viewer | null> {
  const session = await readLiveSession(db, hashOf(secret));
  if (session === null) return null;
  if (session.seenAtMs < clock.wallMs() - SEEN_EVERY_MS) await touchSession(db, session.session);
  const viewer = viewerOf(session, session.session);
  return session.means !== "oidc" && lacksSecondFactor(session, env) ? untilSecondFactor(viewer) : viewer;
}

const ENDED: Record<NonNullable<StoredToken["ended"]>, string> = {
  expired: "The token has expired: create a new one",
  revoked: "The token was revoked: create a new one",
  disabled: "The account of the token is disabled: ask an administrator",
  "sign-in-due":
    "The token's owner has not signed in for too long: the token works again once the owner signs in to the console",
};

async function byToken({ db, clock, env }: Needs, text: string, headers: SentHeaders): Promise<Viewer> {
  if (secretOf(text) === null)
    throw unauthenticated("This is not a Parkade token: tokens begin with pk_ and have 52 characters");
  const token = await readToken(db, hashOf(text), env);
  if (token === null) throw unauthenticated("Token not found");
  if (token.ended !== null) throw unauthenticated(ENDED[token.ended]);
  const stale = token.usedAtMs === null || token.usedAtMs < clock.wallMs() - SEEN_EVERY_MS;
  if (stale) await touchToken(db, token.token, headers.get(ADDRESS_HEADER) || null);
  const viewer = viewerOfToken(token);
  return lacksSecondFactor(token, env) ? untilSecondFactor(viewer) : viewer;
}

function unauthenticated(detail: string): DomainError {
  return new DomainError("unauthenticated", detail, { headers: { "www-authenticate": 'Bearer realm="parkade"' } });
}

export function originOf(headers: SentHeaders): Origin {
  return {
    address: headers.get(ADDRESS_HEADER) || null,
    host: headers.get("host") ?? undefined,
    forwarded: headers.get(PROXIED_HEADER) === "1",
  };
}

/** The public address says whether browsers come over https: TLS ends at a proxy in front. */
export function isHttps({ publicUrl }: { publicUrl: string }): boolean {
  return publicUrl.startsWith("https:");
}
