"use client";

import { useState } from "react";
import { CodeTextarea, Field, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import type { SourceContract } from "@/lib/sources/contracts/source-contract.pure";
import { useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { CRITICALITY } from "./contract-draft";
import { SOURCE_CONTRACT_FIELDS, sourceContractDraft, sourceContractOf } from "./source-contract-draft";

/** What is promised of the dead letters of a source, in the order in which a policy is designed. */
export function SourceContractDialog({ source, onClose }: { source: SourceOut; onClose: () => void }) {
  const [draft, setDraft] = useState(() => sourceContractDraft(source.contract));
  const save = useSaveSource(source.name);
  const result = sourceContractOf(draft);
  return (
    <ReasonDialog
      needs="change-source"
      title={<span className="wrap-anywhere">Contract of {source.name}</span>}
      description="What is promised of its dead letters, and what its callers expect. Empty: not promised, or the default. It changes no send: a report checks it."
      size="lg"
      verb="Save"
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        if ("errors" in result) return "stay";
        await save.mutateAsync({ contract: result.contract, reason });
        return { title: `Changed the contract of ${source.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const errors = pressed && "errors" in result ? result.errors : {};
        const refused = save.error?.fields.filter(({ field }) => field.startsWith("contract.callers")) ?? [];
        const callersError = refused.map(({ detail }) => detail).join("; ") || undefined;
        return (
          <div className="grid items-start gap-4 sm:grid-cols-2">
            {SOURCE_CONTRACT_FIELDS.map(({ name, label, hint }) => (
              <TextField
                key={name}
                label={label}
                hint={hint}
                inputMode="decimal"
                error={errors[name]}
                value={draft[name]}
                onValue={(value) => setDraft({ ...draft, [name]: value })}
              />
            ))}
            <SelectField
              label="Criticality"
              hint="critical: it must have callers, and end before each of them"
              options={CRITICALITY}
              value={draft.criticality}
              onValue={(value) => setDraft({ ...draft, criticality: value as SourceContract["criticality"] })}
            />
            <Field
              label="Callers, one a line"
              hint="sources and targets whose work waits for this source"
              error={callersError}
            >
              {(control) => (
                <CodeTextarea
                  {...control}
                  rows={3}
                  value={draft.callers}
                  onChange={(event) => setDraft({ ...draft, callers: event.target.value })}
                />
              )}
            </Field>
          </div>
        );
      }}
    </ReasonDialog>
  );
}
