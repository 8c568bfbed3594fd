import type { Anchor, ChainHead, ChainReport } from "@/lib/guard/audit-chain/chain.pure";
import { collectFindings, type Findings } from "@/lib/guard/audit-chain/findings.pure";
import {
  type Part,
  partKey,
  readHashedEntries,
  readHashedParts,
  type StoredEntry,
} from "@/lib/guard/audit-chain/hashed-entries";
import { CHAIN_START, chainHash } from "@/lib/guard/audit-chain/hashes";
import { readHead } from "@/lib/guard/audit-chain/head.read";
import {
  explainedChanges,
  type ForgetRan,
  findUnsealed,
  isAppendOnly,
  lastSealedAt,
  readForgetsRan,
  readSealBatch,
  readSealHashes,
  readSurplusRedactions,
  type StoredSeal,
  sealedBefore,
} from "@/lib/guard/audit-chain/verification.read";
import type { Queryable } from "@/lib/platform/database/db";

/** Rows in memory at a time. */
const BATCH = 1_000;
/** Clocks of machines differ, and a transaction takes a while to commit: an entry this much older than its neighbours was added later. */
const BACKDATED_MS = 15 * 60_000;
/** Between the clock of the process that began a forget and that of the store. */
const SKEW_MS = 60_000;

export type Verification = {
  /** Where an earlier check ended: only what came later is looked at. null = all of it. */
  from: ChainHead | null;
  /** Only entries with this id or a later one are searched for missing seals; null = all. */
  fromEntry: string | null;
  /** As they are read. */
  anchors?: AsyncIterable<Anchor[]> | Iterable<Anchor[]>;
  /** Called after each batch, with the number of seals so far. */
  progress?: (seals: number) => Promise<void>;
  signal?: AbortSignal;
};

type Progress = { report: ChainReport; findings: Findings; verification: Verification };

/**
 * Checks each entry against its seal, the chain against itself and against anchors. Reads in batches, holds no lock, and runs
 * while entries are written and sealed. Rejects when the signal aborts.
 */
export async function verifyChain(db: Queryable, verification: Verification): Promise<ChainReport> {
  const report: ChainReport = {
    ...{ good: true, seals: 0, entries: 0, anchors: 0, redactions: 0, appendOnly: await isAppendOnly(db) },
    ...{ head: await headOf(db), first: null, findings: [], findingsTotal: 0 },
  };
  const progress = { report, findings: collectFindings(), verification };
  // The place of an earlier check is an anchor like others: a chain that was written anew does not pass it.
  const before = verification.from ? [{ ...verification.from, place: "the check before", atMs: 0 }] : [];
  await verifyAnchors(db, before, progress);
  for await (const anchors of verification.anchors ?? []) await verifyAnchors(db, anchors, progress);
  await verifySeals(db, progress);
  await verifyAllSealed(db, progress);
  return { ...report, ...progress.findings.result() };
}

async function verifyAnchors(
  db: Queryable,
  anchors: readonly Anchor[],
  { report, findings, verification }: Progress,
): Promise<void> {
  const inOrder = anchors.toSorted((a, b) => a.seq - b.seq);
  for (let i = 0; i < inOrder.length; i += BATCH) {
    verification.signal?.throwIfAborted();
    const some = inOrder.slice(i, i + BATCH);
    const stored = await readSealHashes(
      db,
      some.map(({ seq }) => seq),
    );
    some.forEach((anchor, index) => {
      const seal = stored[index]!;
      report.anchors++;
      if (seal.chainHash === anchor.chainHash) return;
      const code = seal.chainHash === null ? "truncated" : "rewritten";
      findings.noteAnchor(code, anchor, seal.entryId);
    });
    await verification.progress?.(report.seals);
  }
}

async function headOf(db: Queryable): Promise<ChainHead | null> {
  const head = await readHead(db);
  return head && { seq: head.seq, chainHash: head.chainHash };
}

type Walk = { seq: number; chainHash: string; newestMs: number; sealedMs: number };

async function verifySeals(db: Queryable, progress: Progress): Promise<void> {
  const { from } = progress.verification;
  const walk: Walk = {
    ...{ seq: from?.seq ?? 0, chainHash: from?.chainHash ?? CHAIN_START, newestMs: Number.NEGATIVE_INFINITY },
    sealedMs: from ? await lastSealedAt(db, from) : Number.NEGATIVE_INFINITY,
  };
  for (;;) {
    progress.verification.signal?.throwIfAborted();
    const seals = await readSealBatch(db, { after: walk.seq, limit: BATCH });
    if (seals.length === 0) return;
    await verifyContents(db, seals, walk, progress);
    for (const seal of seals) verifyLink(seal, walk, progress.findings);
    progress.report.seals += seals.length;
    await progress.verification.progress?.(progress.report.seals);
  }
}

/** After a broken link the check continues from what is stored, so that one change is one finding. */
function verifyLink(seal: StoredSeal, walk: Walk, findings: Findings): void {
  if (seal.seq !== walk.seq + 1)
    findings.note("seal-missing", seal, `${seal.seq - walk.seq - 1} before number ${seal.seq}`);
  else if (chainHash(walk.chainHash, seal) !== seal.chainHash) findings.note("chain-broken", seal);
  walk.seq = seal.seq;
  walk.chainHash = seal.chainHash;
}

async function verifyContents(
  db: Queryable,
  seals: StoredSeal[],
  walk: Walk,
  { report, findings }: Progress,
): Promise<void> {
  const parts: Part[] = seals.flatMap((s) => (s.kind === "subjects" ? [{ entryId: s.entryId, part: s.ref }] : []));
  const entries = await readHashedEntries(db, [...new Set(seals.map(({ entryId }) => entryId))]);
  const subjects = await readHashedParts(db, parts);
  const otherTexts = seals.filter((seal) => {
    const entry = entries.get(seal.entryId);
    return entry !== undefined && seal.kind !== "subjects" && entry.textHash !== seal.textHash;
  });
  // Read after the entries: a forget changes an entry and asks for its seal in one transaction.
  const explained = await explainedChanges(db, otherTexts);
  const twice = await sealedBefore(db, seals);
  const unexplained = new Set(otherTexts.filter(({ seq }) => !explained.has(seq)));
  const forgetIds = [...new Set(seals.flatMap((s) => (s.kind === "redaction" ? [s.ref] : [])))];
  const forgets = await readForgetsRan(db, forgetIds);
  const surplus = await readSurplusRedactions(db, forgetIds);
  for (const seal of seals) {
    const entry = entries.get(seal.entryId);
    if (!entry) {
      findings.note("deleted", seal);
      continue;
    }
    // A forget replaces texts: it excuses no change of anything else.
    if (hashNow(seal, entry, subjects) !== seal.contentHash || unexplained.has(seal)) findings.note("changed", seal);
    if (twice.has(seal.seq)) findings.note("sealed-twice", seal);
    if (seal.kind === "redaction") {
      report.redactions++;
      if (!entry.forgotten || !isWithin(forgets.get(seal.ref), seal.sealedAtMs) || surplus.has(seal.seq))
        findings.note("redaction-without-forget", seal);
    }
    if (seal.kind !== "entry") continue;
    report.entries++;
    verifyTime(seal, entry, walk, findings);
  }
}

function isWithin(forget: ForgetRan | undefined, ms: number): boolean {
  return forget !== undefined && ms >= forget.fromMs - SKEW_MS && ms <= forget.untilMs + SKEW_MS;
}

function hashNow(seal: StoredSeal, entry: StoredEntry, subjects: Map<string, string>): string | undefined {
  return seal.kind === "subjects" ? subjects.get(partKey({ entryId: seal.entryId, part: seal.ref })) : entry.hash;
}

/**
 * Waiting entries are sealed the oldest first. So an entry is suspicious that is older than one sealed before it, and older
 * than the round before, which would have sealed it. Where this round is older than the one before, the clock was set back.
 */
function verifyTime(seal: StoredSeal, entry: StoredEntry, walk: Walk, findings: Findings): void {
  const limitMs = Math.min(walk.newestMs, walk.sealedMs, seal.sealedAtMs) - BACKDATED_MS;
  if (entry.atMs < limitMs) findings.note("backdated", seal);
  walk.newestMs = Math.max(walk.newestMs, entry.atMs);
  walk.sealedMs = seal.sealedAtMs;
}

/** Every entry, and every event of an entry, has its seal or the record that one is due. */
async function verifyAllSealed(db: Queryable, { findings, verification }: Progress): Promise<void> {
  let after = verification.fromEntry;
  for (;;) {
    verification.signal?.throwIfAborted();
    const { found, last } = await findUnsealed(db, { after, limit: BATCH });
    for (const { code, entryId } of found) findings.note(code, { entryId });
    if (last === null) return;
    after = last;
  }
}
