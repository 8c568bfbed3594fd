import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { type ControlKind, type StoredScope, scopeOut } from "@/lib/order/controls/control.pure";
import { IN_FORCE } from "@/lib/order/controls/control.sql";
import type { LiftedMany, LiftFilter, LiftMany } from "@/lib/order/controls/controls.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Controls that one call lifts. A bad redrive of a large selection blacklists some thousand aggregates at most. */
const LIFT_MAX = 10_000;

/** Ends a control at once, with a reason. Throws DomainError `unknown-control` when it is not in force. */
export async function liftControl(deps: Deps, input: { id: string; reason: string }, viewer: Viewer): Promise<void> {
  assertMay(viewer, "control");
  const atMs = deps.clock.wallMs();
  await inTransaction(deps.db, async (tx) => {
    const { id, reason } = input;
    const [lifted] = await liftEach(tx, [id], { liftId: null, actor: viewer.name, reason, atMs });
    const source = lifted?.scope === "source" ? lifted.value : (lifted?.source ?? null);
    if (!lifted || (source !== null && !sees(viewer, source))) {
      throw new DomainError("unknown-control", `No control ${id} is in force`, {
        fields: [{ field: "id", detail: "list the controls in force with GET /api/v1/controls" }],
      });
    }
    if (source === null) assertMay(viewer, "control", "all");
    await appendAudit(tx, {
      actor: viewer.name,
      action: "control.lifted",
      subjectId: id,
      reason,
      before: { kind: lifted.kind, scope: scopeOut(lifted) },
      atMs,
    });
  });
}

/**
 * Ends the controls in force that match the filter, at most LIFT_MAX in one call: `more` says that there are others. With
 * `dryRun` it counts them alone. One audit entry. Throws DomainError `forbidden`.
 */
export async function liftControls(
  deps: Pick<Deps, "db" | "clock">,
  { filter, reason, dryRun = false }: Extract<LiftMany, { filter: unknown }>,
  viewer: Viewer,
): Promise<LiftedMany> {
  assertMay(viewer, "control", filter.source === undefined ? "all" : [filter.source]);
  if (dryRun) {
    const found = await countLiftable(deps.db, filter);
    return { id: null, controls: Math.min(found, LIFT_MAX), more: found > LIFT_MAX };
  }
  const atMs = deps.clock.wallMs();
  const id = uuidv7(atMs);
  return inTransaction(deps.db, async (tx) => {
    const found = await readLiftable(tx, filter);
    const lifted = await liftEach(tx, found, { liftId: id, actor: viewer.name, reason, atMs });
    if (lifted.length === 0) return { id: null, controls: 0, more: false };
    const ids = lifted.map((control) => control.id);
    await audit(tx, { id, reason, viewer, atMs }, "control.lifted", ids, { filter });
    return { id, controls: lifted.length, more: (await countLiftable(tx, filter)) > 0 };
  });
}

/**
 * Takes a lift back: what it ended is in force again, but for what has run out or has been imposed anew meanwhile. Throws
 * DomainError `unknown-control` for a lift that ended nothing, or was taken back.
 */
export async function undoLift(
  deps: Pick<Deps, "db" | "clock">,
  { undo: id, reason }: Extract<LiftMany, { undo: unknown }>,
  viewer: Viewer,
): Promise<LiftedMany> {
  assertMay(viewer, "control");
  const atMs = deps.clock.wallMs();
  return inTransaction(deps.db, async (tx) => {
    const sources = await sourcesOfLift(tx, id);
    if (sources.length === 0) {
      throw new DomainError("unknown-control", `There is no lift ${id} that can be undone`, {
        fields: [{ field: "undo", detail: "give the id of a lift that has not been undone" }],
      });
    }
    const named = sources.filter((source) => source !== null);
    assertMay(viewer, "control", named.length < sources.length ? "all" : named);
    const imposed = await imposeLifted(tx, id);
    await audit(tx, { id, reason, viewer, atMs }, "control.imposed", imposed, { undo: id });
    return { id: null, controls: imposed.length, more: false };
  });
}

function audit(
  tx: Tx,
  { id, reason, viewer, atMs }: { id: string; reason: string; viewer: Viewer; atMs: number },
  action: "control.lifted" | "control.imposed",
  controls: readonly string[],
  what: Record<string, unknown>,
): Promise<unknown> {
  return appendAudit(tx, {
    actor: viewer.name,
    action,
    subjectKind: "control",
    subjectId: id,
    reason,
    before: action === "control.lifted" ? what : null,
    after: action === "control.lifted" ? null : what,
    count: controls.length,
    eventIds: controls,
    atMs,
  });
}

/** SQL: the control `c` is in force and matches; $1 kind, $2 origin, $3 source, $4 aggregate, $5 redrive, each null = any. */
const MATCHES = `${IN_FORCE} and ($1::text is null or c.kind = $1) and ($2::text is null or c.origin = $2)
  and ($3::text is null or c.source = $3 or (c.scope = 'source' and c.value = $3))
  and ($4::text is null or (c.scope = 'aggregateId' and c.value = $4)) and ($5::uuid is null or c.redrive_id = $5)`;

function valuesOf({ kind, origin, source, aggregateId, redrive }: LiftFilter): unknown[] {
  return [kind ?? null, origin ?? null, source ?? null, aggregateId ?? null, redrive ?? null];
}

/** The number of controls in force that match, LIFT_MAX + 1 at most. */
async function countLiftable(db: Queryable, filter: LiftFilter): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select count(*)::int as n from (select 1 from controls c where ${MATCHES} limit ${LIFT_MAX + 1}) found`,
    valuesOf(filter),
  );
  return row!.n;
}

/** The ids of at most LIFT_MAX of them, the oldest first. */
async function readLiftable(tx: Tx, filter: LiftFilter): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `select c.id from controls c where ${MATCHES} order by c.id limit ${LIFT_MAX}`,
    valuesOf(filter),
  );
  return rows.map(({ id }) => id);
}

/** SQL: the aggregates `a` that the blacklists with the ids $1 are over, locked by id, source and type. */
const LOCKED = `locked as materialized (
  select a.aggregate_id, a.source_id, a.aggregate_type
    from controls c
    join aggregates a on a.aggregate_id = c.value and (c.aggregate_type is null or a.aggregate_type = c.aggregate_type)
     and (c.source is null or a.source_id = (select id from sources where name = c.source))
   where c.id = any($1::uuid[]) and c.kind = 'blacklist' and c.scope = 'aggregateId'
   order by a.aggregate_id, a.source_id, a.aggregate_type for update of a
)`;

/** `liftId`: of a lift that can be taken back; null = it cannot be. */
type Lift = { liftId: string | null; actor: string; reason: string; atMs: number };

type LiftedControl = StoredScope & { id: string; kind: ControlKind };

/**
 * Lifts those of these controls that nobody has lifted. The failures of blacklisted aggregates before it no longer count: they are
 * locked first, as everybody does who counts failures and blacklists.
 */
async function liftEach(
  tx: Tx,
  ids: readonly string[],
  { liftId, actor, reason, atMs }: Lift,
): Promise<LiftedControl[]> {
  await tx.run(
    `with ${LOCKED}
     update aggregates a set consecutive_failures = 0, failed_redrives = '{}'
       from locked l
      where a.aggregate_id = l.aggregate_id and a.source_id = l.source_id and a.aggregate_type = l.aggregate_type`,
    [ids],
  );
  return tx.query<LiftedControl>(
    `with picked as materialized (
       select c.id from controls c where c.id = any($1::uuid[]) and c.lifted_at is null order by c.id for update
     )
     update controls c
        set lifted_at = to_timestamp($5::float8 / 1000), lifted_by = $3, lift_reason = $4, lift_id = $2::uuid
       from picked p where c.id = p.id
     returning c.id, c.kind, c.scope, c.value, c.source, c.aggregate_type as "aggregateType"`,
    [ids, liftId, actor, reason, atMs],
  );
}

/** The sources of the controls of a lift; null = one over every source. None = there is no such lift. */
async function sourcesOfLift(tx: Tx, liftId: string): Promise<(string | null)[]> {
  const rows = await tx.query<{ source: string | null }>(
    "select distinct case scope when 'source' then value else source end as source from controls where lift_id = $1",
    [liftId],
  );
  return rows.map(({ source }) => source);
}

/**
 * Puts what a lift ended in force again, and forgets the lift. Left out: what has run out, and what has been imposed anew. Returns the
 * ids of those in force.
 */
export async function imposeLifted(tx: Tx, liftId: string): Promise<string[]> {
  // Locked as everybody does who blacklists an aggregate; the row of an idle one was removed, and one that fails now is not seen yet.
  await tx.run(
    `insert into aggregates as a (source_id, aggregate_type, aggregate_id)
     select distinct s.id, c.aggregate_type, c.value from controls c join sources s on s.name = c.source
      where c.lift_id = $1 and c.origin = 'automatic' order by c.value, s.id, c.aggregate_type
     on conflict (aggregate_id, source_id, aggregate_type) do update set consecutive_failures = a.consecutive_failures`,
    [liftId],
  );
  const imposed = await tx.query<{ id: string }>(
    `update controls c set lifted_at = null, lifted_by = null, lift_reason = null
      where c.lift_id = $1 and (c.expires_at is null or c.expires_at > now())
        and not exists (
          select 1 from controls o
           where o.id <> c.id and o.kind = c.kind and o.origin = c.origin and o.scope = c.scope and o.value = c.value
             and o.source is not distinct from c.source and o.aggregate_type is not distinct from c.aggregate_type
             and o.lifted_at is null and (o.expires_at is null or o.expires_at > now()))
     returning c.id`,
    [liftId],
  );
  await tx.run("update controls set lift_id = null where lift_id = $1", [liftId]);
  return imposed.map(({ id }) => id);
}
