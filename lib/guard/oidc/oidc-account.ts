import { endAccess, insertAccount } from "@/lib/guard/accounts/accounts.write";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { actorFault, cleanActor, LOCAL_ACTOR } from "@/lib/guard/viewer/actor.pure";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type GroupRights, type GroupRoles, rightsOfGroups } from "./group-rights.pure";
import { OidcRefusal, type OidcRefusalReason } from "./oidc-refusal.pure";
import type { Identity } from "./provider";

/** Whoever changes an account by what the provider says. */
const BY = "web";

type Stored = GroupRights & { id: string; name: string; disabled: boolean };
type Found = { account: string; name: string } | { refused: OidcRefusalReason };

/**
 * The account of a person at the provider, made at the first sign-in, with the rights that its groups give now. Who has lost every group
 * loses sessions and tokens at once. A refusal that is returned has written something; one that is thrown (OidcRefusal) has not.
 */
export async function accountOf(
  tx: Tx,
  identity: Identity,
  { roles, nowMs }: { roles: GroupRoles; nowMs: number },
): Promise<Found> {
  // Of two first sign-ins at once the second one finds the account of the first.
  await tx.query("select pg_advisory_xact_lock(hashtextextended('parkade oidc ' || $1 || ' ' || $2, 0))", [
    identity.issuer,
    identity.subject,
  ]);
  const rights = rightsOfGroups(identity.groups, roles);
  const stored = await readStored(tx, identity);
  if (stored === null) {
    if (rights === null) throw new OidcRefusal("no-role");
    return makeAccount(tx, identity, { rights, nowMs });
  }
  const entry = auditOf(tx, stored, nowMs);
  if (stored.disabled) {
    await entry("session.refused", null, { because: "disabled" });
    return { refused: "disabled" };
  }
  if (rights === null) {
    const sessions = await endAccess(tx, stored.id, { tokensBy: BY });
    await entry("session.refused", null, { because: "no-role", sessions });
    return { refused: "no-role" };
  }
  const { role, sources, actions } = stored;
  if (JSON.stringify([role, sources, actions]) !== JSON.stringify([rights.role, rights.sources, rights.actions])) {
    await tx.run(
      "update accounts set role = $2, sources = $3, actions = $4, updated_at = now(), version = version + 1 where id = $1",
      [stored.id, rights.role, rights.sources, rights.actions],
    );
    await entry("account.changed", { role, sources, actions }, rights);
  }
  return { account: stored.id, name: stored.name };
}

async function readStored(tx: Tx, { issuer, subject }: Identity): Promise<Stored | null> {
  const [row] = await tx.query<Stored>(
    `select id, name, role, sources, actions, disabled_at is not null as disabled
       from accounts where oidc_issuer = $1 and oidc_subject = $2 for update`,
    [issuer, subject],
  );
  return row ?? null;
}

async function makeAccount(
  tx: Tx,
  { issuer, subject, name: given, email }: Identity,
  { rights, nowMs }: { rights: GroupRights; nowMs: number },
): Promise<Found> {
  const name = cleanActor(given ?? "");
  if (name === LOCAL_ACTOR || actorFault(name) !== null) throw new OidcRefusal("no-name");
  const id = uuidv7(nowMs);
  try {
    await insertAccount(tx, { id, kind: "person", name, ...rights, by: BY });
  } catch (error) {
    // The account that has the name may be of somebody else: a name at the provider takes nothing over.
    if (error instanceof DomainError && error.code === "name-taken") throw new OidcRefusal("name-taken", error);
    throw error;
  }
  await tx.run(
    "update accounts set oidc_issuer = $2, oidc_subject = $3, oidc_managed = true, email = $4 where id = $1",
    [id, issuer, subject, email],
  );
  await auditOf(tx, { id, name }, nowMs)("account.created", null, { by: "oidc", issuer, ...rights });
  return { account: id, name };
}

function auditOf(tx: Tx, { id, name }: { id: string; name: string }, atMs: number) {
  return (action: string, before: object | null, after: object) =>
    appendAudit(tx, {
      actor: BY,
      action,
      subjectKind: "account",
      subjectId: id,
      before,
      after: { account: name, ...after },
      atMs,
    });
}
