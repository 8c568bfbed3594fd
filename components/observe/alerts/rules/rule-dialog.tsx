"use client";

import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { TextField, Tick } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { alertRules } from "@/lib/observe/alerts/alerts.browser";
import { sourcesOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { ALERT_KINDS, type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type Setting, type Settings, TIMES, WINDOWS_MS } from "@/lib/observe/alerts/kinds/settings.pure";
import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { useChannels } from "@/lib/observe/channels/channels.browser";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import { SEVERITIES, type Severity } from "@/lib/states/severity.pure";
import { draftOf, NEW_RULE, type RuleDraft, ruleRequest, type Typed, typedIn } from "./rule-draft";
import { TrialPanel } from "./trial-panel";

const KIND_OPTIONS = ALERT_KINDS.map((kind) => ({ value: kind, label: alertKindOf(kind).words }));
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
      title={rule === null ? "Add a rule" : `Edit ${rule.name}`}
      size="lg"
      verb={rule === null ? "Add the rule" : "Save"}
      reason="optional"
      initial={() => (rule === null ? NEW_RULE : draftOf(rule))}
      request={ruleRequest}
      errorsOf={(fields) =>
        Object.fromEntries(fields.map(({ field, detail }) => [field.replace(/^watch\./, ""), detail]))
      }
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

function Fields(form: Form<RuleDraft>) {
  const { draft, text, tick } = form;
  const fields = (settings: Settings) => (
    <div className="flex flex-wrap items-start gap-2">
      {Object.entries(settings).map(([name, setting]) => (
        <SettingField key={name} name={name} setting={setting} {...form} />
      ))}
    </div>
  );
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-start gap-2">
        <TextField {...text("name")} label="Name" className="min-w-48 flex-1" maxLength={100} />
        <SelectField {...text("severity")} label="Severity" options={SEVERITY_OPTIONS} />
        <SelectField {...text("kind")} label="Watch" options={KIND_OPTIONS} />
      </div>
      {fields(alertKindOf(draft.kind).settings)}
      {fields(TIMES)}
      <TextField {...text("runbookUrl")} label="Runbook URL" optional hint="Leave empty for the built-in runbook." />
      <Tick {...tick("enabled")} label="Enabled" />
      <Receivers severity={draft.severity} />
    </div>
  );
}

/** The channels that get alerts of this severity. */
function Receivers({ severity }: { severity: Severity }) {
  const { data } = useChannels();
  if (!data) return null;
  const names = data.items
    .filter(({ enabled, severities }) => enabled && severities.includes(severity))
    .map(({ name, sources }) => (sources === null ? name : `${name} (${sources.join(", ")})`));
  return (
    <p className="text-sm wrap-anywhere text-muted">
      {names.length === 0
        ? `No channel receives ${severity} alerts: they are shown in the console alone.`
        : `Sent to ${names.join(", ")}.`}
    </p>
  );
}

function SettingField({ name, setting, draft, errors, set }: Form<RuleDraft> & { name: string; setting: Setting }) {
  const typed = typedIn(draft, name, setting);
  const onTyped = (value: Typed) => set({ settings: { ...draft.settings, [name]: value } });
  const { label } = setting;
  if (typeof typed === "boolean")
    return <Tick className="self-center" label={label} checked={typed} onChecked={onTyped} />;
  if (setting.input === "choices") {
    const chosen = typed as readonly string[];
    return (
      <fieldset className="grid gap-1">
        <legend className="text-sm font-medium text-muted">{label}</legend>
        {setting.choices.map((choice) => (
          <Tick
            key={choice}
            label={choice}
            checked={chosen.includes(choice)}
            onChecked={(on) => onTyped(on ? [...chosen, choice] : chosen.filter((each) => each !== choice))}
          />
        ))}
        {errors[name] ? <p className="text-sm text-danger">{errors[name]}</p> : null}
      </fieldset>
    );
  }
  const control = { label, value: typed as string, error: errors[name], onValue: onTyped };
  if (setting.input === "window") return <SelectField {...control} options={WINDOW_OPTIONS} />;
  const isNames = setting.input === "names";
  return (
    <TextField
      {...control}
      hint={setting.hint}
      {...(isNames ? { optional: true, placeholder: setting.placeholder } : {})}
      className={isNames ? "min-w-40 flex-1" : "w-40"}
      inputMode={isNames ? "text" : "decimal"}
    />
  );
}
