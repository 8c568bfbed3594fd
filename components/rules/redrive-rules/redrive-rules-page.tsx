"use client";

import { RulesPage } from "@/components/rules/rules-page";
import { lazily } from "@/components/ui/lazily";
import { REDRIVE_RULE_NEEDS } from "@/lib/rules/redrive-rule.pure";
import { redriveRules } from "@/lib/rules/redrive-rules.browser";
import { RedriveRuleCard } from "./rule-card";

const RuleDialog = lazily(() => import("./rule-dialog"), "RedriveRuleDialog");

/** The rules by which a worker redrives parked events, in their order. */
export function RedriveRulesPage() {
  return (
    <RulesPage
      needs={REDRIVE_RULE_NEEDS}
      title="Redrive rules"
      noun="redrive rule"
      rules={redriveRules.useRules()}
      shows={null}
      intro="A rule redrives parked events automatically after a delay, for temporary failures such as timeouts. It stays off until it has been tested against past events, and switches itself off when its events fail again."
      order="An event belongs to the first rule that is on and matches it."
      Card={RedriveRuleCard}
      Dialog={RuleDialog}
    />
  );
}
