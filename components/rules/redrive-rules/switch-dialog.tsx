"use client";

import { useState } from "react";
import { SwitchRuleDialog } from "@/components/rules/rule-dialogs";
import { SAMPLES_SHOWN, TrialFrame, TriedEvent } from "@/components/rules/trial-frame";
import { SelectField } from "@/components/ui/select";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { REDRIVE_RULE_NEEDS, ruleTerms } from "@/lib/rules/redrive-rule.pure";
import { redriveRules, useRedriveRuleTrial } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut, RedriveRuleTrial, RedriveRuleTry } from "@/lib/rules/redrive-rules.shapes";
import { leftWords, OUTCOME_WORDS, trialSentence } from "./rule-words";

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

/** What a rule would have done in the past. */
function TrialView({ trial, days }: { trial: ReturnType<typeof useRedriveRuleTrial>; days: number }) {
  return (
    <TrialFrame label="What it would have done" trial={trial}>
      {(found) => <Tried trial={found} days={days} />}
    </TrialFrame>
  );
}

function Tried({ trial, days }: { trial: RedriveRuleTrial; days: number }) {
  const { checked, bounded, parkedNow, samples, unknown } = trial;
  const rest = leftWords(trial);
  return (
    <>
      <p role="status">{trialSentence(trial, days)}</p>
      <p className="text-sm text-muted">
        {bounded
          ? `Based on the newest ${plural(checked, "event")} that match; more match.`
          : `Based on ${plural(checked, "event")} that match.`}
        {rest.length === 0 ? null : ` ${rest.join("; ")}.`}
      </p>
      <p>
        Parked now and matching:{" "}
        <span className="tabular-nums">
          {parkedNow.bounded ? `more than ${formatNumber(parkedNow.count)}` : formatNumber(parkedNow.count)}
        </span>
        .
      </p>
      {samples.length === 0 ? null : (
        <ul aria-label="Samples" className="grid gap-1">
          {samples.slice(0, SAMPLES_SHOWN).map((sample) => (
            <li key={sample.id} className="flex min-w-0 flex-wrap items-baseline gap-x-2">
              <TriedEvent id={sample.id} eventId={sample.eventId} />
              <span className="text-sm text-muted">
                parked <TimeAgo at={sample.parkedAt} />, would have been redriven <TimeAgo at={sample.takenAt} />:{" "}
                {OUTCOME_WORDS[sample.outcome]}
              </span>
            </li>
          ))}
        </ul>
      )}
      <details className="text-sm text-muted">
        <summary className="min-h-6 cursor-pointer">What the test cannot know</summary>
        <ul className="list-disc pl-5">
          {unknown.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </details>
    </>
  );
}
