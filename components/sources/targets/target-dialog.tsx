"use client";

import { type ComponentProps, useState } from "react";
import { TextField, Tick } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useChangeTarget } from "@/lib/sources/targets/targets.browser";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";
import { changesSomething, type TargetDraft, targetChange, targetDraft } from "./target-draft";

/** Changes rate, burst, bulkhead and policy of a target, also for running redrives. */
export function TargetDialog(props: {
  target: TargetOut;
  /** Names of the other targets; the server refuses a target of another kind. */
  others: readonly string[];
  policies: PolicyOut[] | undefined;
  onClose: () => void;
}) {
  const { target, others, policies, onClose } = props;
  const [draft, setDraft] = useState(() => targetDraft(target));
  const save = useChangeTarget(target.name);
  const set = (part: Partial<TargetDraft>) => setDraft({ ...draft, ...part });
  const names = new Set([target.policyName, ...(policies ?? []).map((policy) => policy.name)]);

  return (
    <ReasonDialog
      needs="change-target"
      title={`Edit ${target.name}`}
      description="Takes effect at once for everything that sends there, running redrives included."
      verb="Save"
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        const result = targetChange(target, draft, reason);
        if (!result.ok) return "stay";
        if (!changesSomething(result.change)) return;
        await save.mutateAsync(result.change);
        return { title: `Changed ${target.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const result = targetChange(target, draft, "");
        const part: Part = { draft, set, errors: pressed && !result.ok ? result.errors : {} };
        return (
          <>
            <PaceFields {...part} />
            <FallbackFields {...part} target={target} others={others} />
            <SelectField
              label="Policy"
              options={[...names].map((name) => ({ value: name, label: name }))}
              value={draft.policyName}
              onValue={(policyName) => set({ policyName })}
            />
            <Tick
              checked={draft.retryable}
              onChecked={(retryable) => set({ retryable })}
              label="May be repeated automatically"
              hint="Only for a target that honours the Idempotency-Key or does no harm twice."
            />
            <Tick
              checked={draft.needsApproval}
              onChecked={(needsApproval) => set({ needsApproval })}
              label="Needs approval"
              hint="Each redrive to it waits until a second person approves it."
            />
          </>
        );
      }}
    </ReasonDialog>
  );
}

type Part = {
  draft: TargetDraft;
  errors: Partial<Record<string, string>>;
  set: (part: Partial<TargetDraft>) => void;
};

type NumberName = "rate" | "burst" | "bulkhead" | "warmUp" | "deferMinutes";

function NumberField(
  props: Part &
    Pick<ComponentProps<typeof TextField>, "label" | "hint" | "inputMode" | "disabled" | "placeholder"> & {
      name: NumberName;
    },
) {
  const { draft, errors, set, name, ...field } = props;
  return (
    <TextField
      inputMode="decimal"
      {...field}
      error={errors[name]}
      value={name === "rate" && draft.unlimited ? "" : draft[name]}
      onValue={(value) => set({ [name]: value })}
    />
  );
}

function PaceFields(part: Part) {
  const { draft, set } = part;
  return (
    <>
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        <NumberField
          {...part}
          name="rate"
          label="Rate, events per second"
          disabled={draft.unlimited}
          placeholder={draft.unlimited ? "unlimited" : undefined}
        />
        <NumberField
          {...part}
          name="warmUp"
          label="Warm-up, seconds"
          hint="from a third of the rate"
          disabled={draft.unlimited}
        />
        <NumberField {...part} name="burst" label="Burst, events" hint="empty: by the rate" />
        <NumberField
          {...part}
          name="bulkhead"
          label="Bulkhead, permits"
          hint="calls at once, a worker"
          inputMode="numeric"
        />
      </div>
      <Tick
        checked={draft.unlimited}
        onChecked={(unlimited) => set({ unlimited })}
        label="No rate limit"
        hint="Only the bulkhead and the target itself slow it down."
      />
      <Tick
        checked={draft.noBursts}
        onChecked={(noBursts) => set({ noBursts })}
        label="No bursts"
        hint="One send after the other at an even rate, also after a rest."
      />
    </>
  );
}

function FallbackFields(props: Part & { target: TargetOut; others: readonly string[] }) {
  const { target, others, ...part } = props;
  const { draft, set } = part;
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <div className="sm:col-span-2">
        <SelectField
          label="When it cannot take events"
          hint="breaker open, unreachable, or no retry budget"
          options={fallbackOptions(target, others)}
          value={draft.fallback}
          onValue={(fallback) => set({ fallback })}
        />
      </div>
      {draft.fallback === "defer" ? (
        <NumberField {...part} name="deferMinutes" label="Look again after, minutes" />
      ) : null}
    </div>
  );
}

function fallbackOptions(target: TargetOut, others: readonly string[]) {
  return [
    { value: "none", label: "wait, then refuse" },
    { value: "defer", label: "wait and look again" },
    ...(target.lane === "slow" ? [] : [{ value: "slow-lane", label: `send to the slow lane of ${target.source}` }]),
    ...others.map((name) => ({ value: `target:${name}`, label: `send to ${name}` })),
  ];
}
