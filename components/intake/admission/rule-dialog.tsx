"use client";

import { SwitchRuleDialog } from "@/components/rules/rule-dialogs";
import { DraftDialog } from "@/components/ui/draft-dialog";
import { useSettled } from "@/components/ui/use-settled";
import { admissionRules, useTrial } from "@/lib/intake/admission/admission.browser";
import type { RuleOut, TryRequest } from "@/lib/intake/admission/admission.shapes";
import { errorsOf, type RuleDraft, ruleDraft, ruleRequest, tryOf } from "./rule-draft";
import { Conditions, Effects, NameAndSource } from "./rule-fields";
import { TrialView } from "./trial-view";

type Props = { onClose: () => void };

/** Creates a rule or edits one. Shows all the while what the rule would do to the newest events. */
export function AdmissionRuleDialog({ rule, onClose }: Props & { rule: RuleOut | null }) {
  const save = admissionRules.useSave(rule);
  return (
    <DraftDialog
      needs="change-admission"
      by={({ source }) => ({ everySource: source.trim() === "" })}
      title={rule === null ? "New rule" : `Edit ${rule.name}`}
      verb={rule === null ? "Save without switching on" : "Save"}
      initial={() => ruleDraft(rule)}
      request={ruleRequest}
      errorsOf={errorsOf}
      save={async (request) => {
        await save.mutateAsync(request);
        return `Saved ${request.name}`;
      }}
      description={
        rule?.enabled
          ? "The rule is on: changes apply from the next message."
          : "The rule is saved switched off. Events that are already stored do not change."
      }
      onClose={onClose}
    >
      {(form) => (
        <>
          <NameAndSource {...form} />
          <Conditions {...form} />
          <Effects {...form} />
          <LiveTrial draft={form.draft} id={rule?.id ?? null} />
        </>
      )}
    </DraftDialog>
  );
}

/** The trial of the current draft, a moment after the last key. */
function LiveTrial({ draft, id }: { draft: RuleDraft; id: string | null }) {
  const wanted = tryOf(draft, id);
  const text = JSON.stringify(wanted);
  const settled = useSettled(text);
  const request = settled === text ? wanted : (JSON.parse(settled) as typeof wanted);
  const trial = useTrial(request);
  if (wanted === null) {
    return <p className="text-muted">Complete the rule to preview it on the newest events.</p>;
  }
  return <TrialView trial={trial} old={settled !== text || trial.isPlaceholderData} />;
}

/** Switches a rule on, after it shows what the rule would do, or off. */
export function SwitchDialog({ rule, onClose }: Props & { rule: RuleOut }) {
  const change = admissionRules.usePatch(rule.id);
  const { id, source, version, enabled, when, do: effect } = rule;
  return (
    <SwitchRuleDialog
      needs="change-admission"
      everySource={source === null}
      rule={rule}
      description={
        enabled
          ? "It no longer applies, from the next message. Events that it changed stay changed."
          : "It applies from the next message. Events that are already stored do not change."
      }
      variant={!enabled && effect?.drop ? "danger" : "primary"}
      onSwitch={(reason) => change.mutateAsync({ enabled: !enabled, version, reason })}
      onClose={onClose}
    >
      {!enabled && when && effect ? (
        <StoredTrial request={{ id, rule: { source, when, do: effect }, newest: 200 }} />
      ) : null}
    </SwitchRuleDialog>
  );
}

function StoredTrial({ request }: { request: TryRequest }) {
  return <TrialView trial={useTrial(request)} />;
}
