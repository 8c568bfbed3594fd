"use client";

import { useState } from "react";
import { Choice, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { failureToast, showToast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { useImposeControl, useLiftControl } from "@/lib/order/controls/controls.browser";
import type { ControlOut, ControlRequest } from "@/lib/order/controls/controls.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { type ControlDraft, controlRequest, draftScope, startingDraft, UNTIL_MINUTES } from "./control-draft";
import { ScopePicker } from "./scope-picker";
import { isOfEverySource, KIND_EFFECT } from "./scope-words";

type ControlDialogProps = {
  kind: ControlRequest["kind"];
  /** The scope that the dialog proposes. */
  scope?: ControlRequest["scope"];
  /** The number of selected events; null = unknown, undefined = none selected. */
  selected?: number | null;
  onClose: () => void;
  /** Called when the control is in force. */
  onDone?: () => void;
};

const KINDS = ["blacklist", "cooldown", "whitelist"] as const;

const UNTIL = UNTIL_MINUTES.map((minutes) => ({ value: String(minutes), label: formatDuration(minutes * 60_000) }));

export function ControlDialog({ kind, scope, selected, onClose, onDone }: ControlDialogProps) {
  const [draft, setDraft] = useState<ControlDraft>(() => startingDraft(kind, scope));
  const impose = useImposeControl();
  const lift = useLiftControl();
  const liftAgain = ({ id, kind }: ControlOut) =>
    void lift
      .mutateAsync({ id, reason: "undone" })
      .then(() => showToast({ title: `The ${kind} is lifted again`, tone: "success" }))
      .catch((error: unknown) => failureToast("It could not be undone", error));
  const set = (part: Partial<ControlDraft>) => setDraft({ ...draft, ...part });

  return (
    <ReasonDialog
      needs="control"
      everySource={isOfEverySource(draftScope(draft))}
      title={KIND_TITLE[draft.kind]}
      description={KIND_EFFECT[draft.kind]}
      verb={KIND_TITLE[draft.kind]}
      variant={draft.kind === "blacklist" ? "danger" : "primary"}
      reasonHint="Shown beside every event it catches, and kept in the audit."
      onClose={onClose}
      onSubmit={async (reason) => {
        const result = controlRequest(draft, reason, Date.now());
        if (!result.ok) return "stay";
        const imposed = await impose.mutateAsync(result.request);
        onDone?.();
        return {
          title: `${KIND_DONE[draft.kind]} ${draft.scopeValue.trim()}`,
          detail: underWayWords(imposed.underWay),
          tone: "success",
          action: { label: "Undo", onSelect: () => liftAgain(imposed) },
        };
      }}
    >
      {(pressed) => {
        const result = controlRequest(draft, "", Date.now());
        const errors = pressed && !result.ok ? result.errors : {};
        return (
          <>
            <Choice
              label="Kind"
              className="flex flex-wrap gap-x-6 gap-y-1"
              options={KINDS.map((value) => ({ value, label: value }))}
              value={draft.kind}
              onChange={(kind) => set({ kind, ...untilFor(kind, draft.until) })}
            />
            <ScopePicker scope={draft} selected={selected ?? null} error={errors.scopeValue} onChange={set} />
            <Until draft={draft} set={set} error={errors.until} />
          </>
        );
      }}
    </ReasonDialog>
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

type Until = { draft: ControlDraft; set: (part: Partial<ControlDraft>) => void; error: string | undefined };

function Until({ draft, set, error }: Until) {
  const never = draft.kind === "cooldown" ? [] : [{ value: "never", label: "until lifted" }];
  const options = [...never, ...UNTIL, { value: "at", label: "until a time…" }];
  return (
    <div className="flex flex-wrap items-start gap-3">
      <SelectField
        label="How long"
        error={draft.until === "at" ? undefined : error}
        options={options}
        value={draft.until}
        onValue={(until) => set({ until })}
      />
      {draft.until === "at" ? (
        <TextField
          label="Until, in the time of this machine"
          error={error}
          type="datetime-local"
          value={draft.untilAt}
          onValue={(untilAt) => set({ untilAt })}
        />
      ) : null}
    </div>
  );
}
