"use client";

import { useState } from "react";
import { ProbeResult } from "@/components/sources/probe-result";
import { ActionButton } from "@/components/ui/action-button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Checkbox } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useProbe, useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { ConfigForm } from "./config-form";
import { MappingForm } from "./mapping-form";
import { PayloadSchemaField } from "./payload-schema-field";
import { bodyOf, errorsOf, type SourceDraft, type SourceErrors, sourceDraft } from "./source-draft";

/** Edits a source. Its name and kind never change: events and targets carry them. */
export function EditSourceDialog(props: { source: SourceOut; kind: KindOut; onClose: () => void }) {
  const { source, kind, onClose } = props;
  const [draft, setDraft] = useState(() => sourceDraft(source));
  const [needsApproval, setNeedsApproval] = useState(source.needsApproval);
  const [pressed, setPressed] = useState(false);
  const change = useSaveSource(source.name);
  const probe = useProbe();
  const result = bodyOf(draft, kind);
  const failure = change.error ?? probe.error;
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], kind.fields),
    ...(pressed && !result.ok ? result.errors : {}),
  };
  const set = (part: Partial<SourceDraft>) => setDraft({ ...draft, ...part });
  const part = { kind, config: draft.config, errors, onConfig: (config: SourceDraft["config"]) => set({ config }) };

  const save = async () => {
    setPressed(true);
    probe.reset();
    if (!result.ok) return;
    try {
      const mark = needsApproval === source.needsApproval ? {} : { needsApproval };
      await change.mutateAsync({ ...result.body, ...mark });
    } catch {
      return; // shown from `failure`, and beside its fields
    }
    onClose();
    void showToast({ title: `Saved ${source.name}`, tone: "success" });
  };
  const look = () => {
    setPressed(true);
    change.reset();
    if (result.ok) probe.mutate({ name: source.name, config: result.body.config });
  };

  return (
    <Dialog
      title={<span className="wrap-anywhere">Edit {source.name}</span>}
      description={kind.about}
      size="lg"
      onClose={onClose}
      footer={
        <>
          <ActionButton busy={probe.isPending} onClick={look}>
            Probe
          </ActionButton>
          <ActionButton variant="primary" type="submit" form="edit-source" busy={change.isPending}>
            Save
          </ActionButton>
        </>
      }
    >
      <form
        id="edit-source"
        className="grid grid-cols-[minmax(0,1fr)] gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {failure ? <ErrorPanel error={failure} inline title="This was not done" /> : null}
        <ConfigForm {...part} probe={probe.data ? <ProbeResult probe={probe.data} /> : null} />
        <h3 className="border-t border-line pt-3 font-medium">Mapping</h3>
        <MappingForm {...part} samples={probe.data?.sample ?? []} sampledAt={probe.submittedAt} />
        <PayloadSchemaField
          text={draft.payloadSchema}
          error={errors.payloadSchema}
          onText={(payloadSchema) => set({ payloadSchema })}
        />
        <label htmlFor="source-needs-approval" className="flex items-baseline gap-2 border-t border-line pt-3">
          <Checkbox
            id="source-needs-approval"
            className="translate-y-0.5"
            checked={needsApproval}
            onChange={(event) => setNeedsApproval(event.target.checked)}
          />
          <span>
            Needs approval{" "}
            <span className="text-muted">
              each redrive or mend of its events waits until a second person approves it
            </span>
          </span>
        </label>
      </form>
    </Dialog>
  );
}
