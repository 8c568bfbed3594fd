import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { hashOf, newSecret, sealIdToken } from "./secret";
import { SESSION_MS_MAX } from "./session.pure";
import { deleteSession, insertSession, type NewSession } from "./sessions.write";

/** It is sent back in an address, which many servers take up to 8 KiB of: a longer one is not kept. */
const ID_TOKEN_CHARS_MAX = 6_000;

export type Opening = Pick<NewSession, "account" | "means" | "address" | "agent"> & {
  /** Of the account. */
  name: string;
  /** The secret that the browser had so far: its session ends, so that a secret that somebody planted is worth nothing. */
  sessionSecret: string | null;
  /** Of a sign-in at the provider. `idToken`: as it came. */
  oidc?: { sid: string | null; idToken: string };
  /** Wrong codes typed with the right password since the last sign-in, to show to the owner. */
  wrongCodes?: number;
  nowMs: number;
};

/** Opens a session for an account, with its audit entry. Returns the secret of the cookie, which is stored nowhere. */
export async function openSession(tx: Tx, opening: Opening): Promise<{ id: string; secret: string }> {
  const { account, means, address, agent, oidc, name, sessionSecret, wrongCodes = 0, nowMs } = opening;
  if (sessionSecret !== null) await deleteSession(tx, hashOf(sessionSecret));
  const { secret, hash } = newSecret();
  const id = uuidv7(nowMs);
  await insertSession(tx, {
    ...{ id, secretHash: hash, account, means, msMax: SESSION_MS_MAX, address, agent, wrongCodes },
    oidcSid: oidc?.sid ?? null,
    idToken: oidc === undefined || oidc.idToken.length > ID_TOKEN_CHARS_MAX ? null : sealIdToken(secret, oidc.idToken),
  });
  await tx.run("update accounts set signed_in_at = now() where id = $1", [account]);
  await appendAudit(tx, {
    actor: name,
    action: "session.opened",
    subjectId: id,
    after: { account: name, means, address, ...(wrongCodes > 0 && { wrongCodes }) },
    atMs: nowMs,
  });
  return { id, secret };
}
