import { appendAudit } from "@/lib/guard/audit/audit.write";
import { listStops } from "@/lib/guard/stops/stops.read";
import type { ImposedStop } from "@/lib/guard/stops/stops.shapes";
import { insertStop, liftStop } from "@/lib/guard/stops/stops.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { awaitOpenSends } from "@/lib/order/controls/await-open-sends";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { enqueueIdle } from "@/lib/redrive/life/reconcile";
import { redriveTarget, unknownTarget } from "@/lib/sources/targets/redrive-target";
import { holdTarget } from "@/lib/sources/targets/targets.read";

/** `target`: a name; null = everything. */
type StopInput = { target: string | null; reason: string };
/** No setting asks for the reason of a resume: without one the audit keeps none. */
type ResumeInput = Pick<StopInput, "target"> & { reason?: string | undefined };

/**
 * Stops all sends, or those to one target: none begins after the answer. Waits, at most two seconds, for the sends under
 * way. A stop that is in force already stays as it is. Confirmations, parking and consumers go on. Throws DomainError
 * `unknown-target`.
 */
export async function imposeStop(deps: Deps, input: StopInput, viewer: Viewer): Promise<ImposedStop> {
  const targetId = await scopeOf(deps, input, viewer);
  const atMs = deps.clock.wallMs();
  await inTransaction(deps.db, async (tx) => {
    if (targetId !== null && !(await holdTarget(tx, targetId))) throw unknownTarget(input.target!, "target");
    if (!(await insertStop(tx, { targetId, reason: input.reason, actor: viewer.name, atMs }))) return;
    await audit(tx, input, { did: "imposed", before: null, after: { stopped: true }, actor: viewer.name, atMs });
  });
  const underWay = await awaitOpenSends(deps, { targetId });
  const stop = (await listStops(deps.db, viewer)).find(({ target }) => target === input.target);
  // Somebody else has lifted it since.
  const lifted = { ...input, createdBy: viewer.name, createdAt: iso(atMs) };
  return { ...(stop ?? lifted), underWay };
}

/** Ends a stop, and enqueues what waits. False = none was in force. Throws DomainError `unknown-target`. */
export async function resumeSends(deps: Deps, input: ResumeInput, viewer: Viewer): Promise<boolean> {
  const targetId = await scopeOf(deps, input, viewer);
  const atMs = deps.clock.wallMs();
  const lifted = await inTransaction(deps.db, async (tx) => {
    const before = await liftStop(tx, { targetId }, atMs);
    if (before === null) return false;
    await audit(tx, input, { did: "lifted", before, after: null, actor: viewer.name, atMs });
    return true;
  });
  if (!lifted) return false;
  try {
    await enqueueIdle(deps, { all: true });
  } catch (error) {
    deps.log.warn({ err: error }, "resumed redrives not enqueued, the reconciler enqueues them");
  }
  return true;
}

async function scopeOf({ db }: Deps, { target }: ResumeInput, viewer: Viewer): Promise<string | null> {
  if (target !== null) return (await redriveTarget(db, viewer, target))!.id;
  assertMay(viewer, "redrive", "all");
  return null;
}

type Entry = { did: "imposed" | "lifted"; before: unknown; after: unknown; actor: string; atMs: number };

/** The entry of a target's stop is one of the target: whoever sees the target sees it. */
async function audit(tx: Tx, { target, reason }: ResumeInput, { did, ...entry }: Entry): Promise<void> {
  const subject =
    target === null
      ? { action: `stop.${did}`, subjectKind: "stop" as const }
      : { action: `target.${did === "imposed" ? "stopped" : "resumed"}`, subjectKind: "target" as const };
  await appendAudit(tx, { ...entry, ...subject, subjectId: target, reason: reason ?? null, count: 1 });
}
