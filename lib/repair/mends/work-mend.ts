import { appendSubjects } from "@/lib/guard/audit/audit.write";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { isRowFault, type Queryable, type Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { examineMend, type MendCandidate, type Mending, type MendingDeps } from "@/lib/repair/mends/examine-mend";
import { SCHEMA_TIMEOUT, SENT_SINCE } from "@/lib/repair/mends/mending.pure";
import { readMadeRevisions, readMendItems, sentOf } from "@/lib/repair/mends/mends.read";
import { compileRecipe, type Mender } from "@/lib/repair/recipes/apply-recipe";
import type { Message } from "@/lib/repair/recipes/document";
import { reviseEvents, setRevisions } from "@/lib/repair/revisions/revise-events.write";
import { cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import {
  advanceBulkOperation,
  type BulkOperationRow,
  countBulkOperation,
  endBulkOperation,
  isBulkRunning,
} from "@/lib/selection/operations/bulk-operations.write";
import { scopeSelection } from "@/lib/selection/scope.shapes";

/** Events of one transaction: a cancel waits for it, and a crash repeats its work. */
const MEND_CHUNK = 1_000;
/** Time limit of one statement of a chunk. */
const STATEMENT_MS_MAX = 30_000;

type Page = { operationId: string; after: string | null; limit: number };

/** A candidate as it was frozen. `stale`: it was revised since, or is gone. */
type Frozen = MendCandidate & { stale: string | null };

/** A page of a mend's frozen events, with the revision that was current then. */
async function readFrozen(db: Queryable, page: Page): Promise<Frozen[]> {
  const items = await readMendItems(db, page);
  if (items.length === 0) return [];
  // The selection was already restricted to the sources of the viewer.
  const selection = scopeSelection(systemViewer("worker"), "view", { ids: items.map(({ id }) => id) });
  const events = await readCandidates(db, {
    selection,
    asOfMs: 0,
    cutoff: cutoffOf(selection, 0),
    after: null,
    limit: items.length,
  });
  const known = new Map(events.map((event) => [event.id, event]));
  return items.map(({ id, base }) => {
    const event = known.get(id);
    const stale = event === undefined ? "not-found" : event.revision === base ? null : "stale-revision";
    const { sourceId = "", source = "", status = "PENDING" } = event ?? {};
    return { id, revision: base, sourceId, source, status, stale };
  });
}

/** One decided event of a chunk. */
type Decided = { id: string; refusal: string | null; base: number; message: Message | null; places: string[] };
type Chunk = { items: Decided[]; after: string | null };

/**
 * Applies the recipe to the frozen events in chunks, newest first: what the next chunk changes is worked out while the
 * one before is stored. Each chunk is one transaction that moves the cursor by compare-and-set and revises events by
 * compare-and-set on the frozen revision: after a crash the next worker goes on after the last commit, of two workers
 * one stops, and an event that somebody revised since is left alone.
 */
export async function workMend(
  deps: Deps & MendingDeps,
  operation: BulkOperationRow,
  signal: AbortSignal,
): Promise<void> {
  const { breaking = false } = operation.options;
  const mending = await compileStored(deps, operation);
  await walkChunks(deps, operation, signal, {
    read: (after) => decide(deps, mending, { operationId: operation.id, after, limit: MEND_CHUNK }, breaking),
    write: async (tx, items) => {
      const revisions = items.flatMap(({ id, base, message, places }) =>
        message ? [{ id, base, ...message, patch: { places } }] : [],
      );
      const by = {
        cause: "mend" as const,
        actor: operation.createdBy,
        reason: operation.reason,
        operationId: operation.id,
      };
      return reviseEvents(tx, { ...by, atMs: deps.clock.wallMs(), revisions });
    },
  });
}

/**
 * A recipe that was stored before an upgrade may be one that this version refuses. Each event is then refused with it: an
 * error would come again at each try, and the mend would never end.
 */
async function compileStored(deps: Deps & MendingDeps, { id, options }: BulkOperationRow): Promise<Mending> {
  const { payloadBytesMax } = await readSettings(deps.db);
  const masks = await readMasks(deps.db);
  const mayReveal = options.masks === false;
  try {
    return { mend: compileRecipe(deps, options.recipe!, payloadBytesMax), masks, mayReveal };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    deps.log.error({ operationId: id, err: error }, "the stored recipe of a mend is refused");
    const { message: detail } = error;
    const mend: Mender = async (messages) => messages.map(() => ({ kind: "failed", code: "invalid-recipe", detail }));
    return { mend, masks, mayReveal };
  }
}

async function decide(deps: MendingDeps, mending: Mending, page: Page, breaking: boolean): Promise<Chunk> {
  const frozen = await readFrozen(deps.db, page);
  const items: Decided[] = frozen.flatMap(({ id, revision, stale }) =>
    stale === null ? [] : [{ id, refusal: stale, base: revision, message: null, places: [] }],
  );
  for await (const part of examineMend(
    deps,
    deps.db,
    mending,
    frozen.filter(({ stale }) => stale === null),
  )) {
    for (const { candidate, outcome, reason, after, places } of part) {
      const changes = outcome === "changed" || (outcome === "breaks-schema" && breaking);
      const breaks = outcome === "breaks-schema" && reason !== SCHEMA_TIMEOUT;
      const refusal = changes ? null : breaks ? outcome : (reason ?? outcome);
      items.push({ id: candidate.id, refusal, base: candidate.revision, message: changes ? after : null, places });
    }
  }
  // In the order of the walk: a chunk that the store refuses is halved.
  items.sort((left, right) => (left.id < right.id ? 1 : -1));
  return { items, after: frozen.at(-1)?.id ?? null };
}

/** Makes the revision before the mend current, of each event that is as the mend left it and was not sent since. */
export async function workUndoMend(deps: Deps, operation: BulkOperationRow, signal: AbortSignal): Promise<void> {
  const { selection } = operation;
  if (!("operation" in selection)) throw new Error(`The undo ${operation.id} names no mend`);
  await walkChunks(deps, operation, signal, {
    read: async (after) => {
      const made = await readMadeRevisions(deps.db, { operationId: selection.operation, after, limit: MEND_CHUNK });
      const items = made.map(({ id, revision, base }) => ({
        id,
        refusal: null,
        base,
        revision,
        message: null,
        places: [],
      }));
      return { items, after: made.at(-1)?.id ?? null };
    },
    write: async (tx, items) => {
      // Locked before the look at what was sent: a send begins with a change of the event.
      await tx.query("select 1 from dlq_events where id = any($1::uuid[]) order by id for no key update", [
        items.map(({ id }) => id),
      ]);
      const sent = await sentOf(tx, items);
      const back = items
        .filter(({ id }) => !sent.has(id))
        .map(({ id, revision, base }) => ({ id, from: revision, to: base }));
      return [
        ...(await setRevisions(tx, back, operation.createdBy)),
        ...[...sent].map((id) => ({ id, refusal: SENT_SINCE })),
      ];
    },
  });
}

type Outcome = { id: string; refusal: string | null };

type ChunkWalk<Item> = {
  /** Reads and decides the chunk behind an event; changes nothing. */
  read(after: string | null): Promise<{ items: Item[]; after: string | null }>;
  /** Changes the items that are not refused already. */
  write(tx: Tx, items: Item[]): Promise<Outcome[]>;
};

async function walkChunks<Item extends { id: string; refusal: string | null }>(
  deps: Deps,
  { id, auditId, cursor: start }: BulkOperationRow,
  signal: AbortSignal,
  walk: ChunkWalk<Item>,
): Promise<void> {
  const settings = { statementTimeoutMs: STATEMENT_MS_MAX };
  const read = (after: string | null) => {
    const reading = walk.read(after);
    // It may never be asked for: the walk can end before.
    reading.catch(() => undefined);
    return reading;
  };
  /** False = another worker has the operation, or it was cancelled. */
  const store = async (items: Item[], from: string | null, to: string): Promise<boolean> => {
    try {
      return await inTransaction(
        deps.db,
        async (tx) => {
          if (!(await advanceBulkOperation(tx, id, from, to))) return false;
          const outcomes = await walk.write(
            tx,
            items.filter(({ refusal }) => refusal === null),
          );
          const changed = outcomes.flatMap((outcome) => (outcome.refusal === null ? [outcome.id] : []));
          await appendSubjects(tx, auditId, changed);
          await countBulkOperation(tx, id, changed.length, refusalsOf([...items, ...outcomes]));
          return true;
        },
        settings,
      );
    } catch (error) {
      if (!isRowFault(error)) throw error;
      if (items.length > 1) {
        // The store refuses one event of the chunk: halves isolate it. Items are in the order of the walk.
        const half = items.length >> 1;
        const middle = items[half - 1]!.id;
        return (await store(items.slice(0, half), from, middle)) && store(items.slice(half), middle, to);
      }
      deps.log.error({ operationId: id, id: items[0]!.id, err: error }, "the store refuses to revise an event");
      return inTransaction(deps.db, async (tx) => {
        if (!(await advanceBulkOperation(tx, id, from, to))) return false;
        await countBulkOperation(tx, id, 0, { "store-refused": 1 });
        return true;
      });
    }
  };
  let cursor = start;
  let next = read(cursor);
  while (!signal.aborted && (await isBulkRunning(deps.db, id))) {
    const chunk = await next;
    if (chunk.after === null) {
      await inTransaction(deps.db, (tx) => endBulkOperation(tx, id, "finish"));
      return;
    }
    next = read(chunk.after);
    if (!(await store(chunk.items, cursor, chunk.after))) return;
    cursor = chunk.after;
  }
}

function refusalsOf(items: readonly { refusal: string | null }[]): Record<string, number> {
  const refused: Record<string, number> = {};
  for (const { refusal } of items) if (refusal !== null) refused[refusal] = (refused[refusal] ?? 0) + 1;
  return refused;
}
