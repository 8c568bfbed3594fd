"use client";

import { useGroupName } from "@/lib/events/groups/group-names.browser";
import { visible } from "@/lib/platform/plain/format.pure";
import { shownTerm, type Term } from "@/lib/selection/filter/qualified-search.browser";

/** A term as people read it: a group by its sentence, not by its fingerprint. */
export function useTermWords(term: Term): { name: string; value: string } {
  const { name, excludes } = shownTerm(term);
  const group = useGroupName(name === "fingerprint" ? term.value : null);
  const shown = name === "q" ? "words" : name === "fingerprint" ? "group" : name;
  return { name: excludes ? `${shown} is not` : shown, value: visible(group ?? term.value) };
}

function TermWords({ term, further, mono }: { term: Term; further: boolean; mono: boolean }) {
  const { name, value } = useTermWords(term);
  return (
    <>
      {further ? ", " : <span className={mono ? "text-muted" : undefined}>{name} </span>}
      <span className={mono ? "font-mono text-sm" : undefined}>{value}</span>
    </>
  );
}

/** The terms in one line; any of the values of one name: `source orders · errorCode TIMEOUT, UPSTREAM_5XX`. */
export function FilterWords({ terms, mono = false }: { terms: readonly Term[]; mono?: boolean }) {
  return terms.map((term, index) => {
    const further = terms[index - 1]?.name === term.name;
    return (
      <span key={`${term.name}:${term.value}`}>
        {index === 0 || further ? "" : " · "}
        <TermWords {...{ term, further, mono }} />
      </span>
    );
  });
}
