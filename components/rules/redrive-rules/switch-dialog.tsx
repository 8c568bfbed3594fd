"use client";

import { useState } from "react";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { Select } from "@/components/ui/select";
import { ruleTerms } from "@/lib/rules/redrive-rule.pure";
import { useChangeRedriveRule, useRedriveRuleTrial } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut, RedriveRuleTry } from "@/lib/rules/redrive-rules.shapes";
import { TrialView } from "./trial-view";

/** Switches a rule on, after it was tried against the past. */
export function SwitchOnDialog({ rule, onClose }: { rule: RedriveRuleOut; onClose: () => void }) {
  const change = useChangeRedriveRule();
  const [days, setDays] = useState(7);
  const request: RedriveRuleTry = { rule: ruleTerms(rule) as RedriveRuleTry["rule"], id: rule.id, days };
  const trial = useRedriveRuleTrial(request);
  return (
    <ReasonDialog
      title={`Switch on: ${rule.name}`}
      description="A worker begins within seconds. What it asks for are ordinary redrives: controls, order, limits and the brake hold."
      size="md"
      verb="Switch on"
      ready={() => trial.data !== undefined}
      onClose={onClose}
      onSubmit={async (reason) => {
        const tried = trial.data!.id;
        await change.mutateAsync({
          id: rule.id,
          change: { enabled: true, trial: tried, version: rule.version, reason },
        });
        return { title: `${rule.name} is on`, tone: "success" };
      }}
    >
      <Field label="Tried against">
        {(control) => (
          <Select
            {...control}
            value={String(days)}
            options={[1, 7, 30].map((count) => ({
              value: String(count),
              label: count === 1 ? "the last 24 hours" : `the last ${count} days`,
            }))}
            onChange={(event) => setDays(Number(event.target.value))}
          />
        )}
      </Field>
      {trial.isError ? (
        <ErrorPanel error={trial.error} inline onRetry={() => trial.refetch()} title="Not tried" />
      ) : (
        <TrialView trial={trial.data} days={days} />
      )}
    </ReasonDialog>
  );
}

export function SwitchOffDialog({ rule, onClose }: { rule: RedriveRuleOut; onClose: () => void }) {
  const change = useChangeRedriveRule();
  return (
    <ReasonDialog
      title={`Switch off: ${rule.name}`}
      description="The rule starts no more redrives. Redrives it already started continue: pause or cancel them on their pages."
      size="sm"
      verb="Switch off"
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        await change.mutateAsync({ id: rule.id, change: { enabled: false, reason } });
        return { title: `${rule.name} is off`, tone: "success" };
      }}
    />
  );
}
