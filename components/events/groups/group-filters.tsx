"use client";

import { useEffect, useState } from "react";
import { FilteredBy } from "@/components/observe/overview/filtered-by";
import { Input } from "@/components/ui/input";
import { lazily } from "@/components/ui/lazily";
import { PopoverButton } from "@/components/ui/popup-button";
import { Toggles } from "@/components/ui/toggles";
import type { Verdict } from "@/lib/events/groups/group-verdict.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { withPart } from "@/lib/selection/filter/filter-read.browser";
import { addTerm, removeTerm } from "@/lib/selection/filter/qualified-search.browser";

const AddFilter = lazily(() => import("@/components/events/filters/add-filter"), "AddFilter");

export type VerdictChoice = Verdict | "all";
const VERDICT_OPTIONS: readonly { value: VerdictChoice; label: string }[] = [
  { value: "all", label: "All" },
  { value: "new", label: "New" },
  { value: "back", label: "Returned" },
  { value: "rising", label: "Rising" },
  { value: "steady", label: "Steady" },
  { value: "falling", label: "Falling" },
];

/** What the list of groups is narrowed to: words, the verdict, and the filter of events. */
export function GroupFilters(props: {
  filter: EventFilter;
  onFilter: (next: EventFilter) => void;
  verdict: VerdictChoice;
  onVerdict: (next: VerdictChoice) => void;
}) {
  const { filter, onFilter, verdict, onVerdict } = props;
  return (
    <>
      <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 px-3 pb-2">
        <Words filter={filter} onFilter={onFilter} />
        <Toggles
          label="Groups that are"
          joined
          options={VERDICT_OPTIONS}
          value={verdict}
          onChange={onVerdict}
          className="max-w-full overflow-x-auto"
        />
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
      </div>
      <FilteredBy filter={filter} onFilter={onFilter} />
    </>
  );
}

/** The search applies on Enter: a list that changes with each letter moves under the reader. */
function Words({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const [text, setText] = useState(filter.q ?? "");
  useEffect(() => setText(filter.q ?? ""), [filter.q]);
  return (
    <form
      className="w-56 max-sm:w-full"
      onSubmit={(event) => {
        event.preventDefault();
        onFilter(withPart(filter, { q: text.trim() === "" ? undefined : text.trim() }));
      }}
    >
      <Input
        type="search"
        aria-label="Search the groups"
        placeholder="words in the message"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}
