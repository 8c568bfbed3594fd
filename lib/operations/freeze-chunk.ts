import { gate } from "@/lib/core/gate";
import { sliceOf } from "@/lib/core/redrive-plan";
import type { Rules } from "@/lib/operations/read-rules";
import type { Tx } from "@/lib/store/db";
import type { Candidate } from "@/lib/store/read/candidates";
import { appendAudit } from "@/lib/store/write/audit";
import { NO_DELTA } from "@/lib/store/write/finish-items";
import { insertItems, type PlannedItem, queueEvents } from "@/lib/store/write/freeze-events";
import { countItems } from "@/lib/store/write/redrive";

export type FreezeTarget = { id: string; slices: number; actor: string; reason: string; mode: "verify" | "deliver" };

export type FrozenChunk = { total: number; open: number; refused: Record<string, number>; slices: Set<number> };

/**
 * Freezes one chunk of candidates into a redrive's manifest, inside the caller's transaction: gate, QUEUED by
 * compare-and-set, items, counters, audit. An event that another redrive took in between is refused as already-queued.
 */
export async function freezeChunk(
  tx: Tx,
  redrive: FreezeTarget,
  candidates: readonly Candidate[],
  rules: Rules,
  nowMs: number,
): Promise<FrozenChunk> {
  const planned: PlannedItem[] = candidates.map((candidate) => {
    const ruling = gate(candidate, {
      controls: rules.index,
      redriveLimit: rules.settings.redriveLimit,
      nowMs,
      at: "request",
    });
    return { candidate, slice: sliceOf(candidate, redrive.slices), refusal: ruling.pass ? null : ruling.refusal };
  });
  const wanted = planned.filter((item) => item.refusal === null).map((item) => item.candidate.id);
  const queued = await queueEvents(tx, wanted, redrive.actor);
  const items = planned.map((item) =>
    item.refusal === null && !queued.has(item.candidate.id) ? { ...item, refusal: "already-queued" as const } : item,
  );
  await insertItems(tx, redrive.id, items);
  const refused: Record<string, number> = {};
  for (const { refusal } of items) if (refusal) refused[refusal] = (refused[refusal] ?? 0) + 1;
  await countItems(tx, redrive.id, {
    ...NO_DELTA,
    total: items.length,
    refused: items.length - queued.size,
    refusedByReason: refused,
  });
  if (queued.size > 0) {
    await appendAudit(tx, {
      actor: redrive.actor,
      action: "event.queued",
      subjectKind: "event",
      subjectId: queued.size === 1 ? [...queued][0]! : null,
      redriveId: redrive.id,
      reason: redrive.reason,
      before: { status: "PENDING" },
      after: { status: "QUEUED", mode: redrive.mode },
      count: queued.size,
      atMs: nowMs,
      eventIds: [...queued],
    });
  }
  const slices = new Set(items.filter((item) => item.refusal === null).map((item) => item.slice));
  return { total: items.length, open: queued.size, refused, slices };
}
