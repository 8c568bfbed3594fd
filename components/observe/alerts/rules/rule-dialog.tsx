"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { TextField, Tick } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { KIND_WORDS } from "@/lib/observe/alerts/alert-words.pure";
import { alertRules } from "@/lib/observe/alerts/alerts.browser";
import {
  ALERT_KINDS,
  SEVERITIES,
  SOURCE_FAULTS,
  sourcesOf,
  WINDOWS_MS,
} from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { AlertRuleOut, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { draftOf, FIELDS_OF, NEW_RULE, type RuleDraft, type RuleField, ruleRequest } from "./rule-draft";
import { TrialPanel } from "./trial-panel";

const KIND_OPTIONS = ALERT_KINDS.map((kind) => ({ value: kind, label: KIND_WORDS[kind] }));
const SEVERITY_OPTIONS = SEVERITIES.map((severity) => ({ value: severity, label: severity }));
const WINDOW_OPTIONS = WINDOWS_MS.map((ms) => ({ value: String(ms), label: formatDuration(ms) }));

export function RuleDialog({ rule, onClose }: { rule: AlertRuleOut | null; onClose: () => void }) {
  const save = alertRules.useSave(rule);
  return (
    <DraftDialog
      needs="change-alert"
      by={(draft) => {
        const watch = watchTyped(draft);
        return { everySource: watch !== null && sourcesOf(watch) === null };
      }}
      title={rule === null ? "Add a rule" : `Change ${rule.name}`}
      size="lg"
      verb={rule === null ? "Add the rule" : "Save"}
      reason="optional"
      initial={() => (rule === null ? NEW_RULE : draftOf(rule))}
      request={ruleRequest}
      // A name that nobody has typed yet is no fault to show.
      early={(errors) => ({ ...errors, name: undefined })}
      save={async (request, reason) => {
        const saved = await save.mutateAsync({ ...request, ...(reason ? { reason } : {}) });
        return rule === null ? `Added ${saved.name}` : `Changed ${saved.name}`;
      }}
      onClose={onClose}
    >
      {(form) => (
        <>
          <Fields {...form} />
          <LiveTrial watch={watchTyped(form.draft)} />
        </>
      )}
    </DraftDialog>
  );
}

/** What the draft watches, whether it has a name or not; null while it is no rule. */
function watchTyped(draft: RuleDraft): AlertWatch | null {
  const made = ruleRequest({ ...draft, name: draft.name.trim() || "tried" });
  return made.ok ? made.request.watch : null;
}

/** The trial of the current draft, a moment after the last key. */
function LiveTrial({ watch }: { watch: AlertWatch | null }) {
  const settled = useSettled(watch === null ? "" : JSON.stringify(watch));
  return <TrialPanel watch={settled === "" ? null : JSON.parse(settled)} />;
}

type TextLook = { label: string; hint?: string; placeholder?: string; optional?: boolean };

const TEXTS = {
  above: { label: "more than (events)" },
  factor: { label: "times the usual" },
  atLeast: { label: "at least (events)", hint: "fewer do not fire" },
  usualAtLeast: { label: "usually at least (events)" },
  aboveHours: { label: "older than (hours)" },
  quietHours: { label: "quiet time (hours)" },
  belowPercent: { label: "below (%)" },
  sources: { label: "sources", optional: true, placeholder: "orders, billing", hint: "none = every source" },
  errorCodes: { label: "error codes", optional: true, placeholder: "TIMEOUT", hint: "none = every code" },
} satisfies Partial<Record<RuleField, TextLook>>;

const TIMES = [
  ["forMinutes", "fires after (min)", "0 = at once"],
  ["clearMinutes", "ends after (min)", "without its cause"],
  ["repeatMinutes", "repeat every (min)", "empty = never"],
] as const;

function Fields(form: Form<RuleDraft>) {
  const { draft, text, tick } = form;
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <TextField {...text("name")} label="name" className="min-w-48 flex-1" maxLength={100} />
        <SelectField {...text("severity")} label="severity" options={SEVERITY_OPTIONS} />
        <SelectField {...text("kind")} label="watches" options={KIND_OPTIONS} />
      </div>
      <div className="flex flex-wrap items-start gap-2">
        {FIELDS_OF[draft.kind].map((field) => (
          <OwnField key={field} field={field} {...form} />
        ))}
      </div>
      <div className="flex flex-wrap items-start gap-2">
        {TIMES.map(([field, label, hint]) => (
          <TextField key={field} {...text(field)} label={label} hint={hint} className="w-40" inputMode="decimal" />
        ))}
        <TextField
          {...text("runbookUrl")}
          label="runbook address"
          optional
          hint="none = the one of this kind"
          className="min-w-56 flex-1"
        />
      </div>
      <Tick {...tick("enabled")} label="switched on" />
    </div>
  );
}

function OwnField({ field, draft, errors, set, text, tick }: Form<RuleDraft> & { field: RuleField }) {
  if (field === "windowMs") return <SelectField {...text(field)} label="counted over" options={WINDOW_OPTIONS} />;
  if (field === "perSource") return <Tick {...tick(field)} className="self-center" label="per source" />;
  if (field === "states") {
    return (
      <fieldset className="grid gap-1">
        <legend className="text-sm font-medium text-muted">when it is</legend>
        {SOURCE_FAULTS.map((state) => (
          <Tick
            key={state}
            label={state}
            checked={draft.states.includes(state)}
            onChecked={(on) =>
              set({ states: on ? [...draft.states, state] : draft.states.filter((each) => each !== state) })
            }
          />
        ))}
        {errors.states ? <p className="text-sm text-danger">{errors.states}</p> : null}
      </fieldset>
    );
  }
  const wide = field === "sources" || field === "errorCodes";
  return (
    <TextField
      {...text(field as keyof typeof TEXTS)}
      {...TEXTS[field as keyof typeof TEXTS]}
      className={wide ? "min-w-40 flex-1" : "w-40"}
      inputMode={wide ? "text" : "decimal"}
    />
  );
}
