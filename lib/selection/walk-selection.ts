import type { Deps } from "@/lib/lane/deps";
import { atMost } from "@/lib/platform/clock";
import { isRowFault, type TransactionOptions, type Tx } from "@/lib/platform/database/db";
import { inTransaction, isReadTimeout } from "@/lib/platform/database/retrying";
import type { CandidatePage } from "@/lib/selection/candidates.read";
import type { FrozenSelection } from "@/lib/selection/scope.shapes";

/** Time limit of one statement of a chunk. A silent connection holds the walk this long. */
const CHUNK_OPTIONS: TransactionOptions = { statementTimeoutMs: 30_000 };

/**
 * A chunk waits this long for its turn with what it has locked, and then gives it back until its turn has come. Whoever waits for its
 * locks may be whom the chunk before it waits for, which PostgreSQL cannot see; and a transaction that asks nothing is ended.
 */
const TURN_MS_MAX = 1_000;

/** A persisted walk over a selection: a redrive's plan, or a bulk operation. */
export type Walk<Row extends { id: string }> = {
  selection: FrozenSelection;
  /** Reads a chunk, newest event first. */
  read(tx: Tx, page: CandidatePage): Promise<readonly Row[]>;
  /** Later arrivals are not included. */
  cutoff: string;
  /** The last event of the last committed chunk; null = no chunk is committed. */
  cursor: string | null;
  /** Events of one transaction: they stay locked until it commits. */
  chunkMax: number;
  /** Asked before each chunk. False = the operation was cancelled or has ended. */
  runs(): Promise<boolean>;
  /** Compare-and-set of the cursor. False = another worker has moved it, or the walk no longer runs. */
  advance(tx: Tx, from: string | null, to: string): Promise<boolean>;
  /**
   * The cursor is moved last: a chunk that waits for something outside of the store would lock the walk against a cancel
   * meanwhile. Two workers may then work one chunk, of which the second is rolled back.
   */
  advanceLast?: boolean;
  /**
   * The next chunk begins before this one has committed, in a transaction of its own. `work` awaits `turn` once, which resolves when
   * the chunk before has committed and moves the cursor, and changes after it what the chunks share: a chunk that locked it earlier
   * would wait for itself.
   */
  overlaps?: boolean;
  /** Works one chunk. The returned function runs once the chunk is committed. */
  work(tx: Tx, chunk: readonly Row[], nowMs: number, turn: Turn): Promise<undefined | (() => Promise<void>)>;
  /** Counts an event whose change the store refuses. Absent = one such event fails the walk. */
  refuse?(tx: Tx, event: Row, error: unknown): Promise<void>;
  /** Called when no event is left. */
  complete(tx: Tx, nowMs: number): Promise<void>;
};

export type Turn = () => Promise<void>;

/**
 * Walks a selection in chunks, newest event first, up to its cutoff. Each chunk is one transaction that moves the
 * cursor by compare-and-set: after a crash the next worker continues after the last commit, and of two workers one
 * stops. Resolves with true when the walk is complete; false when another worker took it over, it has ended, or
 * `signal` aborted.
 */
export async function walkSelection<Row extends { id: string }>(
  deps: Deps,
  walk: Walk<Row>,
  signal: AbortSignal,
): Promise<boolean> {
  let cursor = walk.cursor;
  let limit = walk.chunkMax;
  // The chunk that the next one overlaps.
  let before = null as { last: string; step: Promise<Step> } | null;
  for (;;) {
    const runs = !signal.aborted && (await runsAfter(walk, before?.step));
    if (!runs && before === null) return false;
    const chunk: Begun | null = runs
      ? begin(deps, walk, { cursor: before?.last ?? cursor, limit, before: before?.step })
      : null;
    try {
      const last: string | null | undefined = await chunk?.last;
      const ended = [before?.step, last && walk.overlaps ? undefined : chunk?.step];
      before = last && walk.overlaps ? { last, step: chunk!.step } : null;
      for await (const step of ended) {
        if (step === undefined) continue;
        if (step === "taken") return false;
        if (step === "complete") return true;
        await step.after?.();
        cursor = step.last;
        limit = Math.min(walk.chunkMax, limit * 4);
      }
    } catch (error) {
      before = null;
      // It waits for the one that failed, and fails with it.
      await chunk?.step.catch(() => undefined);
      if (error instanceof TakenOver) return false;
      // A smaller chunk reads and locks less.
      if (isReadTimeout(error) && limit > 1) {
        limit = Math.ceil(limit / 8);
        continue;
      }
      if (!walk.refuse || !isRowFault(error)) throw error;
      // The store refuses one event of the chunk: smaller chunks isolate it.
      if (limit > 1) limit = Math.ceil(limit / 8);
      else {
        const last = await refuseNext(deps, walk, cursor, error);
        if (last === null) return false;
        cursor = last;
      }
    }
  }
}

/** Fails once nothing of the walk is under way: whoever walks it again would find its events locked. */
async function runsAfter(walk: Pick<Walk<never>, "runs">, before: Promise<Step> | undefined): Promise<boolean> {
  try {
    return await walk.runs();
  } catch (error) {
    await before?.catch(() => undefined);
    throw error;
  }
}

type Chunk = { cursor: string | null; limit: number };
type Step = "taken" | "complete" | { last: string; after: (() => Promise<void>) | undefined };

/** `last`: the last event of the chunk, once it is read; null = there is none, or the chunk has failed. */
type Begun = { last: Promise<string | null>; step: Promise<Step> };

function begin<Row extends { id: string }>(
  deps: Deps,
  walk: Walk<Row>,
  { before, ...chunk }: Chunk & { before: Promise<Step> | undefined },
): Begun {
  const last = Promise.withResolvers<string | null>();
  const turn = async () => {
    // It fails with the one before it, whose error the walk looks at: this one must not be tried again because of a collision of that one.
    const ended = before && (await atMost(deps.clock, TURN_MS_MAX, before).catch(() => "taken" as const));
    if (ended === null) throw new TooEarly();
    if (ended === "taken" || ended === "complete") throw new TakenOver();
  };
  let read: readonly Row[] | null = null;
  const run = () =>
    inTransaction(
      deps.db,
      async (tx) => {
        // The next chunk begins where this one ended when it was first read.
        read = (walk.overlaps && read) || (await readChunk(tx, walk, chunk));
        last.resolve(read.at(-1)?.id ?? null);
        return workChunk(deps, tx, walk, { cursor: chunk.cursor, events: read, turn });
      },
      CHUNK_OPTIONS,
    );
  const step = run().catch(async (error) => {
    if (!(error instanceof TooEarly)) throw error;
    await before;
    return run();
  });
  step.catch(() => last.resolve(null));
  return { last: last.promise, step };
}

async function workChunk<Row extends { id: string }>(
  deps: Deps,
  tx: Tx,
  walk: Walk<Row>,
  { cursor, events, turn }: { cursor: string | null; events: readonly Row[]; turn: Turn },
): Promise<Step> {
  const nowMs = deps.clock.wallMs();
  const last = events.at(-1)?.id;
  if (last === undefined) {
    await turn();
    await walk.complete(tx, nowMs);
    return "complete";
  }
  const advance = async () => {
    if (!(await walk.advance(tx, cursor, last))) throw new TakenOver();
  };
  if (walk.overlaps) {
    const after = await walk.work(tx, events, nowMs, async () => {
      await turn();
      await advance();
    });
    return { last, after };
  }
  if (!walk.advanceLast && !(await walk.advance(tx, cursor, last))) return "taken";
  const after = await walk.work(tx, events, nowMs, turn);
  if (walk.advanceLast) await advance();
  return { last, after };
}

/** The chunk before this one has not ended in time. */
class TooEarly extends Error {}

/** Rolls the chunk back: another worker has moved the cursor, or the walk no longer runs. */
class TakenOver extends Error {}

/** Skips the next event of the walk. Returns it as the new cursor; null = another worker took the walk over. */
async function refuseNext<Row extends { id: string }>(
  deps: Deps,
  walk: Walk<Row>,
  cursor: string | null,
  error: unknown,
): Promise<string | null> {
  return deps.db.transaction(async (tx) => {
    const [event] = await readChunk(tx, walk, { cursor, limit: 1 });
    if (!event || !(await walk.advance(tx, cursor, event.id))) return null;
    await walk.refuse!(tx, event, error);
    return event.id;
  }, CHUNK_OPTIONS);
}

function readChunk<Row extends { id: string }>(tx: Tx, walk: Walk<Row>, { cursor, limit }: Chunk) {
  const { asOfMs, ...selection } = walk.selection;
  return walk.read(tx, { selection, asOfMs, cutoff: walk.cutoff, after: cursor, limit });
}
