import { appendAudit } from "@/lib/guard/audit/audit.write";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { scopeOut } from "@/lib/order/controls/control.pure";
import type { LiftedMany, LiftMany } from "@/lib/order/controls/controls.shapes";
import {
  countLiftable,
  imposeLifted,
  LIFT_MAX,
  liftEach,
  readLiftable,
  sourcesOfLift,
} from "@/lib/order/controls/lifts.write";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import type { Deps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";

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
      subjectKind: "control",
      subjectId: id,
      reason,
      before: { kind: lifted.kind, scope: scopeOut(lifted) },
      after: null,
      count: 1,
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
      throw new DomainError("unknown-control", `No lift ${id} can be taken back`, {
        fields: [{ field: "undo", detail: "give the id of a lift that was not taken back yet" }],
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
