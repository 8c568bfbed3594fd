import { openSession } from "@/lib/guard/sessions/open-session";
import { hashOf, newSecret } from "@/lib/guard/sessions/secret";
import { returnPath } from "@/lib/guard/sign-in/return-path.pure";
import type { Browser, SignInDeps } from "@/lib/guard/sign-in/sign-in";
import { countTry, providerLimits } from "@/lib/guard/sign-in/tries.write";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { accountOf } from "./oidc-account";
import { OidcRefusal } from "./oidc-refusal.pure";
import type { OidcProvider } from "./provider";

/** A person types a password and a code, and looks for the phone first. */
export const FLOW_MS = 10 * 60_000;

export type OidcDeps = SignInDeps & { env: { publicUrl: string }; oidc: OidcProvider };

/**
 * Begins a sign-in at the provider. `browser`: the secret that the browser has of an earlier one, which goes on to count: two tabs may
 * sign in at once. Throws OidcRefusal `often`, `unavailable`.
 */
export async function startOidc(
  { db, env, oidc }: OidcDeps,
  { to, browser, address: from }: { to: string | null; browser: string | null; address: string | null },
): Promise<{ address: string; browser: string }> {
  await countTry(db, providerLimits(from)).catch((error: unknown) => {
    throw error instanceof DomainError && error.code === "too-many-requests" ? new OidcRefusal("often", error) : error;
  });
  const { address, state, nonce, verifier } = await oidc.start(redirectUri(env));
  const secret = browser ?? newSecret().secret;
  await insertFlow(db, {
    stateHash: hashOf(state),
    browserHash: hashOf(secret),
    nonce,
    verifier,
    returnTo: returnPath(to),
    msMax: FLOW_MS,
  });
  return { address, browser: secret };
}

/**
 * Ends it: the provider has sent the browser back. `query`: as it came. A state is taken before anything else, so that no answer counts
 * twice. Returns the secret of the new session. Throws OidcRefusal.
 */
export async function finishOidc(
  { db, clock, env, oidc }: OidcDeps,
  { query, secret }: { query: URLSearchParams; secret: string | null },
  browser: Browser,
): Promise<{ secret: string; returnTo: string }> {
  const state = query.get("state") ?? "";
  const flow = await takeFlow(db, hashOf(state));
  if (flow === null || secret === null || !hashOf(secret).equals(flow.browserHash)) throw new OidcRefusal("late");
  const answer = new URL(`${redirectUri(env)}?${query}`);
  const identity = await oidc.finish(answer, { state, nonce: flow.nonce, verifier: flow.verifier });
  const nowMs = clock.wallMs();
  const opened = await db.transaction(async (tx) => {
    const found = await accountOf(tx, identity, { roles: oidc.roles, nowMs });
    if ("refused" in found) return found;
    return openSession(tx, { ...browser, ...found, means: "oidc", oidc: identity, nowMs });
  });
  if ("refused" in opened) throw new OidcRefusal(opened.refused);
  return { secret: opened.secret, returnTo: flow.returnTo };
}

/** The provider must know it. */
function redirectUri({ publicUrl }: { publicUrl: string }): string {
  return `${publicUrl}/sign-in/oidc/callback`;
}

/** A sign-in at the provider under way. */
type OidcFlow = {
  /** SHA-256 of the secret that the browser has in a cookie: whoever is led to the answer of another one is refused. */
  browserHash: Uint8Array;
  nonce: string;
  /** Of PKCE, RFC 7636. */
  verifier: string;
  returnTo: string;
};

/** Those that have ended are deleted. */
async function insertFlow(
  db: Queryable,
  { stateHash, browserHash, nonce, verifier, returnTo, msMax }: OidcFlow & { stateHash: Uint8Array; msMax: number },
): Promise<void> {
  await db.run("delete from oidc_flows where expires_at < now()");
  await db.run(
    `insert into oidc_flows (state_hash, browser_hash, nonce, verifier, return_to, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 ms')`,
    [stateHash, browserHash, nonce, verifier, returnTo, msMax],
  );
}

/** Each is taken once; null = there is none, it was taken, or it has ended. */
async function takeFlow(db: Queryable, stateHash: Uint8Array): Promise<OidcFlow | null> {
  const [row] = await db.query<OidcFlow & { live: boolean }>(
    `delete from oidc_flows where state_hash = $1
     returning browser_hash as "browserHash", nonce, verifier, return_to as "returnTo", expires_at > now() as live`,
    [stateHash],
  );
  if (!row?.live) return null;
  const { live: _, ...flow } = row;
  return flow;
}
