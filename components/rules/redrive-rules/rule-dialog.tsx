"use client";

import { type ReactNode, useId, useState } from "react";
import { Checkbox, Field, Input } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { Select } from "@/components/ui/select";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { useChangeRedriveRule, useCreateRedriveRule } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { errorsOf, type RuleDraft, type RuleErrors, ruleDraft, ruleRequest } from "./rule-draft";

type Part = { draft: RuleDraft; errors: RuleErrors; set: (part: Partial<RuleDraft>) => void };

/** Creates a rule, switched off, or edits one that is off. */
export function RuleDialog({ rule, onClose }: { rule: RedriveRuleOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => ruleDraft(rule));
  const create = useCreateRedriveRule();
  const change = useChangeRedriveRule();
  const server = errorsOf((create.error ?? change.error)?.fields ?? []);
  const kept = (rule?.filter ?? {}) as EventFilter;
  return (
    <ReasonDialog
      title={rule === null ? "New redrive rule" : `Edit ${rule.name}`}
      description="It is saved switched off. It is tried against the past before it is switched on."
      verb={rule === null ? "Save, switched off" : "Save"}
      onClose={onClose}
      onSubmit={async (reason) => {
        const result = ruleRequest(draft, reason, kept);
        if (!result.ok) return "stay";
        if (rule === null) await create.mutateAsync(result.rule);
        else await change.mutateAsync({ id: rule.id, change: { ...result.rule, version: rule.version } });
        return { title: `Saved ${result.rule.name}`, tone: "success" };
      }}
    >
      {(pressed) => {
        const result = ruleRequest(draft, "", kept);
        const errors = { ...server, ...(pressed && !result.ok ? result.errors : {}) };
        const part: Part = { draft, errors, set: (next) => setDraft({ ...draft, ...next }) };
        return (
          <>
            <TextField {...part} name="name" label="Name" placeholder="timeouts of orders" />
            <TextField
              {...part}
              name="events"
              label="Events"
              placeholder="source:orders errorCode:TIMEOUT"
              hint="As in the search, by source, errorCode, eventType, aggregateType, fingerprint or tag. Only parked events are taken."
              mono
            />
            <When {...part} />
            <How {...part} />
            <Limits {...part} />
          </>
        );
      }}
    </ReasonDialog>
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

function When({ draft, errors, set }: Part) {
  return (
    <Row legend="When">
      <NumberField {...{ draft, errors, set }} name="delayMinutes" label="Minutes after parking" />
      <NumberField {...{ draft, errors, set }} name="redrivesPerEvent" label="Redrives of one event" />
      <div className="grid basis-full gap-1">
        <Check {...{ draft, errors, set }} name="groupSucceeded">
          only if the same group succeeded since
        </Check>
        <Check {...{ draft, errors, set }} name="breakerClosed">
          only while the target's breaker is closed
        </Check>
      </div>
    </Row>
  );
}

function How({ draft, errors, set }: Part) {
  return (
    <Row legend="How">
      <Field label="Lane">
        {(control) => (
          <Select
            {...control}
            value={draft.lane}
            options={[
              { value: "slow", label: "slow lane" },
              { value: "main", label: "main lane" },
            ]}
            onChange={(event) => set({ lane: event.target.value as RuleDraft["lane"] })}
          />
        )}
      </Field>
      <NumberField {...{ draft, errors, set }} name="rate" label="Events per second" optional />
      <NumberField {...{ draft, errors, set }} name="everySeconds" label="Seconds between runs" />
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

function TextField({
  draft,
  errors,
  set,
  name,
  mono,
  placeholder,
  ...field
}: Part & { name: TextName; label: string; hint?: string; placeholder?: string; mono?: boolean }) {
  return (
    <Field {...field} error={errors[name]}>
      {(control) => (
        <Input
          {...control}
          className={mono ? "font-mono" : undefined}
          placeholder={placeholder}
          maxLength={name === "name" ? 100 : 2_000}
          value={draft[name]}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
}

function NumberField({
  draft,
  errors,
  set,
  name,
  className = "w-40",
  ...field
}: Part & { name: TextName; label: string; optional?: boolean; className?: string }) {
  return (
    <Field {...field} error={errors[name]} className={className}>
      {(control) => (
        <Input
          {...control}
          inputMode="decimal"
          className="tabular-nums"
          value={draft[name]}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
}

function Check({
  draft,
  set,
  name,
  children,
}: Part & { name: "groupSucceeded" | "breakerClosed"; children: ReactNode }) {
  const id = useId();
  return (
    <div className="flex min-h-6 items-center gap-2">
      <Checkbox id={id} checked={draft[name]} onChange={(event) => set({ [name]: event.target.checked })} />
      <label htmlFor={id}>{children}</label>
    </div>
  );
}
