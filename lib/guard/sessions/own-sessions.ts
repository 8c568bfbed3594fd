import type { SessionOut } from "@/lib/guard/accounts/accounts.shapes";
import { ownOf } from "@/lib/guard/accounts/own-account";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { SignInDeps } from "@/lib/guard/sign-in/sign-in";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { openIdToken } from "./secret";
import { SESSION_IDLE_MS } from "./session.pure";

/** Sessions of your own account that have not ended, newest use first. */
export async function listOwnSessions({ db }: SignInDeps, viewer: Viewer): Promise<{ items: SessionOut[] }> {
  const { account, session } = ownOf(viewer);
  const items = await db.query<SessionOut>(
    `select id, means, created_at as "createdAt", seen_at as "seenAt", expires_at as "expiresAt", address, agent, id = $2 as current
       from sessions
      where account_id = $1 and expires_at > now() and seen_at > now() - $3 * interval '1 ms'
      order by seen_at desc limit 200`,
    [account, session, SESSION_IDLE_MS],
    { isoTimes: true },
  );
  return { items };
}

/** Ends one session of your own account; `"others"`: all but this one. Throws DomainError `unknown-session`. */
export async function endOwnSessions(
  { db, clock }: SignInDeps,
  which: string | "others",
  viewer: Viewer,
): Promise<void> {
  const { account, session } = ownOf(viewer);
  await db.transaction(async (tx) => {
    const ended = await tx.run(
      "delete from sessions where account_id = $1 and case when $2 = 'others' then id <> $3 else id::text = $2 end",
      [account, which, session],
    );
    if (ended === 0 && which !== "others")
      throw new DomainError("unknown-session", "The account has no such session: it may have ended");
    if (ended === 0) return;
    await appendAudit(tx, {
      actor: viewer.name,
      action: "session.ended",
      subjectId: which === "others" ? null : which,
      after: { account: viewer.name, sessions: ended },
      count: ended,
      atMs: clock.wallMs(),
    });
  });
}

/**
 * Signs out: the session of the request ends. `secret`: of its cookie. Returns what the provider knows the session by when it was
 * opened there; null = it was not, or there was none.
 */
export async function signOut(
  deps: SignInDeps,
  viewer: Viewer,
  secret: string | null,
): Promise<{ idToken: string | null } | null> {
  if (viewer.session === undefined) return null;
  const [session] = await deps.db.query<{ means: SessionOut["means"]; idToken: Buffer | null }>(
    `select means, id_token as "idToken" from sessions where id = $1`,
    [viewer.session],
  );
  await endOwnSessions(deps, viewer.session, viewer);
  if (session?.means !== "oidc") return null;
  return { idToken: session.idToken && secret && openIdToken(secret, session.idToken) };
}
