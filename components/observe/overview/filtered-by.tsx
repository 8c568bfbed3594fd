"use client";

import { X } from "lucide-react";
import { useTermWords } from "@/components/events/filter-words";
import { Button } from "@/components/ui/button";
import { shortenId } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { removeTerm, type Term, termsOf } from "@/lib/selection/filter/qualified-search.browser";

/** The restrictions of the page; each can be removed. Nothing without a restriction. */
export function FilteredBy({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const terms = termsOf(filter);
  if (terms.length === 0) return null;
  return (
    <ul aria-label="Filters" className="flex flex-wrap gap-1.5 px-3 pb-2">
      {terms.map((term) => (
        <li key={`${term.name}:${term.value}`}>
          <Restriction term={term} onRemove={() => onFilter(removeTerm(filter, term))} />
        </li>
      ))}
    </ul>
  );
}

function Restriction({ term, onRemove }: { term: Term; onRemove: () => void }) {
  const { name, value } = useTermWords(term);
  return (
    <Button size="sm" data-tip={`${value}\nclick to remove`} onClick={onRemove}>
      <span className="sr-only">Remove </span>
      <span className="text-faint">{name}</span> <span className="font-mono text-sm">{shortenId(value, 28, 8)}</span>
      <X size={12} aria-hidden />
    </Button>
  );
}
