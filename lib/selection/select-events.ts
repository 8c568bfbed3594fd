import type { Queryable, Tx } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type Candidate, countUpTo, ofPassed, readCandidates, type Selected } from "@/lib/selection/candidates.read";
import { readBulkOperationRow } from "@/lib/selection/operations/bulk-operations.write";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";
import { unknownOperation, unknownRedrive } from "@/lib/states/unknown.pure";

export type SelectedEvents = {
  /** At most one event more than a request changes by itself. */
  candidates: Candidate[];
  /** Named events that do not exist. */
  missing: number;
};

/**
 * The first `nowMax` + 1 events of a selection. They are read once: the same events decide whether the request or a
 * worker does the work, and are then changed. Throws DomainError `empty-selection`, `unknown-event`,
 * `unknown-operation`, `unknown-redrive`, `illegal-transition`.
 */
export async function selectEvents(tx: Tx, selected: Selected, nowMax: number): Promise<SelectedEvents> {
  if ("operation" in selected.selection) await assertEnded(tx, selected.selection.operation);
  if ("redrive" in selected.selection) await assertRedrive(tx, selected.selection.redrive);
  const candidates = await readCandidates(tx, { ...selected, after: null, limit: nowMax + 1 });
  if (candidates.length === 0) throw nothingSelected(selected.selection);
  return { candidates, missing: await countMissing(tx, selected, candidates.length, nowMax) };
}

async function countMissing(tx: Tx, selected: Selected, found: number, nowMax: number): Promise<number> {
  if (!("ids" in selected.selection)) return 0;
  const asked = new Set(selected.selection.ids).size;
  return asked - (found > nowMax ? await countUpTo(tx, selected, asked) : found);
}

/** The events of a running operation cannot be selected: their set still grows. */
export async function assertEnded(tx: Queryable, operationId: string): Promise<void> {
  const operation = await readBulkOperationRow(tx, operationId);
  if (!operation) throw unknownOperation(operationId, "select.operation");
  if (operation.state !== "RUNNING") return;
  throw new DomainError("illegal-transition", "The operation is still running: what it changes is not known yet", {
    fields: [{ field: "select.operation", detail: "wait until it is DONE, or cancel it" }],
  });
}

async function assertRedrive(tx: Tx, id: string): Promise<void> {
  const found = await tx.query("select 1 from redrives where id = $1", [id]);
  if (found.length === 0) throw unknownRedrive(id, "select.redrive");
}

function nothingSelected(select: ScopedSelection): DomainError {
  if ("ids" in select) {
    return new DomainError("unknown-event", "None of the selected events exists", {
      fields: [{ field: "select.ids", detail: "use the `id` of events as listed, not their eventId" }],
    });
  }
  if ("operation" in select) {
    return new DomainError("empty-selection", "The operation has changed no event that still exists", {
      fields: [{ field: "select.operation", detail: "name an operation that changed events" }],
    });
  }
  if ("redrive" in select) {
    const now = ofPassed(select) ? "that passed and has not changed since" : `that is ${select.outcome.join(" or ")}`;
    return new DomainError("empty-selection", `The redrive has no event ${now}`, {
      fields: [{ field: "select.outcome", detail: "see its counts with GET /api/v1/redrives/{id}" }],
    });
  }
  return new DomainError("empty-selection", "The filter matches no event: there is nothing to do", {
    fields: [{ field: "select.filter", detail: "widen the filter or check its values" }],
  });
}
