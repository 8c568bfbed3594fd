"use client";

import type { ComponentProps, ReactNode } from "react";
import { DraftDialog, type Form } from "@/components/ui/draft-dialog";
import { TextField, Tick } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { REDRIVE_RULE_NEEDS } from "@/lib/rules/redrive-rule.pure";
import { redriveRules } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { errorsOf, type RuleDraft, ruleDraft, ruleRequest } from "./rule-draft";

type Part = Form<RuleDraft>;

/** Creates a rule, switched off, or edits one that is off. */
export function RedriveRuleDialog({ rule, onClose }: { rule: RedriveRuleOut | null; onClose: () => void }) {
  const save = redriveRules.useSave(rule);
  return (
    <DraftDialog
      needs={REDRIVE_RULE_NEEDS}
      by={(draft) => {
        const asked = ruleRequest(draft, "");
        return { everySource: asked.ok && asked.request.filter.source === undefined };
      }}
      title={rule === null ? "New redrive rule" : `Edit ${rule.name}`}
      verb={rule === null ? "Save without switching on" : "Save"}
      initial={() => ruleDraft(rule)}
      request={(draft, reason) => ruleRequest(draft, reason, (rule?.filter ?? {}) as EventFilter)}
      errorsOf={errorsOf}
      save={async (request) => {
        await save.mutateAsync(request);
        return `Saved ${request.name}`;
      }}
      description="The rule is saved switched off. Test it against past events, then switch it on."
      onClose={onClose}
    >
      {(form) => (
        <>
          <TextField {...form.text("name")} label="Name" placeholder="timeouts of orders" maxLength={100} />
          <TextField
            {...form.text("events")}
            label="Events"
            placeholder="source:orders errorCode:TIMEOUT"
            hint="As in the search, by source, errorCode, eventType, aggregateType, fingerprint or tag. Only parked events match."
            maxLength={2_000}
            inputClassName="font-mono"
          />
          <When {...form} />
          <How {...form} />
          <Limits {...form} />
        </>
      )}
    </DraftDialog>
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

function When({ text, tick }: Part) {
  return (
    <Row legend="When">
      <NumberField {...text("delayMinutes")} label="Delay after parking, minutes" />
      <NumberField {...text("redrivesPerEvent")} label="Redrives per event" />
      <div className="grid basis-full gap-1">
        <Tick {...tick("groupSucceeded")} label="only if the same group succeeded since" />
        <Tick {...tick("breakerClosed")} label="only while the target's breaker is closed" />
      </div>
    </Row>
  );
}

const LANES = [
  { value: "slow", label: "slow lane" },
  { value: "main", label: "main lane" },
];

function How({ text }: Part) {
  return (
    <Row legend="How">
      <SelectField {...text("lane")} label="Lane" options={LANES} />
      <NumberField {...text("rate")} label="Events per second" optional />
      <NumberField {...text("everySeconds")} label="Seconds between runs" />
    </Row>
  );
}

function Limits({ text }: Part) {
  return (
    <Row legend="Limits">
      <NumberField {...text("perRun")} label="Events per run" className="w-35" />
      <NumberField {...text("perHour")} label="Events per hour" className="w-35" optional />
      <NumberField {...text("perDay")} label="Events per day" className="w-35" optional />
      <NumberField {...text("stopAtPercent")} label="Switch off above failures, %" className="w-35" />
    </Row>
  );
}

function NumberField(props: ComponentProps<typeof TextField>) {
  return <TextField className="w-40" inputMode="decimal" inputClassName="tabular-nums" {...props} />;
}
