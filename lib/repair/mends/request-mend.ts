import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { answerOnce, firstAnswer, type IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { askForMend } from "@/lib/redrive/life/approval";
import { enqueueOrLog } from "@/lib/redrive/life/enqueue-jobs";
import { examineMend, type Mending, type MendingDeps } from "@/lib/repair/mends/examine-mend";
import { MASKED } from "@/lib/repair/mends/mending.pure";
import { freezeMend, nameSources } from "@/lib/repair/mends/mends.write";
import { compileRecipe } from "@/lib/repair/recipes/apply-recipe";
import type { MendRequest, UndoMendRequest } from "@/lib/repair/recipes/recipes.shapes";
import { maskedRefusal } from "@/lib/repair/revisions/revision.pure";
import { cutoffOf, readCandidates, type Selected } from "@/lib/selection/candidates.read";
import { insertBulkOperation, type NewBulkOperation } from "@/lib/selection/operations/bulk-operations.write";
import { setOperationChannels } from "@/lib/selection/operations/operation-channels.write";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { askedSelection, type ScopedSelection, scopeSelection, sourcesOf } from "@/lib/selection/scope.shapes";
import { assertEnded, selectEvents } from "@/lib/selection/select-events";
import { BULK_BEGINS, BULK_EFFECT } from "@/lib/states/bulk-operation.pure";

/** Events of one mend: they are frozen in the transaction of the request. */
const MEND_EVENTS_MAX = 500_000;
/** How long a request looks for an event that would change, before its transaction: recipes run in another process. */
const LOOK_MS_MAX = 20_000;
/** Events of the first look, and of one. A recipe may take a quarter of a second for a payload of 700 kB. */
const LOOK_FIRST = 4;
const LOOK_CHUNK = 1_000;
/** The expected time of the next look, at the previous pace. */
const LOOK_MS = 1_000;
/** One statement: 500,000 events are frozen by one, in some seconds. */
const FREEZE_MS_MAX = 60_000;

type Idempotent = { idempotency: IdempotentRequest | null };

/**
 * Freezes the selected events with their revisions, as a bulk operation that a worker carries out. Throws DomainError
 * `invalid-recipe`, `would-change-nothing`, `too-many-events`, `empty-selection`, `unknown-event`, `unknown-operation`,
 * `illegal-transition`, `forbidden`, `idempotency-key-reused`.
 */
export async function requestMend(
  deps: Deps & MendingDeps,
  { select, recipe, reason, breaking, tell = [], idempotency }: MendRequest & Idempotent,
  viewer: Viewer,
): Promise<BulkAnswer> {
  const selection = await readScopedSelection(deps.db, viewer, "edit", select);
  const masks = await readMasks(deps.db);
  const mayReveal = may(viewer, "reveal");
  const { payloadBytesMax } = await readSettings(deps.db);
  const mend = compileRecipe(deps, recipe, payloadBytesMax);
  const asOfMs = deps.clock.wallMs();
  const page = { selection, asOfMs, cutoff: cutoffOf(selection, asOfMs) };
  const answered = () => firstAnswer<BulkAnswer>(deps.db, idempotency, asOfMs);
  const known = await answered();
  if (known !== null) return known;
  if ("operation" in selection) await assertEnded(deps.db, selection.operation);
  try {
    await assertChanges(deps, page, { mend, masks, mayReveal }, { breaking, viewer });
  } catch (error) {
    // The first request with this key may have ended meanwhile, and its mend may have changed all events.
    const late = await answered();
    if (late !== null) return late;
    throw error;
  }
  return begin(deps, idempotency, asOfMs, async (tx) => {
    const first = await selectEvents(tx, page, 1);
    const id = uuidv7(asOfMs);
    const options = { recipe, breaking, masks: !mayReveal };
    const facts = {
      id,
      kind: "mend" as const,
      selection: { ...askedSelection(selection), asOfMs },
      options,
      cutoff: page.cutoff,
      reason,
    };
    await insert(tx, { ...facts, expected: 0, refused: missingOf(first.missing) }, viewer);
    const frozen = await freezeMend(tx, id, page, MEND_EVENTS_MAX);
    if (frozen > MEND_EVENTS_MAX) {
      throw new DomainError("too-many-events", `More than ${MEND_EVENTS_MAX} events are selected`, {
        fields: [{ field: "select.filter", detail: "narrow it, and mend one part at a time" }],
      });
    }
    await tx.run("update bulk_operations set expected = $2 where id = $1", [id, frozen + first.missing]);
    if (!("filter" in selection) && selection.sources === undefined) await nameSources(tx, id);
    if (tell.length > 0) await setOperationChannels(tx, id, tell, { viewer, atMs: asOfMs });
    await askForMend(tx, { id, options, reason, createdBy: viewer.name }, frozen, asOfMs);
    return { id, state: BULK_BEGINS, changed: 0, refused: missingOf(first.missing), ids: null, underWay: 0 };
  });
}

/**
 * Makes the revisions before a mend current again, of each event that nobody has revised and nothing was sent of since.
 * Throws DomainError `unknown-operation`, `illegal-transition`, `would-change-nothing`, `forbidden`,
 * `idempotency-key-reused`.
 */
export async function requestUndoMend(
  deps: Deps,
  { select: { operation }, reason, idempotency }: UndoMendRequest & Idempotent,
  viewer: Viewer,
): Promise<BulkAnswer> {
  const selection = scopeSelection(viewer, "edit", { operation });
  const asOfMs = deps.clock.wallMs();
  return begin(deps, idempotency, asOfMs, async (tx) => {
    const mend = await readBulkOperation(tx, viewer, operation, "select.operation");
    if (mend.kind !== "mend" || mend.state === BULK_BEGINS) {
      const detail =
        mend.kind === "mend" ? "wait until it is DONE, or cancel it" : `is of kind ${mend.kind}: name a mend`;
      throw new DomainError("illegal-transition", "This operation is not a finished mend", {
        fields: [{ field: "select.operation", detail }],
      });
    }
    if (mend.changed === 0) throw wouldChangeNothing("The mend did not change any event");
    const id = uuidv7(asOfMs);
    // Whoever sees the mend sees its undo.
    const sources = sourcesOf(selection) ?? sourcesOf(mend.selection as ScopedSelection);
    const facts = {
      id,
      kind: "undo-mend" as const,
      selection: { ...selection, ...(sources && { sources }), asOfMs },
      options: {},
      cutoff: cutoffOf(selection, asOfMs),
      reason,
    };
    await insert(tx, { ...facts, expected: mend.changed, refused: {} }, viewer);
    return { id, state: BULK_BEGINS, changed: 0, refused: {}, ids: null, underWay: 0 };
  });
}

async function begin(
  deps: Deps,
  idempotency: IdempotentRequest | null,
  nowMs: number,
  work: (tx: Tx) => Promise<BulkAnswer>,
): Promise<BulkAnswer> {
  const { answer, isNew } = await inTransaction(deps.db, (tx) => answerOnce(tx, idempotency, nowMs, () => work(tx)), {
    statementTimeoutMs: FREEZE_MS_MAX,
  });
  if (isNew) await enqueueOrLog(deps, answer.id!);
  return answer;
}

function missingOf(missing: number): Record<string, number> {
  return missing > 0 ? { "not-found": missing } : {};
}

type NewMend = Omit<NewBulkOperation, "expectedKind" | "auditId" | "createdBy" | "atMs"> & {
  kind: "mend" | "undo-mend";
};

/** The operation and its audit entry, which holds the recipe; each chunk adds its events to the entry. */
async function insert(tx: Tx, mend: NewMend, viewer: Viewer): Promise<void> {
  const { asOfMs, ...selection } = mend.selection;
  const { action } = BULK_EFFECT[mend.kind];
  const auditId = await appendAudit(tx, {
    actor: viewer.name,
    action,
    subjectKind: "event",
    reason: mend.reason,
    after: { ...mend.options, ...shownSelection(selection as ScopedSelection) },
    count: 0,
    atMs: asOfMs,
  });
  await insertBulkOperation(tx, { ...mend, expectedKind: "exact", auditId, createdBy: viewer.name, atMs: asOfMs });
}

function shownSelection(selection: ScopedSelection): object {
  return "ids" in selection ? { ids: selection.ids.length } : selection;
}

/**
 * Looks at the selected events until one would change. Throws `would-change-nothing` when none does, `forbidden` when all are
 * masked. An empty selection is left to the freeze.
 */
async function assertChanges(
  deps: MendingDeps,
  selected: Selected,
  mending: Mending,
  { breaking, viewer }: { breaking: boolean; viewer: Viewer },
): Promise<void> {
  const started = deps.clock.nowMs();
  const found: Record<string, number> = {};
  let looked = 0;
  for (let after: string | null = null, passedMs = 0; passedMs < LOOK_MS_MAX; ) {
    const atThisPace = looked === 0 ? LOOK_FIRST : Math.ceil((looked / Math.max(passedMs, 1)) * LOOK_MS);
    const page = await readCandidates(deps.db, { ...selected, after, limit: Math.min(atThisPace, LOOK_CHUNK) });
    if (page.length === 0 && looked === 0) return;
    if (page.length === 0) {
      if (Object.keys(found).join() === MASKED) throw maskedRefusal(viewer, "All selected events have");
      const reasons = Object.entries(found).map(([reason, count]) => `${reason}: ${count}`);
      throw wouldChangeNothing("The recipe would change none of the selected events", reasons.join(", "));
    }
    for await (const part of examineMend(deps, deps.db, mending, page)) {
      for (const { outcome, reason } of part) {
        if (outcome === "changed" || (outcome === "breaks-schema" && breaking)) return;
        const why = reason ?? outcome;
        found[why] = (found[why] ?? 0) + 1;
      }
    }
    after = page.at(-1)!.id;
    looked += page.length;
    passedMs = deps.clock.nowMs() - started;
  }
}

function wouldChangeNothing(message: string, detail = "see POST /api/v1/events/mend/preview"): DomainError {
  return new DomainError("would-change-nothing", message, { fields: [{ field: "recipe", detail }] });
}
