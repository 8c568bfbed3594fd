"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { CodeField, TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut, TargetOut } from "@/lib/sources/sources.shapes";
import { useChangeTarget } from "@/lib/sources/targets/targets.browser";
import {
  CONTRACT_FIELDS,
  CRITICALITY,
  contractDraft,
  contractOf,
  SOURCE_CONTRACT_FIELDS,
  sourceContractDraft,
  sourceContractOf,
} from "./contract-draft";

const SEMANTICS = [
  { value: "", label: "not promised" },
  { value: "at-most-once", label: "at most once" },
  { value: "at-least-once", label: "at least once" },
  { value: "effectively-once", label: "effectively once" },
];

const GRID = "grid items-start gap-4 sm:grid-cols-2";

function Numbers<Name extends string>(props: {
  fields: readonly { name: Name; label: string; hint: string }[];
  form: Pick<Form<Record<Name, string>>, "text">;
}) {
  return props.fields.map(({ name, ...field }) => (
    <TextField key={name} {...props.form.text(name)} {...field} inputMode="decimal" />
  ));
}

/** The numbers of a contract, in the order in which a policy is designed. */
export function ContractDialog({ target, onClose }: { target: TargetOut; onClose: () => void }) {
  const save = useChangeTarget(target.name);
  return (
    <DraftDialog
      needs="change-target"
      title={`Contract of ${target.name}`}
      description="What the target guarantees and what its callers expect. Empty fields: no guarantee, or the default. A contract does not change sends; a report checks it."
      size="lg"
      verb="Save"
      keep="Close"
      initial={() => contractDraft(target.contract)}
      request={contractOf}
      save={async (contract, reason) => {
        await save.mutateAsync({ contract, reason });
        return `Changed the contract of ${target.name}`;
      }}
      onClose={onClose}
    >
      {(form) => (
        <div className={GRID}>
          <SelectField {...form.text("semantics")} label="Semantics" options={SEMANTICS} />
          <SelectField {...form.text("criticality")} label="Criticality" options={CRITICALITY} />
          <Numbers fields={CONTRACT_FIELDS} form={form} />
        </div>
      )}
    </DraftDialog>
  );
}

/** What is promised of the dead letters of a source, in the order in which a policy is designed. */
export function SourceContractDialog({ source, onClose }: { source: SourceOut; onClose: () => void }) {
  const save = useSaveSource(source.name);
  return (
    <DraftDialog
      needs="change-source"
      title={<span className="wrap-anywhere">Contract of {source.name}</span>}
      description="What is guaranteed for its dead letters and what its callers expect. Empty fields: no guarantee, or the default. A contract does not change sends; a report checks it."
      size="lg"
      verb="Save"
      keep="Close"
      initial={() => sourceContractDraft(source.contract)}
      request={sourceContractOf}
      errorsOf={(fields) => {
        const callers = fields.filter(({ field }) => field.startsWith("contract.callers"));
        return { callers: callers.map(({ detail }) => detail).join("; ") || undefined };
      }}
      save={async (contract, reason) => {
        await save.mutateAsync({ contract, reason });
        return `Changed the contract of ${source.name}`;
      }}
      onClose={onClose}
    >
      {(form) => (
        <div className={GRID}>
          <Numbers fields={SOURCE_CONTRACT_FIELDS} form={form} />
          <SelectField
            {...form.text("criticality")}
            label="Criticality"
            hint="critical: it must have callers, and its deadline must be before theirs"
            options={CRITICALITY}
          />
          <CodeField
            {...form.text("callers")}
            label="Callers, one per line"
            hint="sources and targets whose work waits for this source"
            rows={3}
          />
        </div>
      )}
    </DraftDialog>
  );
}
