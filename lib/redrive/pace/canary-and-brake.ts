import { auditRedrive } from "@/lib/guard/audit/audit.write";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { eachAlone } from "@/lib/redrive/life/each-alone";
import {
  dueCanaries,
  lockRedrive,
  moveRedrive,
  type RedriveRow,
  setCanary,
  setRecent,
} from "@/lib/redrive/life/redrive.write";
import { stopRuleOf } from "@/lib/redrive/life/stop-rule.write";
import { appendOutcomes, bounceOutcomes, brakeReason, brakeSees } from "@/lib/redrive/pace/brake.pure";
import { canaryMove } from "@/lib/redrive/pace/canary.pure";
import { REDRIVE_MOVES } from "@/lib/states/redrive-state.pure";

const ACTOR = "worker";

/** Canary and brake of one redrive after something of it was counted. Its row is locked and read after the counting. */
export async function advanceRedrive(tx: Tx, redrive: RedriveRow, nowMs: number): Promise<void> {
  await advanceCanary(tx, redrive);
  const rule = redrive.brake;
  if (rule === null || redrive.state !== "RUNNING") return;
  const brakeSeen = brakeSees(redrive.recent, redrive.latencies, rule);
  if (brakeSeen === null) return;
  const pauseReason = brakeReason(brakeSeen, rule);
  await moveRedrive(tx, redrive.id, "brake", { pauseReason, brakeSeen });
  await auditRedrive(tx, redrive.id, {
    actor: ACTOR,
    action: "redrive.braked",
    reason: pauseReason,
    before: { state: redrive.state },
    after: { state: REDRIVE_MOVES.brake.to },
    atMs: nowMs,
  });
  await stopRuleOf(tx, redrive.id, `its redrive was paused: ${pauseReason}`, nowMs);
}

async function advanceCanary(tx: Tx, redrive: RedriveRow): Promise<void> {
  const { canary, released, quiet } = redrive;
  if (canary === null || released === null) return;
  const move = canaryMove(redrive, canary);
  if (move.released === released && move.waits === (quiet !== "not-begun")) return;
  await setCanary(tx, redrive.id, move, canary.quietMs);
}

/** The outcomes and latencies that the brake judges, with those of a batch. */
export function sampleWith({ brake, recent, latencies }: RedriveRow, marks: string, batch: readonly number[]) {
  if (brake === null) return {};
  const timed = brake.latencyMsMax !== null && batch.length > 0;
  return {
    recent: appendOutcomes(recent, marks, brake.window),
    ...(timed ? { latencies: [...latencies, ...batch].slice(-brake.window) } : {}),
  };
}

/**
 * Counts `bounces` of a redrive in its brake and canary. `sampled` of them were sent since it last started or resumed. A
 * bounce may pull the brake, and takes its event out of the canary's step.
 */
export async function bounceRedrive(tx: Tx, redriveId: string, sampled: number, nowMs: number): Promise<void> {
  const redrive = await lockRedrive(tx, redriveId);
  if (!redrive) return;
  const { brake } = redrive;
  const recent = brake === null ? redrive.recent : bounceOutcomes(redrive.recent, sampled, brake.window);
  if (recent !== redrive.recent) await setRecent(tx, redriveId, recent);
  await advanceRedrive(tx, { ...redrive, recent }, nowMs);
}

/** Redrives whose events were confirmed just now: a canary may have been waiting for that. */
export async function confirmRedrives(tx: Tx, redriveIds: readonly string[], nowMs: number): Promise<void> {
  for (const id of [...new Set(redriveIds)].sort()) {
    const redrive = await lockRedrive(tx, id);
    if (redrive?.state === "RUNNING") await advanceRedrive(tx, redrive, nowMs);
  }
}

/**
 * Lets canaries take their next step whose window is over. Run every second; the job that works the canary finds
 * what it may send now within two seconds. Returns how many there were.
 */
export async function advanceCanaries(deps: Pick<Deps, "db" | "clock" | "log">): Promise<number> {
  const due = await dueCanaries(deps.db);
  const rows = due.map((id) => ({ id }));
  await eachAlone(deps.log, rows, "advancing a canary", async ({ id }) => {
    await inTransaction(deps.db, async (tx) => confirmRedrives(tx, [id], deps.clock.wallMs()));
  });
  return due.length;
}
