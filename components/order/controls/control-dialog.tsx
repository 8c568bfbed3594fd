"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { Choice, TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { failureToast, showToast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { useImposeControl, useLiftControl } from "@/lib/order/controls/controls.browser";
import type { ControlOut, ControlRequest } from "@/lib/order/controls/controls.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { type ControlDraft, controlRequest, draftScope, startingDraft, UNTIL_MINUTES } from "./control-draft";
import { ScopePicker } from "./scope-picker";
import { isOfEverySource, KIND_EFFECT, scopeOf } from "./scope-words";

type ControlDialogProps = {
  /** Absent = it is chosen in the dialog. */
  kind?: ControlRequest["kind"];
  scope?: ControlRequest["scope"];
  /** The number of selected events; null = unknown, undefined = none selected. */
  selected?: number | null;
  onClose: () => void;
  /** Called when the control is in force. */
  onDone?: () => void;
};

const KINDS = ["blacklist", "cooldown", "whitelist"] as const;

const UNTIL = UNTIL_MINUTES.map((minutes) => ({ value: String(minutes), label: formatDuration(minutes * 60_000) }));

export function ControlDialog({ kind: given, scope, selected, onClose, onDone }: ControlDialogProps) {
  const kind = given ?? "blacklist";
  const impose = useImposeControl();
  const lift = useLiftControl();
  const liftAgain = ({ id, kind }: ControlOut) =>
    void lift
      .mutateAsync({ id, reason: "undone" })
      .then(() => showToast({ title: `The ${kind} was lifted`, tone: "success" }))
      .catch((error: unknown) => failureToast("Undo failed", error));
  return (
    <DraftDialog
      needs="control"
      title={KIND_TITLE[kind]}
      verb={KIND_TITLE[kind]}
      by={(draft) => ({
        everySource: isOfEverySource(draftScope(draft)),
        title: KIND_TITLE[draft.kind],
        description: KIND_EFFECT[draft.kind],
        verb: KIND_TITLE[draft.kind],
        variant: draft.kind === "blacklist" ? "danger" : "primary",
      })}
      reasonHint="Shown on every event that it matches, and recorded in the audit log."
      initial={() => startingDraft(kind, scope)}
      request={(draft, reason) => controlRequest(draft, reason, Date.now())}
      save={async (request) => {
        const imposed = await impose.mutateAsync(request);
        onDone?.();
        return {
          title: `${KIND_DONE[request.kind]} ${scopeOf(request.scope)?.value}`,
          detail: underWayWords(imposed.underWay),
          tone: "success",
          action: { label: "Undo", onSelect: () => liftAgain(imposed) },
        };
      }}
      onClose={onClose}
    >
      {(form) => (
        <>
          {given === undefined ? (
            <Choice
              label="Kind"
              className="flex flex-wrap gap-x-6 gap-y-1"
              options={KINDS.map((value) => ({ value, label: value }))}
              value={form.draft.kind}
              onChange={(chosen) => form.set({ kind: chosen, ...untilFor(chosen, form.draft.until) })}
            />
          ) : null}
          <ScopePicker {...form} selected={selected ?? null} />
          <Until {...form} />
        </>
      )}
    </DraftDialog>
  );
}

const KIND_TITLE: Record<ControlRequest["kind"], string> = {
  blacklist: "Blacklist",
  cooldown: "Cool down",
  whitelist: "Whitelist",
};

const KIND_DONE: Record<ControlRequest["kind"], string> = {
  blacklist: "Blacklisted",
  cooldown: "Cooling down",
  whitelist: "Whitelisted",
};

/** A cooldown must end; a blacklist and a whitelist keep the chosen end. */
function untilFor(kind: ControlRequest["kind"], until: string): Pick<ControlDraft, "until"> {
  return { until: kind === "cooldown" && until === "never" ? "60" : until };
}

function Until({ draft, errors, text }: Form<ControlDraft>) {
  const never = draft.kind === "cooldown" ? [] : [{ value: "never", label: "until lifted" }];
  const options = [...never, ...UNTIL, { value: "at", label: "until a time…" }];
  const at = draft.until === "at";
  return (
    <div className="flex flex-wrap items-start gap-3">
      <SelectField {...text("until")} label="How long" error={at ? undefined : errors.until} options={options} />
      {at ? (
        <TextField
          {...text("untilAt")}
          label="Until, in this browser's time zone"
          error={errors.until}
          type="datetime-local"
        />
      ) : null}
    </div>
  );
}
