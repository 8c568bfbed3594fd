import type { ControlKind, ControlScope } from "@/lib/core/control";
import type { Tx } from "@/lib/store/db";

export type NewControl = {
  id: string;
  kind: ControlKind;
  scope: ControlScope;
  value: string;
  reason: string;
  createdBy: string;
  atMs: number;
  expiresAtMs: number | null;
};

export async function insertControl(tx: Tx, control: NewControl): Promise<void> {
  await tx.run(
    `insert into controls (id, kind, scope, value, reason, origin, created_by, created_at, expires_at)
     values ($1, $2, $3, $4, $5, 'person', $6, to_timestamp($7::float8 / 1000), to_timestamp($8::float8 / 1000))`,
    [
      control.id,
      control.kind,
      control.scope,
      control.value,
      control.reason,
      control.createdBy,
      control.atMs,
      control.expiresAtMs,
    ],
  );
}

export type LiftedControl = { kind: ControlKind; scope: ControlScope; value: string };

/** Lifts a control in force by compare-and-set. null = there is none in force with this id. */
export async function liftControl(
  tx: Tx,
  lift: { id: string; actor: string; reason: string; atMs: number },
): Promise<LiftedControl | null> {
  const [row] = await tx.query<LiftedControl>(
    `update controls set lifted_at = to_timestamp($4::float8 / 1000), lifted_by = $2, lift_reason = $3
      where id = $1 and lifted_at is null
     returning kind, scope, value`,
    [lift.id, lift.actor, lift.reason, lift.atMs],
  );
  return row ?? null;
}

/** A lifted blacklist gives its aggregate a fresh run: the failures before it no longer count. */
export async function forgetFailures(tx: Tx, aggregateId: string): Promise<void> {
  await tx.run("update aggregates set consecutive_failures = 0 where aggregate_id = $1", [aggregateId]);
}
