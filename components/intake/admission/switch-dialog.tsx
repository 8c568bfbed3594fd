"use client";

import { ErrorPanel } from "@/components/ui/error-panel";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangeRule, useTrial } from "@/lib/intake/admission/admission.browser";
import type { RuleOut } from "@/lib/intake/admission/admission.shapes";
import { TrialView } from "./trial-view";

/** Switches a rule on, after it shows what the rule would do, or off. */
export function SwitchDialog({ rule, onClose }: { rule: RuleOut; onClose: () => void }) {
  const change = useChangeRule();
  const on = !rule.enabled;
  const verb = on ? "Switch on" : "Switch off";
  return (
    <ReasonDialog
      title={`${verb}: ${rule.name}`}
      description={
        on
          ? "It holds for the next message, on every way in. Events that are stored already stay as they are."
          : "The next message is parked as if the rule were not there. Events that it changed stay as they are."
      }
      size={on ? "md" : "sm"}
      verb={verb}
      variant={on && rule.do?.drop ? "danger" : "primary"}
      onClose={onClose}
      onSubmit={async (reason) => {
        await change.mutateAsync({ id: rule.id, change: { enabled: on, version: rule.version, reason } });
        return { title: `${rule.name} is ${on ? "on" : "off"}`, tone: "success" };
      }}
    >
      {on && rule.when !== null && rule.do !== null ? (
        <StoredTrial id={rule.id} rule={{ source: rule.source, when: rule.when, do: rule.do }} />
      ) : null}
    </ReasonDialog>
  );
}

function StoredTrial({ id, rule }: { id: string; rule: NonNullable<Parameters<typeof useTrial>[0]>["rule"] }) {
  const trial = useTrial({ id, rule, newest: 200 });
  if (trial.isError) return <ErrorPanel error={trial.error} inline onRetry={() => trial.refetch()} title="Not tried" />;
  return <TrialView trial={trial.data} />;
}
