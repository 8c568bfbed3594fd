import type { ForgetKeyKind, Patterns } from "@/lib/keep/forget/forget-key.pure";
import type { ForgetScope } from "@/lib/keep/forget/matching-events.read";
import type { Queryable, Tx } from "@/lib/platform/database/db";

/** In this order, and back from `archive` to `events` while events move between the two. */
export type ForgetPhase = "events" | "archive" | "traces" | "audit";

export type ForgetRow = {
  id: string;
  scope: ForgetScope;
  phase: ForgetPhase;
  cursor: string | null;
  moved: boolean;
  names: string[];
  /** What is replaced in the audit; null = unknown before that phase. */
  patterns: Patterns | null;
  auditId: string;
  createdBy: string;
};

/** More names than this are not looked for in other texts: each makes every look slower. */
const NAMES_MAX = 1_000;

export async function insertForget(
  tx: Tx,
  forget: {
    id: string;
    kind: ForgetKeyKind;
    scope: ForgetScope;
    reason: string;
    auditId: string;
    createdBy: string;
    atMs: number;
  },
): Promise<void> {
  await tx.run(
    `insert into forgets (id, key_kind, key, reason, audit_id, created_by, created_at)
     values ($1, $2, $3::jsonb, $4, $5, $6, to_timestamp($7::float8 / 1000))`,
    [
      ...[forget.id, forget.kind, JSON.stringify(forget.scope), forget.reason],
      ...[forget.auditId, forget.createdBy, forget.atMs],
    ],
  );
}

/** The ids of those that run, the oldest first. */
export async function runningForgets(db: Queryable): Promise<string[]> {
  return (await db.query<{ id: string }>("select id from forgets where finished_at is null order by id")).map(
    ({ id }) => id,
  );
}

/** The row, locked: of two workers one does the next step, and the other then sees it done. null = it has ended. */
export async function lockForget(tx: Tx, id: string): Promise<ForgetRow | null> {
  const [row] = await tx.query<ForgetRow>(
    `select id, key as scope, phase, cursor, moved, names, patterns, audit_id as "auditId", created_by as "createdBy"
       from forgets where id = $1 and finished_at is null for update`,
    [id],
  );
  return row ?? null;
}

/** After a step. `counts` are added; `refused` too, unless the phase begins anew. */
export async function advanceForget(
  tx: Tx,
  id: string,
  step: {
    phase: ForgetPhase;
    cursor: string | null;
    moved: boolean;
    counts?: Record<string, number>;
    refused?: Record<string, number>;
    names?: readonly string[];
    /** The events are looked at anew: so are those that stay. */
    restarts?: boolean;
  },
): Promise<void> {
  const sum = (column: string, added: string) => `coalesce((
    select jsonb_object_agg(key, n) from (
      select key, sum(value::bigint) as n from (
        select * from jsonb_each_text(${column}) union all select * from jsonb_each_text(${added}::jsonb)) both_of group by key having sum(value::bigint) > 0) sums), '{}')`;
  await tx.run(
    `update forgets
        set phase = $2, cursor = $3, moved = $4, worked_at = clock_timestamp(), fault = null, counts = ${sum("counts", "$5")},
            refused = ${sum("case when $8 then '{}'::jsonb else refused end", "$6")},
            names = (select coalesce(array_agg(distinct name), '{}') from (select unnest(names || $7::text[]) as name limit ${NAMES_MAX}) few)
      where id = $1`,
    [
      ...[
        id,
        step.phase,
        step.cursor,
        step.moved,
        JSON.stringify(step.counts ?? {}),
        JSON.stringify(step.refused ?? {}),
      ],
      ...[step.names ?? [], step.restarts ?? false],
    ],
  );
}

/** What the audit's function replaces. */
export async function setPatterns(tx: Tx, id: string, patterns: Patterns): Promise<void> {
  await tx.run("update forgets set patterns = $2::jsonb where id = $1", [id, JSON.stringify(patterns)]);
}

/** The row keeps no key and no names. */
export async function endForget(
  tx: Tx,
  id: string,
): Promise<{ counts: Record<string, number>; refused: Record<string, number> }> {
  const [row] = await tx.query<{ counts: Record<string, number>; refused: Record<string, number> }>(
    `update forgets set key = null, names = '{}', patterns = null, cursor = null, finished_at = clock_timestamp(), fault = null
      where id = $1 returning counts, refused`,
    [id],
  );
  return row!;
}

export async function noteForgetFault(db: Queryable, id: string, fault: string): Promise<void> {
  await db.run("update forgets set fault = $2 where id = $1 and finished_at is null and fault is distinct from $2", [
    id,
    fault,
  ]);
}

/** One page of the audit, from its oldest entry. The database has a function for it, since the product may not change the audit. */
export async function redactAudit(
  tx: Tx,
  { id, patterns }: Pick<ForgetRow, "id" | "patterns">,
  { after, batch }: { after: string | null; batch: number },
): Promise<{ lastId: string | null; redacted: number }> {
  const [row] = await tx.query<{ lastId: string | null; redacted: number }>(
    `select last_id as "lastId", redacted from audit_owner.redact_audit_entries($1, $2, $3, $4::uuid, $5)`,
    [id, patterns!.text, patterns!.json, after, batch],
  );
  return row!;
}
