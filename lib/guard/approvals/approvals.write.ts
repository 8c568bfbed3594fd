import type { ApprovalCause, ApprovalSubject, ApprovalTerms } from "@/lib/guard/approvals/approval.pure";
import { APPROVAL_COLUMNS } from "@/lib/guard/approvals/approvals.read";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { APPROVAL_MOVES, type ApprovalMove, type ApprovalState } from "@/lib/states/approval-state.pure";
import { APPROVAL } from "@/lib/states/state.sql";

export type ApprovalRow = {
  id: string;
  subjectKind: ApprovalSubject;
  subjectId: string;
  state: ApprovalState;
  causes: ApprovalCause[];
  terms: ApprovalTerms;
  digest: string;
  askedBy: string;
  askedAtMs: number;
  expiresAtMs: number;
  /** By the store's clock. */
  overdue: boolean;
  decidedBy: string | null;
  decidedAtMs: number | null;
  reason: string | null;
};

/** The latest request for approval of a redrive or bulk operation; null = none was ever needed. */
export async function latestApproval(db: Queryable, subjectId: string): Promise<ApprovalRow | null> {
  const [row] = await db.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS}, a.expires_at <= now() as overdue from approvals a where a.subject_id = $1 order by a.id desc limit 1`,
    [subjectId],
    { name: "latest-approval" },
  );
  return row ?? null;
}

export type NewApproval = Pick<
  ApprovalRow,
  "id" | "subjectKind" | "subjectId" | "causes" | "terms" | "digest" | "askedBy"
> & { waitMs: number };

/** Asks for an approval: the redrive or mend waits for it from here on. */
export async function insertApproval(tx: Tx, approval: NewApproval): Promise<void> {
  await tx.run(
    `insert into approvals (id, subject_kind, subject_id, state, causes, terms, digest, asked_by, expires_at)
     values ($1, $2, $3, ${APPROVAL.asked}, $4::jsonb, $5::jsonb, $6, $7, now() + make_interval(secs => $8))`,
    [
      approval.id,
      approval.subjectKind,
      approval.subjectId,
      JSON.stringify(approval.causes),
      JSON.stringify(approval.terms),
      approval.digest,
      approval.askedBy,
      approval.waitMs / 1000,
    ],
  );
  const table = approval.subjectKind === "redrive" ? "redrives" : "bulk_operations";
  await tx.run(`update ${table} set awaits_approval = true where id = $1`, [approval.subjectId]);
}

/**
 * Other terms of an approval that nobody has given yet: who has seen the earlier ones is refused by their digest. Whoever
 * asked before is kept beside `askedBy`.
 */
export async function restateApproval(
  tx: Tx,
  id: string,
  { terms, digest, askedBy }: Pick<ApprovalRow, "terms" | "digest" | "askedBy">,
): Promise<void> {
  await tx.run(
    `update approvals set terms = $2::jsonb, digest = $3, asked_by = $4,
            also_asked = case when asked_by = $4 then also_asked else array_append(also_asked, asked_by) end
      where id = $1 and state = ${APPROVAL.asked}`,
    [id, JSON.stringify(terms), digest, askedBy],
  );
}

/** Compare-and-set on the state. False = there is none that the move applies to. */
export async function endApproval(
  tx: Tx,
  subjectId: string,
  move: ApprovalMove,
  { by = null, reason = null }: { by?: string | null; reason?: string | null } = {},
): Promise<boolean> {
  const { from, to } = APPROVAL_MOVES[move];
  const [row] = await tx.query<{ n: number }>(
    `with ended as (
       update approvals set state = $3, decided_by = $4, decided_at = now(), reason = $5
        where subject_id = $1 and state = any($2::text[]) returning subject_id
     ), freed as (
       update redrives r set awaits_approval = false from ended e where r.id = e.subject_id and r.awaits_approval
     ), freed_operation as (
       update bulk_operations o set awaits_approval = false from ended e where o.id = e.subject_id and o.awaits_approval)
     select count(*)::int as n from ended`,
    [subjectId, from, to, by, reason],
    { name: "end-approval" },
  );
  return row!.n === 1;
}

/** Subjects whose request for approval nobody has answered in time. */
export async function overdueApprovals(db: Queryable): Promise<{ subjectKind: ApprovalSubject; subjectId: string }[]> {
  return db.query(
    `select subject_kind as "subjectKind", subject_id as "subjectId" from approvals
      where state = ${APPROVAL.asked} and expires_at <= now() order by id`,
    [],
    { name: "overdue-approvals" },
  );
}

/** Hashing a manifest of a million events takes seconds. */
const HASH_MS_MAX = 60_000;

/** Hash over the ids of a redrive's events and the revisions that it sends, in one order whoever asks. */
export async function manifestHash(tx: Tx, redriveId: string): Promise<string> {
  await tx.run(`set local statement_timeout = ${HASH_MS_MAX}`);
  const [row] = await tx.query<{ hash: string }>(
    `select encode(sha256(convert_to(coalesce(string_agg(part, '' order by slice), ''), 'utf8')), 'hex') as hash
       from (select slice, encode(sha256(convert_to(string_agg(id || ':' || revision, ',' order by id), 'utf8')), 'hex') as part
               from redrive_items where redrive_id = $1 group by slice) parts`,
    [redriveId],
  );
  return row!.hash;
}

/** Where events go: to the target `targetId`, or when that is null to each source's own target on the lane. */
export type Destination = { lane: "main" | "slow"; targetId: string | null };

/** Of what is sent: the marked sources, and the marked targets to which it goes, or goes when those are away. */
type MarkedPlaces = { sources: string[]; targets: string[] };

export function markedPlacesOf(tx: Tx, redrive: Destination & { id: string }): Promise<MarkedPlaces> {
  const sources = "select distinct source_id from open_items where redrive_id = $1";
  return markedPlaces(tx, sources, redrive.id, redrive);
}

/** `names`: of the sources of what would be sent. */
export function markedPlacesOfSources(db: Queryable, names: string[], to: Destination): Promise<MarkedPlaces> {
  return markedPlaces(db, "select id from sources where name = any($1::text[])", names, to);
}

/** `sources`: SQL of source ids with the parameter $1. */
async function markedPlaces(
  db: Queryable,
  sources: string,
  param: unknown,
  { lane, targetId }: Destination,
): Promise<MarkedPlaces> {
  const [row] = await db.query<{ sources: string[] | null; targets: string[] | null }>(
    `with of as (select array(${sources}) as ids),
     own as (
       select t.id, t.source_id, t.fallback from targets t, of
        where t.id = $2 or ($2::uuid is null and t.lane = $3 and t.source_id = any(of.ids)))
     select (select array_agg(s.name order by s.name) from sources s, of where s.id = any(of.ids) and s.needs_approval) as sources,
            (select array_agg(t.name order by t.name) from targets t
              where t.needs_approval and exists (
                select 1 from own where t.id = own.id or t.name = own.fallback ->> 'target'
                   or (own.fallback ->> 'kind' = 'slow-lane' and t.lane = 'slow' and t.source_id = own.source_id))) as targets`,
    [param, targetId, lane],
  );
  return { sources: row!.sources ?? [], targets: row!.targets ?? [] };
}

/** Hash over the ids of a mend's frozen events and the revisions that it starts from. */
export async function mendHash(tx: Tx, operationId: string): Promise<string> {
  await tx.run(`set local statement_timeout = ${HASH_MS_MAX}`);
  const [row] = await tx.query<{ hash: string }>(
    `select encode(sha256(convert_to(coalesce(string_agg(event_id || ':' || base, ',' order by event_id), ''), 'utf8')), 'hex') as hash
       from mend_items where operation_id = $1`,
    [operationId],
  );
  return row!.hash;
}

export async function markedSourcesOfMend(tx: Tx, operationId: string): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select s.name from sources s
      where s.needs_approval and exists (
        select 1 from mend_items m join dlq_events e on e.id = m.event_id where m.operation_id = $1 and e.source_id = s.id)
      order by s.name`,
    [operationId],
  );
  return rows.map(({ name }) => name);
}
