"use client";

import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { showToast } from "@/components/ui/toast";
import { useCreateSource, useProbe, useSaveSource } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";
import { ProbeResult } from "./probe-result";
import { errorsOf, type SourceErrors, sourceBody, sourceDraft } from "./source-draft";
import { Check, type FieldsProps, Further, HttpFields, NameAndKind, RabbitFields } from "./source-fields";

/** Creates or edits a source. Its name and kind never change: events and targets carry them. */
export function SourceDialog({ source, onClose }: { source: SourceOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => sourceDraft(source));
  const [pressed, setPressed] = useState(false);
  const create = useCreateSource();
  const change = useSaveSource(source?.name ?? "");
  const probe = useProbe();
  const result = sourceBody(draft);
  const failure = create.error ?? change.error ?? probe.error;
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], draft.kind),
    ...(pressed && !result.ok ? result.errors : {}),
  };
  const part: FieldsProps = { draft, errors, set: (next) => setDraft({ ...draft, ...next }) };

  const save = async () => {
    setPressed(true);
    if (!result.ok) return;
    const { name, kind, ...settings } = result.source;
    try {
      if (source === null) await create.mutateAsync({ name, kind, ...settings });
      else await change.mutateAsync(settings);
    } catch {
      return; // shown from `failure`, and beside its fields
    }
    onClose();
    void showToast({ title: source === null ? `Connected ${name}` : `Saved ${name}`, tone: "success" });
  };
  const look = () => {
    setPressed(true);
    if (result.ok) probe.mutate({ kind: result.source.kind, config: result.source.config });
  };

  return (
    <Dialog
      title={source === null ? "Connect a source" : `Edit ${source.name}`}
      description="Secrets stay in the environment: write env:PARKADE_SECRET_NAME instead of a password."
      onClose={onClose}
      footer={
        <>
          {/* The server knows masked values only by the stored source, so an edited source is probed from its card. */}
          {source === null ? (
            <ActionButton busy={probe.isPending} onClick={look}>
              Probe
            </ActionButton>
          ) : null}
          <ActionButton variant="primary" type="submit" form="source" busy={create.isPending || change.isPending}>
            {source === null ? "Connect" : "Save"}
          </ActionButton>
        </>
      }
    >
      <form
        id="source"
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {failure ? <ErrorPanel error={failure} inline title="This was not done" /> : null}
        {source === null ? <NameAndKind {...part} /> : null}
        {draft.kind === "http" ? <HttpFields {...part} /> : <RabbitFields {...part} />}
        <Further {...part} />
        <Check
          label="Take dead letters from it"
          checked={draft.enabled}
          onChecked={(enabled) => part.set({ enabled })}
        />
        {probe.data ? <ProbeResult probe={probe.data} /> : null}
      </form>
    </Dialog>
  );
}
