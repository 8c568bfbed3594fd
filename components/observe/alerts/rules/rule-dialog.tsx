"use client";

import { useState } from "react";
import { TextField, Tick } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { KIND_WORDS } from "@/lib/observe/alerts/alert-words.pure";
import { alertRules } from "@/lib/observe/alerts/alerts.browser";
import {
  ALERT_KINDS,
  type AlertKind,
  SEVERITIES,
  type Severity,
  SOURCE_FAULTS,
  sourcesOf,
  WINDOWS_MS,
} from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import {
  type DraftErrors,
  draftOf,
  FIELDS_OF,
  NEW_RULE,
  type RuleDraft,
  type RuleField,
  ruleRequest,
} from "./rule-draft";
import { TrialPanel } from "./trial-panel";

const KIND_OPTIONS = ALERT_KINDS.map((kind) => ({ value: kind, label: KIND_WORDS[kind] }));
const SEVERITY_OPTIONS = SEVERITIES.map((severity) => ({ value: severity, label: severity }));
const WINDOW_OPTIONS = WINDOWS_MS.map((ms) => ({ value: String(ms), label: formatDuration(ms) }));

export function RuleDialog({ rule, onClose }: { rule: AlertRuleOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState<RuleDraft>(() => (rule === null ? NEW_RULE : draftOf(rule)));
  const save = alertRules.useSave(rule);
  const result = ruleRequest({ ...draft, name: draft.name.trim() || "tried" });
  const settled = useSettled(result.ok ? JSON.stringify(result.request.watch) : "");
  return (
    <ReasonDialog
      needs="change-alert"
      everySource={result.ok && sourcesOf(result.request.watch) === null}
      title={rule === null ? "Add a rule" : `Change ${rule.name}`}
      size="lg"
      verb={rule === null ? "Add the rule" : "Save"}
      reason="optional"
      onClose={onClose}
      onSubmit={async (reason) => {
        const made = ruleRequest(draft);
        if (!made.ok) return "stay";
        const saved = await save.mutateAsync({ ...made.request, ...(reason ? { reason } : {}) });
        return { title: rule === null ? `Added ${saved.name}` : `Changed ${saved.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const made = ruleRequest(draft);
        const errors = made.ok ? {} : made.errors;
        // A name that nobody has typed yet is no fault to show.
        const shown = pressed ? errors : { ...errors, name: undefined };
        return (
          <>
            <Fields draft={draft} errors={shown as DraftErrors} set={(part) => setDraft({ ...draft, ...part })} />
            <TrialPanel watch={settled === "" ? null : JSON.parse(settled)} />
          </>
        );
      }}
    </ReasonDialog>
  );
}

type FieldsProps = { draft: RuleDraft; errors: DraftErrors; set: (part: Partial<RuleDraft>) => void };

type TextLook = { label: string; hint?: string; placeholder?: string; optional?: boolean };

const TEXTS: Partial<Record<RuleField, TextLook>> = {
  above: { label: "more than (events)" },
  factor: { label: "times the usual" },
  atLeast: { label: "at least (events)", hint: "fewer say nothing" },
  usualAtLeast: { label: "usually at least (events)" },
  aboveHours: { label: "older than (hours)" },
  quietHours: { label: "quiet time (hours)" },
  belowPercent: { label: "below (%)" },
  sources: { label: "sources", optional: true, placeholder: "orders, billing", hint: "none = every source" },
  errorCodes: { label: "error codes", optional: true, placeholder: "TIMEOUT", hint: "none = every code" },
};

function Fields({ draft, errors, set }: FieldsProps) {
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <TextField
          label="name"
          className="min-w-48 flex-1"
          maxLength={100}
          error={errors.name}
          value={draft.name}
          onValue={(name) => set({ name })}
        />
        <SelectField
          label="severity"
          options={SEVERITY_OPTIONS}
          value={draft.severity}
          onValue={(severity) => set({ severity: severity as Severity })}
        />
        <SelectField
          label="watches"
          options={KIND_OPTIONS}
          value={draft.kind}
          onValue={(kind) => set({ kind: kind as AlertKind })}
        />
      </div>
      <div className="flex flex-wrap items-start gap-2">
        {FIELDS_OF[draft.kind].map((field) => (
          <OwnField key={field} field={field} draft={draft} errors={errors} set={set} />
        ))}
      </div>
      <div className="flex flex-wrap items-start gap-2">
        {(
          [
            ["forMinutes", "fires after (min)", "0 = at once"],
            ["clearMinutes", "ends after (min)", "without its cause"],
            ["repeatMinutes", "told again every (min)", "empty = never"],
          ] as const
        ).map(([field, label, hint]) => (
          <TextField
            key={field}
            label={label}
            hint={hint}
            className="w-40"
            inputMode="decimal"
            error={errors[field]}
            value={draft[field]}
            onValue={(value) => set({ [field]: value })}
          />
        ))}
        <TextField
          label="runbook address"
          optional
          hint="none = the one of this kind"
          className="min-w-56 flex-1"
          error={errors.runbookUrl}
          value={draft.runbookUrl}
          onValue={(runbookUrl) => set({ runbookUrl })}
        />
      </div>
      <Tick label="switched on" checked={draft.enabled} onChecked={(enabled) => set({ enabled })} />
    </div>
  );
}

function OwnField({ field, draft, errors, set }: FieldsProps & { field: RuleField }) {
  if (field === "windowMs") {
    return (
      <SelectField
        label="counted over"
        options={WINDOW_OPTIONS}
        value={draft.windowMs}
        onValue={(windowMs) => set({ windowMs })}
      />
    );
  }
  if (field === "perSource") {
    return (
      <Tick
        className="self-center"
        label="each source by itself"
        checked={draft.perSource}
        onChecked={(perSource) => set({ perSource })}
      />
    );
  }
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
  const look = TEXTS[field]!;
  const wide = field === "sources" || field === "errorCodes";
  return (
    <TextField
      {...look}
      className={wide ? "min-w-40 flex-1" : "w-40"}
      inputMode={wide ? "text" : "decimal"}
      error={errors[field]}
      value={draft[field] as string}
      onValue={(value) => set({ [field]: value })}
    />
  );
}
