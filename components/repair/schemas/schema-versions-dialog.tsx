"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { DiffView } from "@/components/repair/editor/diff-view";
import { ReadError } from "@/components/ui/error-panel";
import { CodeTextarea } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import type { SchemaVersion } from "@/lib/sources/schemas/payload-schemas.shapes";
import { changeSchema, useSchema } from "@/lib/sources/schemas/schemas.browser";
import { typeWords } from "./schema-words";

/** The versions of one event type: what differs, which one is in force, and none. */
export function SchemaVersionsDialog({ of, onClose }: { of: SchemaVersion; onClose: () => void }) {
  const client = useQueryClient();
  const newest = useSchema(of.id);
  const versions = newest.data?.versions ?? [];
  const [chosen, setChosen] = useState(of.id);
  const [other, setOther] = useState<string | null>(null);
  const shown = useSchema(chosen);
  const before = useSchema(other ?? versions.find(({ id }) => id !== chosen)?.id ?? null);
  const isCurrent = versions.find(({ id }) => id === chosen)?.current ?? of.current;
  const nameOf = ({ version, current }: SchemaVersion) => `version ${version}${current ? ", current" : ""}`;
  const options = versions.map((version) => ({ value: version.id, label: nameOf(version) }));
  return (
    <ReasonDialog
      needs="change-source"
      title={<span className="wrap-anywhere">{`Versions of the schema of ${typeWords(of.eventType)}`}</span>}
      description={
        isCurrent
          ? "If you retire it, no version is current: events of this type are then checked against the schema for all other types, if there is one."
          : "Workers use the new version for the next events that they claim."
      }
      size="lg"
      verb={isCurrent ? "Retire this schema" : "Make current"}
      variant={isCurrent ? "danger" : "primary"}
      keep="Close"
      ready={() => shown.data !== undefined}
      onClose={onClose}
      onSubmit={async (reason) => {
        const changed = await changeSchema(client, chosen, { current: !isCurrent, reason });
        return { title: isCurrent ? "The schema is retired" : `Version ${changed.version} is now current` };
      }}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
        <ReadError read={newest} stale={versions.length > 0} />
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField label="Version" options={options} value={chosen} onValue={setChosen} />
          {versions.length > 1 ? (
            <SelectField label="Compared with" options={options} value={before.data?.id ?? ""} onValue={setOther} />
          ) : null}
        </div>
        {shown.data && before.data ? (
          <DiffView
            before={JSON.stringify(before.data.schema, null, 2)}
            after={JSON.stringify(shown.data.schema, null, 2)}
            names={[`version ${before.data.version}`, `version ${shown.data.version}`]}
            language="json"
          />
        ) : shown.data && versions.length === 1 ? (
          <CodeTextarea
            aria-label="JSON Schema"
            readOnly
            rows={14}
            value={JSON.stringify(shown.data.schema, null, 2)}
          />
        ) : null}
        {shown.data?.reason ? (
          <p className="text-sm wrap-anywhere text-muted">
            {shown.data.createdBy}: {shown.data.reason}
          </p>
        ) : null}
      </div>
    </ReasonDialog>
  );
}
