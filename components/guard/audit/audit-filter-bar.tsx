"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { submits } from "@/components/ui/use-submit";
import type { AuditFilter } from "@/lib/guard/audit/audit.browser";
import { AUDIT_SUBJECTS, type AuditSubject } from "@/lib/platform/plain/audit-entry.pure";

const SUBJECTS = [
  { value: "", label: "any subject" },
  ...AUDIT_SUBJECTS.map((subject) => ({ value: subject, label: subject })),
];

const BY = [
  { value: "people", label: "by people" },
  { value: "all", label: "by people and Parkade" },
];

/** Suggested actions; any other action can be typed. */
const ACTIONS = [
  "event.parked",
  "event.changed",
  "event.queued",
  "event.ignored",
  "event.released",
  "event.edited",
  "event.restored",
  "event.mended",
  "event.mend-undone",
  "event.exported",
  "event.export-ended",
  "event.imported",
  "event.removed",
  "event.expired",
  "redrive.requested",
  "redrive.paused",
  "redrive.cancelled",
  "control.imposed",
  "control.lifted",
  "data.forgotten",
];

/** A field applies on Enter or when it loses the focus: a log that changes with every letter cannot be read. */
export function AuditFilterBar(props: { filter: AuditFilter; by: string; onFilter: (filter: AuditFilter) => void }) {
  const { filter, by, onFilter } = props;
  const [actor, setActor] = useState(filter.actor ?? "");
  const [action, setAction] = useState(filter.action ?? "");
  const apply = () => {
    const next = { ...filter, actor: actor.trim() || undefined, action: action.trim() || undefined };
    if (next.actor !== filter.actor || next.action !== filter.action) onFilter(next);
  };
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
        value={actor}
        onChange={(event) => setActor(event.target.value)}
        onBlur={apply}
        className="w-36!"
      />
      <Input
        aria-label="Action"
        placeholder="action, e.g. redrive.paused"
        list="audit-actions"
        value={action}
        onChange={(event) => setAction(event.target.value)}
        onBlur={apply}
        className="w-52!"
      />
      <datalist id="audit-actions">
        {ACTIONS.map((known) => (
          <option key={known} value={known} />
        ))}
      </datalist>
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
