"use client";

import { useState } from "react";
import { ProbeResult } from "@/components/sources/probe-result";
import { ActionButton } from "@/components/ui/action-button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Tick } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { submits } from "@/components/ui/use-submit";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { ConfigForm } from "./config-form";
import { MappingForm } from "./mapping-form";
import { SettingsFields } from "./settings-fields";
import { type SourceDraft, sourceDraft } from "./source-draft";
import { useSourceForm } from "./use-source-form";

/** Edits a source. Its name and kind never change: events and targets carry them. */
export function EditSourceDialog(props: { source: SourceOut; kind: KindOut; onClose: () => void }) {
  const { source, kind, onClose } = props;
  const [needsApproval, setNeedsApproval] = useState(source.needsApproval);
  const change = useSaveSource(source.name);
  const form = useSourceForm(() => sourceDraft(source), [kind], change);
  const { draft, set, result, errors, failure, probe } = form;
  const part = { kind, config: draft.config, errors, onConfig: (config: SourceDraft["config"]) => set({ config }) };

  const save = async () => {
    form.setPressed(true);
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

  return (
    <Dialog
      title={<span className="wrap-anywhere">Edit {source.name}</span>}
      description={kind.about}
      size="lg"
      onClose={onClose}
      footer={
        <>
          <ActionButton needs="change-source" busy={probe.isPending} onClick={() => form.look({ name: source.name })}>
            Probe
          </ActionButton>
          <ActionButton
            needs="change-source"
            variant="primary"
            type="submit"
            form="edit-source"
            busy={change.isPending}
          >
            Save
          </ActionButton>
        </>
      }
    >
      <form id="edit-source" className="grid grid-cols-[minmax(0,1fr)] gap-4" onSubmit={submits(save)}>
        {failure ? <ErrorPanel error={failure} inline title="Request failed" /> : null}
        <ConfigForm {...part} probe={probe.data ? <ProbeResult probe={probe.data} /> : null} />
        <h3 className="border-t border-line pt-3 font-medium">Mapping</h3>
        <MappingForm {...part} samples={probe.data?.sample ?? []} sampledAt={probe.submittedAt} />
        <SettingsFields form={form} kind={kind} />
        <Tick
          className="border-t border-line pt-3"
          label="Needs approval"
          hint="each redrive or mend of its events waits until a second person approves it"
          checked={needsApproval}
          onChecked={setNeedsApproval}
        />
      </form>
    </Dialog>
  );
}
