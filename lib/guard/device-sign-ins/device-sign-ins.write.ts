import type { NewToken } from "@/lib/guard/tokens/tokens.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";

type NewDeviceSignIn = { secretHash: Uint8Array; codeHash: Uint8Array; name: string; address: string | null };

/** Returns when it ends, in epoch milliseconds. Those that have ended are deleted. */
export async function insertDeviceSignIn(
  db: Queryable,
  { secretHash, codeHash, name, address, msMax }: NewDeviceSignIn & { msMax: number },
): Promise<number> {
  await db.run("delete from device_sign_ins where expires_at < now()");
  const [row] = await db.query<{ expiresAt: number }>(
    `insert into device_sign_ins (secret_hash, code_hash, name, address, expires_at)
     values ($1, $2, $3, $4, now() + $5 * interval '1 ms') returning expires_at as "expiresAt"`,
    [secretHash, codeHash, name, address, msMax],
  );
  return row!.expiresAt;
}

type Undecided = { name: string; address: string | null; askedAt: number; expiresAt: number };
const UNDECIDED = "code_hash = $1 and expires_at > now() and decision is null";

/** What waits under a code; null = nothing does, or somebody has decided. */
export async function readUndecided(db: Queryable, codeHash: Uint8Array): Promise<Undecided | null> {
  const [row] = await db.query<Undecided>(
    `select name, address, created_at as "askedAt", expires_at as "expiresAt" from device_sign_ins where ${UNDECIDED}`,
    [codeHash],
  );
  return row ?? null;
}

/** Decides what waits under a code: of two decisions at once one counts. `wanted`: null denies. null = nothing waits. */
export async function decideUndecided(
  tx: Tx,
  codeHash: Uint8Array,
  { account, wanted }: { account: string; wanted: Omit<NewToken, "name"> | null },
): Promise<{ name: string; address: string | null } | null> {
  const [row] = await tx.query<{ name: string; address: string | null }>(
    `update device_sign_ins set decision = $2, account_id = $3, days = $4, actions = $5, sources = $6
      where ${UNDECIDED} returning name, address`,
    [
      codeHash,
      wanted === null ? "denied" : "confirmed",
      account,
      wanted?.days ?? null,
      wanted?.actions ?? null,
      wanted?.sources ?? null,
    ],
  );
  return row ?? null;
}

type Decided = { account: string; name: string } & (
  | { decision: "denied" }
  | { decision: "confirmed"; days: number; actions: NewToken["actions"] | null; sources: string[] | null }
);

/** The account that has decided, or that nobody has; null = there is no such sign-in, or it has ended. */
export async function readDecision(db: Queryable, secretHash: Uint8Array): Promise<{ account: string | null } | null> {
  const [row] = await db.query<{ account: string | null }>(
    "select account_id as account from device_sign_ins where secret_hash = $1 and expires_at > now()",
    [secretHash],
  );
  return row ?? null;
}

/** Takes a decided one away: of two at once one gets it. */
export async function takeDecided(tx: Tx, secretHash: Uint8Array): Promise<Decided | null> {
  const [row] = await tx.query<Decided>(
    `delete from device_sign_ins where secret_hash = $1 and expires_at > now() and decision is not null
     returning account_id as account, name, decision, days, actions, sources`,
    [secretHash],
  );
  return row ?? null;
}
