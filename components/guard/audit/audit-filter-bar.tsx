"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { submits } from "@/components/ui/use-submit";
import type { AuditFilter } from "@/lib/guard/audit/audit.browser";
import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import { AUDIT_SUBJECTS, type AuditSubject } from "@/lib/platform/plain/audit-entry.pure";
import { actionOptions } from "./audit-words";

const SUBJECTS = [
  { value: "", label: "any subject" },
  ...AUDIT_SUBJECTS.map((subject) => ({ value: subject, label: subject })),
];

const BY = [
  { value: "people", label: "by people" },
  { value: "all", label: "by people and Parkade" },
];

/** A typed name applies on Enter or when its field loses the focus: a log that changes with every letter cannot be read. */
export function AuditFilterBar(props: {
  filter: AuditFilter;
  by: string;
  /** The entries that are shown: their actors and actions can be chosen. */
  entries: readonly AuditOut[];
  onFilter: (filter: AuditFilter) => void;
}) {
  const { filter, by, entries, onFilter } = props;
  const [actor, setActor] = useState(filter.actor ?? "");
  const apply = () => {
    const next = actor.trim() || undefined;
    if (next !== filter.actor) onFilter({ ...filter, actor: next });
  };
  const actions = actionOptions([...entries.map(({ action }) => action), ...(filter.action ? [filter.action] : [])]);
  return (
    <form className="flex flex-wrap items-center gap-2 px-3 pb-2" onSubmit={submits(apply)}>
      <Select
        aria-label="By"
        options={BY}
        value={by}
        onChange={(event) => onFilter({ ...filter, by: event.target.value })}
      />
      <Input
        aria-label="Actor"
        placeholder="actor"
        list="audit-actors"
        value={actor}
        onChange={(event) => setActor(event.target.value)}
        onBlur={apply}
        className="w-36!"
      />
      <datalist id="audit-actors">
        {[...new Set(entries.map((entry) => entry.actor))].map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
      <Select
        aria-label="Action"
        options={[{ value: "", label: "any action" }, ...actions]}
        value={filter.action ?? ""}
        onChange={(event) => onFilter({ ...filter, action: event.target.value || undefined })}
      />
      <Select
        aria-label="Subject"
        options={SUBJECTS}
        value={filter.subjectKind ?? ""}
        onChange={(event) =>
          onFilter({ ...filter, subjectKind: (event.target.value || undefined) as AuditSubject | undefined })
        }
      />
      {/* Enter in a field submits; a screen reader and a phone need a button for it. */}
      <Button type="submit" size="sm">
        Apply
      </Button>
      {Object.keys(filter).length > 0 ? (
        <Button size="sm" variant="ghost" onClick={() => onFilter({})}>
          Clear
        </Button>
      ) : null}
    </form>
  );
}
