import { listBulkOperations } from "@/lib/events/bulk/bulk-operations.read";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { insertOutbox } from "@/lib/kit/outbox/insert";
import type { Deps } from "@/lib/lane/deps";
import { readStillRedrives } from "@/lib/observe/alerts/facts/alert-facts";
import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import { ALERT_OUTBOX, outboxEvent } from "@/lib/observe/channels/notify-channels";
import { endedMessage, standsStillMessage } from "@/lib/observe/channels/operation-message.pure";
import { readAwaitedOperations } from "@/lib/observe/channels/operation-notifications.read";
import type { Tx } from "@/lib/platform/database/db";
import { noteEnd, noteStill, noteStillTold } from "@/lib/selection/operations/operation-channels.write";

type TellDeps = Pick<Deps, "db" | "clock"> & { publicUrl: string };

/** Nobody is notified about a stall that is over within this time. */
export const STILL_TOLD_AFTER_MS = 60_000;
/** Operations of one round; the next round, ten seconds later, has the others. */
const ROUND = 200;

/**
 * Tells channels that asked for it of operations that have ended or stand still. Each message is stored in the transaction that
 * notes, by compare-and-set, that its channel was notified: of two workers one sends, and a worker that dies between has sent nothing.
 * One statement when nobody asked. Returns the number of messages.
 */
export async function notifyOperations({ db, clock, publicUrl }: TellDeps): Promise<number> {
  const awaited = await readAwaitedOperations(db, ROUND);
  if (awaited.length === 0) return 0;
  const nowMs = clock.wallMs();
  const moment = { nowMs, publicUrl };
  const live = awaited.filter(({ ended }) => !ended);
  const still = live.length === 0 ? new Map<string, string>() : await stillOf(db, nowMs);
  const set = (await readMasks(db)).of(null);
  let count = 0;
  for (const operation of awaited) {
    const redacted = { ...operation, reason: maskText(operation.reason, set) };
    const why = still.get(operation.id);
    if (operation.ended) {
      const message = endedMessage(redacted, moment);
      count += await db.transaction(async (tx) => send(tx, await noteEnd(tx, operation.id), message, nowMs));
    } else if (why !== undefined) {
      const message = standsStillMessage(redacted, why, moment);
      count += await db.transaction(async (tx) => {
        await noteStill(tx, operation.id, true);
        return send(tx, await noteStillTold(tx, operation.id, STILL_TOLD_AFTER_MS), message, nowMs);
      });
    } else if (operation.noted) {
      await db.transaction((tx) => noteStill(tx, operation.id, false));
    }
  }
  return count;
}

async function send(tx: Tx, channelIds: readonly string[], message: AlertMessage, nowMs: number): Promise<number> {
  if (channelIds.length === 0) return 0;
  const events = channelIds.map((id) => outboxEvent(id, message, nowMs));
  await insertOutbox(tx, events, { table: ALERT_OUTBOX });
  return events.length;
}

/** Why operations stand still, by their ids, in the words of their pages. */
async function stillOf(db: TellDeps["db"], nowMs: number): Promise<Map<string, string>> {
  const redrives = await readStillRedrives(db, nowMs);
  const bulk = await listBulkOperations(db, systemViewer("alerts"), {
    limit: ROUND,
    cursor: null,
    states: ["RUNNING"],
  });
  const set = (await readMasks(db)).of(null);
  return new Map([
    ...redrives.map(({ id, why }) => [id, why] as const),
    ...bulk.items.flatMap(({ id, stalled, approval }) =>
      stalled === null || approval?.state === "asked" ? [] : [[id, maskText(stalled, set)] as const],
    ),
  ]);
}
