"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { submits } from "@/components/ui/use-submit";
import type { ArchiveFilter } from "@/lib/keep/archive/archive.browser";

const FIELDS = [
  { name: "eventId", label: "Event id", placeholder: "event id", width: "sm:w-44!" },
  { name: "aggregateId", label: "Aggregate", placeholder: "aggregate", width: "sm:w-44!" },
  { name: "source", label: "Source", placeholder: "source", width: "sm:w-36!" },
  { name: "errorCode", label: "Error code", placeholder: "error code", width: "sm:w-44!" },
  { name: "from", label: "Parked from", placeholder: "from, e.g. 2026-11-25", width: "sm:w-44!" },
  { name: "to", label: "Parked before", placeholder: "before, e.g. -24h", width: "sm:w-40!" },
] as const satisfies readonly { name: keyof ArchiveFilter; label: string; placeholder: string; width: string }[];

/** A field applies on Enter or when it loses the focus. The values of names are compared whole. */
export function ArchiveFilterBar(props: { filter: ArchiveFilter; onFilter: (filter: ArchiveFilter) => void }) {
  const { filter, onFilter } = props;
  const [typed, setTyped] = useState<ArchiveFilter>(filter);
  const apply = () => {
    const next: ArchiveFilter = { ...filter };
    for (const { name } of FIELDS) next[name] = typed[name]?.trim() || undefined;
    if (FIELDS.some(({ name }) => next[name] !== filter[name])) onFilter(next);
  };
  return (
    <search>
      <form className="grid grid-cols-2 gap-2 px-3 pb-2 sm:flex sm:flex-wrap sm:items-center" onSubmit={submits(apply)}>
        {FIELDS.map(({ name, label, placeholder, width }) => (
          <Input
            key={name}
            aria-label={label}
            placeholder={placeholder}
            value={typed[name] ?? ""}
            onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
            onBlur={apply}
            className={width}
          />
        ))}
        <div className="col-span-2 flex items-center gap-2">
          {/* Enter in a field submits; a screen reader and a phone need a button for it. */}
          <Button type="submit" size="sm">
            Apply
          </Button>
          {Object.keys(filter).length > 0 ? (
            <Button size="sm" variant="ghost" onClick={() => onFilter({})}>
              Clear
            </Button>
          ) : null}
        </div>
      </form>
    </search>
  );
}
