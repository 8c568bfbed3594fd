"use client";

import { useGroupName } from "@/lib/events/groups/group-names.browser";
import { visible } from "@/lib/platform/plain/format.pure";
import { shownTerm, type Term } from "@/lib/selection/filter/qualified-search.browser";

/** A term as people read it: a group by its sentence, not by its fingerprint. */
export function useTermWords(term: Term): { name: string; value: string } {
  const { name, excludes } = shownTerm(term);
  const group = useGroupName(name === "fingerprint" ? term.value : null);
  const shown = name === "q" ? "words" : name === "fingerprint" ? "group" : name;
  const value = name === "fingerprint" ? (group ?? "one without events now") : term.value;
  return { name: excludes ? `${shown} is not` : shown, value: visible(value) };
}

function TermWords({ term, mono }: { term: Term; mono: boolean }) {
  const { name, value } = useTermWords(term);
  return (
    <>
      <span className={mono ? "text-muted" : undefined}>{name}</span>{" "}
      <span className={mono ? "font-mono text-sm" : undefined}>{value}</span>
    </>
  );
}

/** The terms in one line. */
export function FilterWords({ terms, mono = false }: { terms: readonly Term[]; mono?: boolean }) {
  return terms.map((term, index) => (
    <span key={`${term.name}:${term.value}`}>
      {index === 0 ? "" : " · "}
      <TermWords term={term} mono={mono} />
    </span>
  ));
}
