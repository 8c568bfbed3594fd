"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import type { Contract } from "@/lib/sources/contracts/contract.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useChangeTarget } from "@/lib/sources/targets/targets.browser";
import { CONTRACT_FIELDS, CRITICALITY, contractDraft, contractOf } from "./contract-draft";

const SEMANTICS = [
  { value: "", label: "not promised" },
  { value: "at-most-once", label: "at most once" },
  { value: "at-least-once", label: "at least once" },
  { value: "effectively-once", label: "effectively once" },
];

/** The numbers of a contract, in the order in which a policy is designed. */
export function ContractDialog({ target, onClose }: { target: TargetOut; onClose: () => void }) {
  const [draft, setDraft] = useState(() => contractDraft(target.contract));
  const save = useChangeTarget(target.name);
  const result = contractOf(draft);
  return (
    <ReasonDialog
      needs="change-target"
      title={`Contract of ${target.name}`}
      description="What it promises, and what its callers expect. Empty: not promised, or the default. A contract changes no send: a report checks it."
      size="lg"
      verb="Save"
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        if ("errors" in result) return "stay";
        await save.mutateAsync({ contract: result.contract, reason });
        return { title: `Changed the contract of ${target.name}`, tone: "success" };
      }}
    >
      {(pressed) => (
        <div className="grid items-start gap-4 sm:grid-cols-2">
          <SelectField
            label="Semantics"
            options={SEMANTICS}
            value={draft.semantics ?? ""}
            onValue={(value) =>
              setDraft({ ...draft, semantics: value === "" ? null : (value as Contract["semantics"]) })
            }
          />
          <SelectField
            label="Criticality"
            options={CRITICALITY}
            value={draft.criticality}
            onValue={(value) => setDraft({ ...draft, criticality: value as Contract["criticality"] })}
          />
          {CONTRACT_FIELDS.map(({ name, label, hint }) => (
            <TextField
              key={name}
              label={label}
              hint={hint}
              inputMode="decimal"
              error={pressed && "errors" in result ? result.errors[name] : undefined}
              value={draft[name]}
              onValue={(value) => setDraft({ ...draft, [name]: value })}
            />
          ))}
        </div>
      )}
    </ReasonDialog>
  );
}
