"use client";

import { FilterWords } from "@/components/events/filter-words";
import { plural } from "@/lib/platform/plain/format.pure";
import { becameWords, selectionTerms } from "./redrive-title";

/** The selection in one line: `source orders · errorCode UPSTREAM_5XX`, `20 events, selected individually`. */
export function SelectionWords({ selection }: { selection: unknown }) {
  const selected = selectionTerms(selection);
  if (selected.kind === "ids") return `${plural(selected.count, "event")}, selected individually`;
  if (selected.kind === "operation") return "events from a bulk change";
  if (selected.kind === "redrive") return `${becameWords(selected.outcome)} in another redrive`;
  const terms = selected.terms.filter(({ name }) => name !== "to");
  if (terms.length === 0) return "everything parked";
  return <FilterWords terms={terms.flatMap(({ name, values }) => values.map((value) => ({ name, value })))} />;
}
