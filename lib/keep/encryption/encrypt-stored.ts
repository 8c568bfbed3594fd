import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { beginCount, countPage } from "@/lib/keep/encryption/body-counts.write";
import {
  advanceProgress,
  beginProgress,
  endPass,
  lockEncryption,
  readProgress,
  waitForYoung,
} from "@/lib/keep/encryption/encryption-progress.write";
import { nextEvents, storeAsConfigured, youngestOther } from "@/lib/keep/encryption/stored-bodies.write";
import type { Clock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";

/** The name in the audit. */
export const ENCRYPTION = systemViewer("encryption");

/** Of one round; then others have the store for as long. */
const ROUND_MS = 1_000;
/** Younger events are left for later: their transactions may not have ended. The first pass ends when it has taken them. */
const YOUNG_MS = 600_000;
/** A worker that found nothing to do looks again after this long. */
const IDLE_MS = 60_000;

export type EncryptDeps = {
  db: Db;
  clock: Clock;
};

/**
 * Makes the rounds of one worker, which bring older bodies into the configured form: encrypted, or as they are. It goes on where
 * any worker has stopped. A worker begins anew at most once, so that two with different configurations do not begin in turns.
 */
export function createEncrypter(deps: EncryptDeps): (signal: AbortSignal) => Promise<void> {
  let begun = false;
  const mayBegin = () => {
    const may = !begun;
    begun = true;
    return may;
  };
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    const { db, clock } = deps;
    if (!db.sealing.configured || clock.nowMs() < restsUntilMs) return;
    const untilMs = clock.nowMs() + ROUND_MS;
    let stepped: Step = "more";
    while (stepped === "more" && !signal.aborted && clock.nowMs() < untilMs) {
      stepped = await db.transaction((tx) => step(tx, clock.wallMs(), mayBegin));
    }
    if (stepped === "busy") return;
    let counted: Step = "more";
    // One page also where encrypting has taken the whole round.
    do {
      counted = await db.transaction(count);
    } while (counted === "more" && !signal.aborted && clock.nowMs() < untilMs);
    if (stepped === "idle" && counted === "idle") restsUntilMs = clock.nowMs() + IDLE_MS;
  };
}

/** `more`: there is another step; `ended`: a pass has ended; `idle`: nothing is to be done; `busy`: another worker does it. */
type Step = "more" | "ended" | "idle" | "busy";

async function count(tx: Tx): Promise<Step> {
  if (!(await lockEncryption(tx))) return "busy";
  return (await countPage(tx)) ? "more" : "idle";
}

async function step(tx: Tx, nowMs: number, mayBegin: () => boolean): Promise<Step> {
  if (!(await lockEncryption(tx))) return "busy";
  const { seals } = tx.sealing;
  const found = await readProgress(tx);
  const begins = mayBegin();
  if (found?.encrypts !== seals) {
    if (found !== null && !begins) return "busy";
    await beginProgress(tx, seals);
    await beginCount(tx);
    await audit(tx, nowMs, { action: "encryption.begun", after: { encrypts: seals }, count: 0 });
    return "more";
  }
  const young = uuidv7LowerBound(nowMs - YOUNG_MS);
  const events = await nextEvents(tx, { after: found.cursor, before: young });
  if (events.length > 0) {
    await advanceProgress(tx, { cursor: events.at(-1)!, ...(await storeAsConfigured(tx, events)) });
    return "more";
  }
  if (found.looksAgain) {
    await endPass(tx, { again: true });
    return "more";
  }
  if (found.ended) return "idle";
  const youngest = await youngestOther(tx, young);
  if (youngest !== null) {
    await waitForYoung(tx, uuidv7TimeMs(youngest) + YOUNG_MS);
    return "idle";
  }
  await endPass(tx, { again: false });
  await beginCount(tx);
  const { changed, unreadable } = found;
  await audit(tx, nowMs, { action: "encryption.ended", after: { encrypts: seals, unreadable }, count: changed });
  return "ended";
}

async function audit(
  tx: Tx,
  atMs: number,
  entry: { action: string; after: Record<string, unknown>; count: number },
): Promise<void> {
  await appendAudit(tx, {
    actor: ENCRYPTION.name,
    subjectKind: "setting",
    subjectId: null,
    before: null,
    atMs,
    ...entry,
  });
}
