import type { AccountRights } from "@/lib/guard/accounts/account.pure";
import type { SessionOut } from "@/lib/guard/accounts/accounts.shapes";
import type { FactorState } from "@/lib/guard/sign-in/second-factor-demand.pure";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { SESSION_IDLE_MS } from "./session.pure";

export type LiveSession = AccountRights &
  FactorState & {
    session: string;
    means: SessionOut["means"];
    /** Epoch milliseconds. */
    seenAtMs: number;
  };

/** How long ago the viewer's session was opened, and the wrong codes typed with the right password before; null = it has none. */
export async function readOpening(
  db: Queryable,
  viewer: Viewer,
): Promise<{ ageMs: number; wrongCodes: number } | null> {
  if (viewer.session === undefined) return null;
  const [row] = await db.query<{ ageMs: number; wrongCodes: number }>(
    `select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs", wrong_codes as "wrongCodes" from sessions where id = $1`,
    [viewer.session],
    { name: "session-opening" },
  );
  return row ?? null;
}

/**
 * The session of a secret, by its SHA-256, with the present rights of its account; null = there is none, it has ended, or the
 * account is disabled. One read by index, with each request: what is revoked or changed counts at once.
 */
export async function readLiveSession(db: Queryable, secretHash: Uint8Array): Promise<LiveSession | null> {
  const [row] = await db.query<Omit<LiveSession, "seenAtMs"> & { seenAt: number }>(
    `select s.id as session, s.means, s.seen_at as "seenAt", a.id as account, a.name, a.kind, a.role, a.actions, a.sources,
            a.password is not null as "hasPassword", a.totp_since as "totpSince"
       from sessions s join accounts a on a.id = s.account_id
      where s.secret_hash = $1 and s.expires_at > now() and s.seen_at > now() - $2 * interval '1 ms' and a.disabled_at is null`,
    [secretHash, SESSION_IDLE_MS],
    { name: "live-session" },
  );
  if (row === undefined) return null;
  const { seenAt, ...session } = row;
  return { ...session, seenAtMs: seenAt };
}
