"use client";

import { useState } from "react";
import { SwitchRuleDialog } from "@/components/rules/rule-dialogs";
import { SelectField } from "@/components/ui/select";
import { REDRIVE_RULE_NEEDS, ruleTerms } from "@/lib/rules/redrive-rule.pure";
import { redriveRules, useRedriveRuleTrial } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut, RedriveRuleTry } from "@/lib/rules/redrive-rules.shapes";
import { TrialView } from "./trial-view";

type Props = { rule: RedriveRuleOut; onClose: () => void };

/** Switches a rule on, after it was tried against the past. */
export function SwitchOnDialog({ rule, onClose }: Props) {
  const { id, version } = rule;
  const change = redriveRules.usePatch(rule.id);
  const [days, setDays] = useState(7);
  const trial = useRedriveRuleTrial({ rule: ruleTerms(rule) as RedriveRuleTry["rule"], id, days });
  return (
    <SwitchRuleDialog
      needs={REDRIVE_RULE_NEEDS}
      everySource={rule.filter.source === undefined}
      rule={rule}
      description="A worker starts within seconds. The rule makes ordinary redrives: controls, order, limits and the brake apply."
      ready={() => trial.data !== undefined}
      onSwitch={(reason) => change.mutateAsync({ enabled: true, trial: trial.data!.id, version, reason })}
      onClose={onClose}
    >
      <SelectField
        label="Tested against"
        value={String(days)}
        options={[1, 7, 30].map((count) => ({
          value: String(count),
          label: count === 1 ? "the last 24 hours" : `the last ${count} days`,
        }))}
        onValue={(value) => setDays(Number(value))}
      />
      <TrialView trial={trial} days={days} />
    </SwitchRuleDialog>
  );
}

export function SwitchOffDialog({ rule, onClose }: Props) {
  const change = redriveRules.usePatch(rule.id);
  return (
    <SwitchRuleDialog
      needs={REDRIVE_RULE_NEEDS}
      everySource={rule.filter.source === undefined}
      rule={rule}
      description="The rule starts no more redrives. Redrives it already started continue: pause or cancel them on their pages."
      stops
      onSwitch={(reason) => change.mutateAsync({ enabled: false, reason })}
      onClose={onClose}
    />
  );
}
