import { appendAudit } from "@/lib/guard/audit/audit.write";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import { dropEmptyDays } from "@/lib/intake/partitions.write";
import { readHoldingLater, readParkedBehind } from "@/lib/keep/removal/held-tails.read";
import { allAs, type Keeping, type ReadKeeping } from "@/lib/keep/removal/remove-events";
import { countDue, type DueQuery, readRecent } from "@/lib/keep/retention/due-events.read";
import { removeOldKeys } from "@/lib/keep/retention/old-keys.write";
import {
  daysKept,
  dueBeforeMs,
  KEPT_DAYS,
  type RetentionRule,
  whyUnexpired,
} from "@/lib/keep/retention/retention.pure";
import { readRetention } from "@/lib/keep/retention/retention.read";
import { claimRun, isRunOpen, removeEndedRuns } from "@/lib/keep/retention/retention.write";
import type { Deps } from "@/lib/lane/deps";
import type { ArchiveDeps } from "@/lib/platform/archive/archive-store";
import type { Db, Tx } from "@/lib/platform/database/db";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { uuidv7, uuidv7LowerBound, uuidv7TimeMs } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { enqueueOrLog } from "@/lib/redrive/life/enqueue-jobs";
import { readNamedCandidates } from "@/lib/selection/candidates.read";
import { insertBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { scopeSelection } from "@/lib/selection/scope.shapes";
import { BULK_EFFECT } from "@/lib/states/bulk-operation.pure";

/** Who removes events that were kept for their time. */
const RETENTION = systemViewer("retention");

/** Which due events stay: by the periods as they are in force, so that a longer one holds from the next chunk on. */
export const readExpiring: ReadKeeping = async (tx) => {
  const retention = await readRetention(tx);
  const [now] = await tx.query<{ ms: number }>("select extract(epoch from now())::float8 * 1000 as ms", []);
  const why: Keeping["why"] = (event) => {
    const isDue = uuidv7TimeMs(event.id) < dueBeforeMs(now!.ms, daysKept(retention, event));
    return isDue ? whyUnexpired(event) : "not-due";
  };
  return {
    why,
    readKept: async (chunk, ids) => {
      const behind = await readNamedCandidates(chunk, await readParkedBehind(chunk, ids));
      const due = behind.flatMap((event) => (why(event) === null ? event.id : []));
      const recent = await readRecent(chunk, [...ids, ...due]);
      const isLeaving = (id: string) => !recent.has(id);
      const going = ids.filter(isLeaving);
      const holding = await readHoldingLater(chunk, going, [...going, ...due.filter(isLeaving)]);
      return new Map([
        ...allAs("recent", new Set(ids.filter((id) => recent.has(id)))),
        ...allAs("holds-later", holding),
      ]);
    },
  };
};

type RetentionDeps = Deps & ArchiveDeps & { upkeepDb: Db };

/**
 * One round of retention. For each period whose events of another day became due it makes a bulk operation of the kind
 * `expire`, which archives and removes them; each period is looked at once a day. Then the tables
 * of emptied days are dropped, and the keys of events that left long ago. Without an archive nothing expires. Returns the number of operations.
 */
export async function runRetention(deps: RetentionDeps): Promise<number> {
  const { upkeepDb, archive, clock } = deps;
  if (archive === null) return 0;
  const retention = await readRetention(upkeepDb);
  const nowMs = clock.wallMs();
  let made = 0;
  for (const period of [...retention.rules, { source: null, errorCode: null, days: retention.days }]) {
    const run = { ...period, beforeMs: dueBeforeMs(nowMs, period.days) };
    if (!(await isRunOpen(upkeepDb, run))) continue;
    const expected = await countExpiring(upkeepDb, { retention, ...run, nowMs });
    const id = await upkeepDb.transaction((tx) => beginExpiry(tx, { run, expected, nowMs }));
    if (id === null) continue;
    made++;
    await enqueueOrLog(deps, id);
  }
  await dropEmptyDays(upkeepDb, dueBeforeMs(nowMs, KEPT_DAYS.min));
  await removeOldKeys(upkeepDb);
  await removeEndedRuns(upkeepDb);
  return made;
}

type Run = RetentionRule & { beforeMs: number };

/** Time limit of the count: an operation begins without it. */
const COUNT_MS_MAX = 10_000;

/** null = counting took too long. */
async function countExpiring(db: Db, query: DueQuery): Promise<number | null> {
  try {
    const options = { statementTimeoutMs: COUNT_MS_MAX, readOnly: true };
    const due = await db.transaction((tx) => countDue(tx, RETENTION, query), options);
    return due.reduce((sum, { n, reason }) => sum + (reason === null ? n : 0), 0);
  } catch (error) {
    if (isReadTimeout(error)) return null;
    throw error;
  }
}

/** Returns the operation; null = another worker has looked at it, or nothing can expire. */
async function beginExpiry(
  tx: Tx,
  { run, expected, nowMs }: { run: Run; expected: number | null; nowMs: number },
): Promise<string | null> {
  const { source, errorCode, days, beforeMs } = run;
  const id = expected === 0 ? null : uuidv7(nowMs);
  if (!(await claimRun(tx, run, id)) || id === null) return null;
  const filter = {
    ...(source === null ? {} : { source: [source] }),
    ...(errorCode === null ? {} : { errorCode: [errorCode] }),
    to: iso(beforeMs),
  };
  const reason = `kept for ${days} days`;
  const auditId = await appendAudit(tx, {
    actor: RETENTION.name,
    action: BULK_EFFECT.expire.action,
    subjectKind: "event",
    reason,
    after: { ...BULK_EFFECT.expire.after, filter },
    count: 0,
    atMs: nowMs,
  });
  await insertBulkOperation(tx, {
    id,
    kind: "expire",
    selection: { ...scopeSelection(RETENTION, "remove", { filter }), asOfMs: nowMs },
    options: {},
    cutoff: uuidv7LowerBound(beforeMs),
    expected: expected ?? 0,
    expectedKind: "estimated",
    refused: {},
    auditId,
    reason,
    createdBy: RETENTION.name,
    atMs: nowMs,
  });
  return id;
}
