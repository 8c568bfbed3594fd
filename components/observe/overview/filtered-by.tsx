"use client";

import { X } from "lucide-react";
import { Button } from "@/components/ui/button";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { removeTerm, shownTerm, termsOf } from "@/lib/events/filter/qualified-search.browser";
import { shortenId } from "@/lib/platform/plain/format.pure";

/** The restrictions of the page; each can be removed. Nothing without a restriction. */
export function FilteredBy({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const terms = termsOf(filter);
  if (terms.length === 0) return null;
  return (
    <ul aria-label="Filters" className="flex flex-wrap gap-1.5 px-3 pb-2">
      {terms.map((term) => {
        const { name, excludes } = shownTerm(term);
        return (
          <li key={`${term.name}:${term.value}`}>
            <Button
              size="sm"
              data-tip={`${term.value}\nclick to remove`}
              onClick={() => onFilter(removeTerm(filter, term))}
            >
              <span className="sr-only">Remove </span>
              <span className="text-faint">
                {name === "q" ? "words" : name}
                {excludes ? " is not" : ""}
              </span>{" "}
              <span className="font-mono text-sm">{shortenId(term.value, 28, 8)}</span>
              <X size={12} aria-hidden />
            </Button>
          </li>
        );
      })}
    </ul>
  );
}
