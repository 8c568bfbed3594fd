"use client";

import { FilterWords } from "@/components/events/filter-words";
import { RuleCard, type RuleCardProps, RuleVersion } from "@/components/rules/rule-card";
import { lazily } from "@/components/ui/lazily";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { REDRIVE_RULE_NEEDS } from "@/lib/rules/redrive-rule.pure";
import { redriveRules } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { termsOf } from "@/lib/selection/filter/qualified-search.browser";
import { limitWords, ruleSentence, triedWords, workWords } from "./rule-words";

const SwitchOnDialog = lazily(() => import("./switch-dialog"), "SwitchOnDialog");
const SwitchOffDialog = lazily(() => import("./switch-dialog"), "SwitchOffDialog");

export function RedriveRuleCard(card: RuleCardProps<RedriveRuleOut>) {
  const { rule } = card;
  const filter = rule.filter as EventFilter;
  const SwitchDialog = rule.enabled ? SwitchOffDialog : SwitchOnDialog;
  return (
    <RuleCard
      needs={REDRIVE_RULE_NEEDS}
      needsToDelete="change-redrive-rule"
      everySource={filter.source === undefined}
      {...card}
      state={rule.fault && rule.enabled ? "FAULT" : rule.enabled ? "ON" : rule.stopped ? "STOPPED" : "OFF"}
      locked={rule.enabled ? "Switch it off first: only a tested version can be on" : undefined}
      afterDeletion="The rule starts no more redrives. Redrives it already started continue and keep its name."
      hooks={redriveRules}
      switchDialog={(onClose) => <SwitchDialog rule={rule} onClose={onClose} />}
    >
      {rule.stopped && !rule.enabled ? (
        <p className="text-danger wrap-anywhere">
          Switched itself off <TimeAgo at={rule.stopped.at} />: {rule.stopped.reason}
        </p>
      ) : null}
      {rule.fault && rule.enabled ? (
        <p className="text-danger wrap-anywhere">The last run could not apply it: {rule.fault}</p>
      ) : null}
      <p className="wrap-anywhere">
        <span className="text-muted">redrives </span>
        <TextLink href={eventsHref(filter)} className="font-mono text-sm">
          <FilterWords terms={termsOf(filter)} />
        </TextLink>
        <span className="text-muted"> → </span>
        {ruleSentence(rule)}
      </p>
      <p className="text-sm text-muted">{limitWords(rule)}</p>
      <Work rule={rule} />
    </RuleCard>
  );
}

function Work({ rule }: { rule: RedriveRuleOut }) {
  const { lastRun, trial } = rule;
  return (
    <div className="flex flex-wrap items-baseline gap-x-3 text-sm text-muted">
      <span>{workWords(rule) ?? "no redrives in 24 hours"}</span>
      {lastRun === null ? null : (
        <TextLink href={`/redrives/${lastRun.redriveId}`} className="inline-block min-h-6">
          {lastRun.live ? "running redrive" : "last redrive"}
        </TextLink>
      )}
      {trial === null ? (
        <span>not tested</span>
      ) : (
        <span>
          tested <TimeAgo at={trial.at} />: {triedWords(trial)}
        </span>
      )}
      <RuleVersion rule={rule} subject="redrive-rule" />
    </div>
  );
}
