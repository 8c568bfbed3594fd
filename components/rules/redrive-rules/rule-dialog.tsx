"use client";

import type { ReactNode } from "react";
import { RuleDialog, type RuleForm } from "@/components/rules/rule-dialogs";
import { TextField, Tick } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { REDRIVE_RULE_NEEDS } from "@/lib/rules/redrive-rule.pure";
import { redriveRules } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { errorsOf, type RuleDraft, type RuleErrors, ruleDraft, ruleRequest } from "./rule-draft";

type Part = RuleForm<RuleDraft, RuleErrors>;

/** Creates a rule, switched off, or edits one that is off. */
export function RedriveRuleDialog({ rule, onClose }: { rule: RedriveRuleOut | null; onClose: () => void }) {
  return (
    <RuleDialog
      needs={REDRIVE_RULE_NEEDS}
      everySource={(draft) => {
        const asked = ruleRequest(draft, "");
        return asked.ok && asked.rule.filter.source === undefined;
      }}
      noun="redrive rule"
      rule={rule}
      initial={() => ruleDraft(rule)}
      request={(draft, reason) => ruleRequest(draft, reason, (rule?.filter ?? {}) as EventFilter)}
      errorsOf={errorsOf}
      save={redriveRules.useSave(rule)}
      description="It is saved switched off. It is tried against the past before it is switched on."
      onClose={onClose}
    >
      {(form) => (
        <>
          <RuleText {...form} name="name" label="Name" placeholder="timeouts of orders" />
          <RuleText
            {...form}
            name="events"
            label="Events"
            placeholder="source:orders errorCode:TIMEOUT"
            hint="As in the search, by source, errorCode, eventType, aggregateType, fingerprint or tag. Only parked events are taken."
            mono
          />
          <When {...form} />
          <How {...form} />
          <Limits {...form} />
        </>
      )}
    </RuleDialog>
  );
}

function Row({ legend, children }: { legend: string; children: ReactNode }) {
  return (
    <fieldset className="grid min-w-0 gap-2">
      <legend className="mb-1 text-sm font-medium text-muted">{legend}</legend>
      <div className="flex flex-wrap items-start gap-3">{children}</div>
    </fieldset>
  );
}

function When(part: Part) {
  return (
    <Row legend="When">
      <NumberField {...part} name="delayMinutes" label="Minutes after parking" />
      <NumberField {...part} name="redrivesPerEvent" label="Redrives of one event" />
      <div className="grid basis-full gap-1">
        <Tick
          label="only if the same group succeeded since"
          checked={part.draft.groupSucceeded}
          onChecked={(groupSucceeded) => part.set({ groupSucceeded })}
        />
        <Tick
          label="only while the target's breaker is closed"
          checked={part.draft.breakerClosed}
          onChecked={(breakerClosed) => part.set({ breakerClosed })}
        />
      </div>
    </Row>
  );
}

function How(part: Part) {
  return (
    <Row legend="How">
      <SelectField
        label="Lane"
        value={part.draft.lane}
        options={[
          { value: "slow", label: "slow lane" },
          { value: "main", label: "main lane" },
        ]}
        onValue={(value) => part.set({ lane: value as RuleDraft["lane"] })}
      />
      <NumberField {...part} name="rate" label="Events per second" optional />
      <NumberField {...part} name="everySeconds" label="Seconds between runs" />
    </Row>
  );
}

function Limits(part: Part) {
  return (
    <Row legend="Limits">
      <NumberField {...part} name="perRun" label="Events a run" className="w-35" />
      <NumberField {...part} name="perHour" label="Events an hour" className="w-35" optional />
      <NumberField {...part} name="perDay" label="Events a day" className="w-35" optional />
      <NumberField {...part} name="stopAtPercent" label="Off above % failures" className="w-35" />
    </Row>
  );
}

type TextName = { [Name in keyof RuleDraft]: RuleDraft[Name] extends string ? Name : never }[keyof RuleDraft];

function RuleText(
  props: Part & { name: TextName; label: string; hint?: string; placeholder?: string; mono?: boolean },
) {
  const { draft, errors, set, name, mono, ...field } = props;
  return (
    <TextField
      {...field}
      error={errors[name]}
      inputClassName={mono ? "font-mono" : undefined}
      maxLength={name === "name" ? 100 : 2_000}
      value={draft[name]}
      onValue={(value) => set({ [name]: value })}
    />
  );
}

function NumberField(props: Part & { name: TextName; label: string; optional?: boolean; className?: string }) {
  const { draft, errors, set, name, className = "w-40", ...field } = props;
  return (
    <TextField
      {...field}
      error={errors[name]}
      className={className}
      inputMode="decimal"
      inputClassName="tabular-nums"
      value={draft[name]}
      onValue={(value) => set({ [name]: value })}
    />
  );
}
