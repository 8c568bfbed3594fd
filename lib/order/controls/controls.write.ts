import type { ControlKind, StoredScope } from "@/lib/order/controls/control.pure";
import type { Tx } from "@/lib/platform/database/db";
import type { Prisma } from "@/lib/platform/database/generated/client";

type NewControl = StoredScope & {
  id: string;
  kind: ControlKind;
  reason: string;
  createdBy: string;
  atMs: number;
  expiresAtMs: number | null;
};

export async function insertControl(client: Prisma.TransactionClient, control: NewControl): Promise<void> {
  const { atMs, expiresAtMs, ...columns } = control;
  const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs);
  await client.control.create({ data: { ...columns, createdAt: new Date(atMs), expiresAt } });
}

type LiftedControl = StoredScope & { kind: ControlKind };

const LIFTED = `kind, scope, value, source, aggregate_type as "aggregateType"`;

export type Lift = { id: string; actor: string; reason: string; atMs: number };

/** SQL: ends the blacklists of Parkade on the aggregates `was`, whose failures before it no longer count. */
export const FREED = `freed as (
       update aggregates a
          set blacklist_id = null, blacklisted_at = null, blacklist_reason = null, blacklist_redrive = null,
              consecutive_failures = 0, failed_redrives = '{}'
         from was w
        where a.aggregate_id = w.aggregate_id and a.source_id = w.source_id and a.aggregate_type = w.aggregate_type
     )`;

/** Lifts a control in force by compare-and-set. null = no control with this id is in force. */
export async function liftControl(tx: Tx, lift: Lift): Promise<LiftedControl | null> {
  const [row] = await tx.query<LiftedControl>(
    `update controls set lifted_at = to_timestamp($4::float8 / 1000), lifted_by = $2, lift_reason = $3
      where id = $1 and lifted_at is null
     returning ${LIFTED}`,
    [lift.id, lift.actor, lift.reason, lift.atMs],
  );
  return row ?? (await liftBlacklist(tx, lift));
}

/**
 * Lifts the blacklist that Parkade imposed on an aggregate, by compare-and-set, and stores it among the ended controls.
 * The aggregate's failures before it no longer count.
 */
async function liftBlacklist(tx: Tx, lift: Lift): Promise<LiftedControl | null> {
  const [row] = await tx.query<LiftedControl>(
    `with was as materialized (
       select a.source_id, a.aggregate_type, a.aggregate_id, a.blacklist_id, a.blacklisted_at, a.blacklist_reason
         from aggregates a where a.blacklist_id = $1 for update
     ), ${FREED}
     insert into controls (id, kind, scope, value, source, aggregate_type, reason, origin, created_by, created_at,
                           lifted_at, lifted_by, lift_reason)
     select w.blacklist_id, 'blacklist', 'aggregateId', w.aggregate_id, s.name, w.aggregate_type, w.blacklist_reason,
            'automatic', 'worker', w.blacklisted_at, to_timestamp($4::float8 / 1000), $2, $3
       from was w left join sources s on s.id = w.source_id
     returning ${LIFTED}`,
    [lift.id, lift.actor, lift.reason, lift.atMs],
  );
  return row ?? null;
}

/** After a blacklist is lifted, earlier failures of its aggregates no longer count. Locks them in the order in which claims do. */
export async function forgetFailures(tx: Tx, lifted: LiftedControl): Promise<void> {
  if (lifted.kind !== "blacklist" || lifted.scope !== "aggregateId") return;
  await tx.run(
    `with locked as materialized (
       select aggregate_id, source_id, aggregate_type from aggregates
        where aggregate_id = $1 and ($2::text is null or aggregate_type = $2)
          and ($3::text is null or source_id = (select id from sources where name = $3))
        order by aggregate_id, source_id, aggregate_type for no key update
     )
     update aggregates a set consecutive_failures = 0, failed_redrives = '{}'
       from locked l
      where a.aggregate_id = l.aggregate_id and a.source_id = l.source_id and a.aggregate_type = l.aggregate_type`,
    [lifted.value, lifted.aggregateType, lifted.source],
  );
}
