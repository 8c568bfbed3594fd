"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { TextField, Tick } from "@/components/ui/input";
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
  const save = useChangeTarget(target.name);
  const names = new Set([target.policyName, ...(policies ?? []).map((policy) => policy.name)]);
  return (
    <DraftDialog
      needs="change-target"
      title={`Edit ${target.name}`}
      description="Takes effect at once for everything that sends there, including running redrives."
      verb="Save"
      keep="Close"
      initial={() => targetDraft(target)}
      request={(draft, reason) => targetChange(target, draft, reason)}
      save={async (change) => {
        if (!changesSomething(change)) return null;
        await save.mutateAsync(change);
        return `Changed ${target.name}`;
      }}
      onClose={onClose}
    >
      {(form) => (
        <>
          <PaceFields {...form} />
          <div className="grid gap-4 sm:grid-cols-3">
            <div className="sm:col-span-2">
              <SelectField
                {...form.text("fallback")}
                label="When it cannot accept events"
                hint="breaker open, unreachable, or no retry budget"
                options={fallbackOptions(target, others)}
              />
            </div>
            {form.draft.fallback === "defer" ? (
              <TextField {...form.text("deferMinutes")} label="Check again after (minutes)" inputMode="decimal" />
            ) : null}
          </div>
          <SelectField
            {...form.text("policyName")}
            label="Policy"
            options={[...names].map((name) => ({ value: name, label: name }))}
          />
          <Tick
            {...form.tick("retryable")}
            label="Automatic retries"
            hint="Only for a target that honours the Idempotency-Key, or where a repeat is harmless."
          />
          <Tick
            {...form.tick("needsApproval")}
            label="Needs approval"
            hint="Each redrive to it waits until a second person approves it."
          />
        </>
      )}
    </DraftDialog>
  );
}

function PaceFields({ draft: { unlimited }, text, tick }: Form<TargetDraft>) {
  return (
    <>
      <div className="grid grid-cols-2 gap-4 sm:grid-cols-4">
        <TextField
          {...text("rate")}
          {...(unlimited && { value: "", placeholder: "unlimited" })}
          label="Rate, events per second"
          inputMode="decimal"
          disabled={unlimited}
        />
        <TextField
          {...text("warmUp")}
          label="Warm-up, seconds"
          hint="from a third of the rate"
          inputMode="decimal"
          disabled={unlimited}
        />
        <TextField {...text("burst")} label="Burst, events" hint="empty: derived from the rate" inputMode="decimal" />
        <TextField
          {...text("bulkhead")}
          label="Parallel sends per worker"
          hint="bulkhead permits"
          inputMode="numeric"
        />
      </div>
      <Tick
        {...tick("unlimited")}
        label="No rate limit"
        hint="Only the limit on parallel sends and the target itself slow it down."
      />
      <Tick {...tick("noBursts")} label="No bursts" hint="Sends at an even rate, even after idle time." />
    </>
  );
}

function fallbackOptions(target: TargetOut, others: readonly string[]) {
  return [
    { value: "none", label: "wait, then refuse" },
    { value: "defer", label: "wait and check again" },
    ...(target.lane === "slow" ? [] : [{ value: "slow-lane", label: `send to the slow lane of ${target.source}` }]),
    ...others.map((name) => ({ value: `target:${name}`, label: `send to ${name}` })),
  ];
}
