"use client";

import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import { useMendCounts } from "@/lib/repair/mends/mends.browser";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { MendPreview } from "./mend-preview";

/** What a mend that waits for approval would do: the preview that its requester saw, computed again for the approver. */
export function MendAwaited({ operation }: { operation: BulkOperationOut }) {
  const { recipe, selection, createdAt } = operation;
  const refusal = useRefusal("edit");
  const select = askedSelection(selection);
  if (select === null || recipe === null || recipe.kind === "merge-patch" || recipe.kind === "jsonata") return null;
  if (refusal !== null) return <p className="text-muted">The preview is not shown: {refusal}</p>;
  if (JSON.stringify(recipe).includes(REDACTED)) {
    return <p className="text-muted">The preview is not available: some values in the recipe are masked for you.</p>;
  }
  return <Previewed select={pinSelection(select, createdAt)} recipe={recipe} />;
}

function Previewed({ select, recipe }: { select: Selection; recipe: Recipe }) {
  return <MendPreview select={select} recipe={recipe} counting={useMendCounts(select, recipe)} />;
}

/** The selection of a stored operation as requested, without the time and the sources that the server added; null = unknown. */
export function askedSelection(stored: unknown): Selection | null {
  if (typeof stored !== "object" || stored === null) return null;
  const { ids, filter, operation, redrive, outcome, result } = stored as Partial<Record<string, never>>;
  if (ids !== undefined) return { ids };
  if (filter !== undefined) return { filter };
  if (operation !== undefined) return { operation };
  if (redrive === undefined || outcome === undefined) return null;
  return { redrive, outcome, ...(result === undefined ? {} : { result }) };
}
