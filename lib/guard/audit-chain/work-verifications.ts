import type { AnchorPlace } from "@/lib/guard/audit-chain/anchors/anchor-places";
import type { Anchor } from "@/lib/guard/audit-chain/chain.pure";
import { readStoredAnchors } from "@/lib/guard/audit-chain/verifications.read";
import {
  claimVerification,
  endVerification,
  lastEnded,
  noteProgress,
  type OpenVerification,
  requestRegular,
} from "@/lib/guard/audit-chain/verifications.write";
import { verifyChain } from "@/lib/guard/audit-chain/verify-chain";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import type { Log } from "@/lib/platform/log";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const WHOLE_EVERY_MS = 24 * 3_600_000;
const RECENT_EVERY_MS = 5 * 60_000;
/** A recent check looks this far back for entries without a seal. */
const OVERLAP_MS = 3_600_000;

export type VerificationDeps = {
  db: Db;
  clock: Clock;
  log: Log;
  places: readonly AnchorPlace[];
};

/** Does the checks that are asked for, and the regular ones: what is new, and once a day everything. */
export async function workVerifications(deps: VerificationDeps, signal?: AbortSignal): Promise<void> {
  const nowMs = deps.clock.wallMs();
  await requestRegular(deps.db, { extent: "whole", everyMs: WHOLE_EVERY_MS, nowMs });
  await requestRegular(deps.db, { extent: "recent", everyMs: RECENT_EVERY_MS, nowMs });
  for (;;) {
    const open = signal?.aborted ? null : await claimVerification(deps.db);
    if (open === null) return;
    await verify(deps, open, signal);
  }
}

async function verify(deps: VerificationDeps, open: OpenVerification, signal?: AbortSignal): Promise<void> {
  const { db, log } = deps;
  const whole = open.extent === "whole";
  const faults: string[] = [];
  try {
    const before = whole ? null : await lastEnded(db);
    const report = await verifyChain(db, {
      from: before?.head ?? null,
      fromEntry: before === null ? null : uuidv7LowerBound(before.requestedMs - OVERLAP_MS),
      ...(whole ? { anchors: readAnchors(deps, faults) } : {}),
      progress: (seals) => noteProgress(db, open.id, seals),
      ...(signal ? { signal } : {}),
    });
    await endVerification(db, open.id, { report, fault: faults.at(-1) ?? null });
    if (!report.good) log.error({ verificationId: open.id, first: report.first }, "the audit was tampered with");
  } catch (error) {
    // Another worker begins anew, later.
    if (!(error instanceof DomainError) || error.code === "store-unavailable") throw error;
    await endVerification(db, open.id, { report: null, fault: error.message });
  }
}

/** What stands outside, and what the store remembers of it. A place that cannot be read is named, and the rest is checked. */
async function* readAnchors({ db, places }: VerificationDeps, faults: string[]): AsyncGenerator<Anchor[]> {
  for (const { place, read } of places) {
    try {
      yield* read();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      faults.push(`The anchors in ${place} could not be read: ${error.message}`);
    }
  }
  for await (const anchors of readStoredAnchors(db))
    yield anchors.map((anchor) => ({ ...anchor, place: `the store's own record of ${anchor.place}` }));
}
