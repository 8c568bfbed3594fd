"use client";

import { X } from "lucide-react";
import { useTermWords } from "@/components/events/filter-words";
import { editInSearch } from "@/components/shell/top-bar/search-box";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { PopoverButton } from "@/components/ui/popup-button";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { shortenId } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { withPart } from "@/lib/selection/filter/filter-read.browser";
import {
  addTerm,
  oppositeTerm,
  removeTerm,
  shownTerm,
  type Term,
  termsOf,
  writeTerm,
} from "@/lib/selection/filter/qualified-search.browser";
import { windowLabel } from "@/lib/selection/filter/time-window.browser";
import { ExportMenu } from "./export-menu";
import { ViewsMenu } from "./views-menu";

const AddFilter = lazily(() => import("./add-filter"), "AddFilter");

/** `onTurn` turns "is" into "is not" and back. */
function Chip(props: {
  /** With `is not` where it excludes. */
  name: string;
  value: string;
  excludes?: boolean;
  onTurn?: () => void;
  onEdit?: () => void;
  onRemove: () => void;
}) {
  const { name, value, excludes = false, onTurn, onEdit, onRemove } = props;
  const shown = shortenId(value, 28, 8);
  const valueText = <span className="truncate font-mono text-sm">{shown}</span>;
  return (
    <li className="flex h-6 max-w-full min-w-0 items-center rounded-md border border-line-strong bg-raised">
      {onTurn ? (
        <button
          type="button"
          onClick={onTurn}
          aria-label={`${name} ${value}: ${excludes ? "include" : "exclude"} instead`}
          data-tip={excludes ? "Include instead" : "Exclude instead"}
          className="h-full shrink-0 rounded-l-md pr-1 pl-2 text-faint hover:bg-hover"
        >
          {name}
        </button>
      ) : (
        <span className="shrink-0 pr-1 pl-2 text-faint">{name}</span>
      )}
      {onEdit ? (
        <button
          type="button"
          onClick={onEdit}
          aria-label={`Edit ${name} ${value}`}
          data-tip={shown === value ? "Edit" : `${value}\nclick to edit`}
          className="flex h-full min-w-0 items-center hover:bg-hover"
        >
          {valueText}
        </button>
      ) : (
        <span className="flex min-w-0 items-center" data-tip={shown === value ? undefined : value}>
          {valueText}
        </span>
      )}
      <button
        type="button"
        aria-label={`Remove ${name} ${value}`}
        onClick={onRemove}
        className="flex h-full w-6 shrink-0 items-center justify-center rounded-r-md text-faint hover:bg-hover hover:text-ink"
      >
        <X size={12} aria-hidden />
      </button>
    </li>
  );
}

function TermChip(props: { term: Term; filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const { term, filter, onFilter } = props;
  const { name, excludes } = shownTerm(term);
  const opposite = oppositeTerm(term);
  const remove = () => onFilter(removeTerm(filter, term));
  const edit = () => {
    remove();
    editInSearch(writeTerm(term));
  };
  return (
    <Chip
      {...useTermWords(term)}
      excludes={excludes}
      {...(opposite && { onTurn: () => onFilter(addTerm(filter, opposite)) })}
      // Nobody types a fingerprint.
      {...(name === "fingerprint" ? {} : { onEdit: edit })}
      onRemove={remove}
    />
  );
}

/** The restrictions of the list. Each can be removed or changed, and others can be added. */
export function FilterBar({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const zone = useZone();
  const terms = termsOf(filter);
  const windowed = filter.from !== undefined || filter.to !== undefined;
  return (
    <div className="flex min-w-0 shrink-0 items-start gap-2 px-3 pt-2">
      <ul aria-label="Filters" className="flex min-w-0 flex-1 flex-wrap items-center gap-1.5">
        {windowed ? (
          <Chip
            name="seen"
            value={windowLabel(filter, zone)}
            onRemove={() => onFilter(withPart(filter, { from: undefined, to: undefined }))}
          />
        ) : null}
        {terms.map((term) => (
          <TermChip key={`${term.name}:${term.value}`} term={term} filter={filter} onFilter={onFilter} />
        ))}
        <li className="flex">
          <PopoverButton label="+ filter" name="+ filter" variant="ghost" size="sm" panelClassName="p-0!">
            {(close) => (
              <AddFilter
                filter={filter}
                onAdd={(term) => onFilter(addTerm(filter, term))}
                onRemove={(term) => onFilter(removeTerm(filter, term))}
                onDone={close}
              />
            )}
          </PopoverButton>
        </li>
        {terms.length + (windowed ? 1 : 0) > 1 ? (
          <li className="flex">
            <Button variant="ghost" size="sm" onClick={() => onFilter({})}>
              Clear all
            </Button>
          </li>
        ) : null}
      </ul>
      <div className="flex shrink-0 items-center gap-1">
        <ViewsMenu filter={filter} onFilter={onFilter} />
        <ExportMenu filter={filter} />
      </div>
    </div>
  );
}
