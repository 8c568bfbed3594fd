import type { Selection } from "@/lib/selection/selection.shapes";

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
