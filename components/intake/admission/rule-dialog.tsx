"use client";

import { useEffect, useState } from "react";
import { ErrorPanel } from "@/components/ui/error-panel";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangeRule, useCreateRule, useTrial } from "@/lib/intake/admission/admission.browser";
import type { RuleOut } from "@/lib/intake/admission/admission.shapes";
import { errorsOf, type RuleDraft, type RuleErrors, ruleDraft, ruleRequest, tryOf } from "./rule-draft";
import { Conditions, Effects, NameAndSource } from "./rule-fields";
import { TrialView } from "./trial-view";

/** Long enough that typing a word asks once, short enough that the preview seems immediate. */
const TRY_AFTER_MS = 300;

/** Creates a rule, switched off, or edits one. Shows all the while what the rule would do to the newest events. */
export function RuleDialog({ rule, onClose }: { rule: RuleOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => ruleDraft(rule));
  const create = useCreateRule();
  const change = useChangeRule();
  const server = errorsOf((create.error ?? change.error)?.fields ?? []);
  const set = (part: Partial<RuleDraft>) => setDraft({ ...draft, ...part });

  return (
    <ReasonDialog
      title={rule === null ? "New rule" : `Edit ${rule.name}`}
      description={
        rule?.enabled
          ? "It is on: what is saved here holds for the next message."
          : "It is saved switched off. Nothing happens to events that are stored already."
      }
      verb={rule === null ? "Save, switched off" : "Save"}
      onClose={onClose}
      onSubmit={async (reason) => {
        const result = ruleRequest(draft, reason);
        if (!result.ok) return "stay";
        if (rule === null) await create.mutateAsync({ ...result.rule, enabled: false });
        else await change.mutateAsync({ id: rule.id, change: { ...result.rule, version: rule.version } });
        return { title: `Saved ${result.rule.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const result = ruleRequest(draft, "");
        const errors: RuleErrors = { ...server, ...(pressed && !result.ok ? result.errors : {}) };
        const part = { draft, errors, set };
        return (
          <>
            <NameAndSource {...part} />
            <Conditions {...part} />
            <Effects {...part} />
            <LiveTrial draft={draft} id={rule?.id ?? null} />
          </>
        );
      }}
    </ReasonDialog>
  );
}

/** The try of the draft as it stands, a moment after the last key. */
function LiveTrial({ draft, id }: { draft: RuleDraft; id: string | null }) {
  const wanted = tryOf(draft, id);
  const text = JSON.stringify(wanted);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TRY_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const request = settled === text ? wanted : (JSON.parse(settled) as typeof wanted);
  const trial = useTrial(request);
  if (wanted === null) {
    return <p className="text-muted">What it would do to the newest events is shown here once it says what to do.</p>;
  }
  if (trial.isError) return <ErrorPanel error={trial.error} inline onRetry={() => trial.refetch()} title="Not tried" />;
  return <TrialView trial={trial.data} old={settled !== text || trial.isPlaceholderData} />;
}
