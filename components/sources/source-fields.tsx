"use client";

import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Checkbox, Field, Input, Radio, Textarea } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { KINDS, type SourceDraft, type SourceErrors } from "./source-draft";

export type FieldsProps = { draft: SourceDraft; errors: SourceErrors; set: (part: Partial<SourceDraft>) => void };

const KIND_HINT = {
  http: "services post their dead letters here",
  rabbitmq: "Parkade reads a dead-letter queue",
} as const;

type TextName = { [Name in keyof SourceDraft]: SourceDraft[Name] extends string ? Name : never }[keyof SourceDraft];

function TextField(
  props: FieldsProps & { name: TextName; label: string; hint?: string; placeholder?: string; optional?: boolean },
) {
  const { name, draft, errors, set } = props;
  return (
    <Field label={props.label} hint={props.hint} error={errors[name]} optional={props.optional}>
      {(control) => (
        <Input
          {...control}
          className="font-mono"
          placeholder={props.placeholder}
          value={draft[name]}
          onChange={(event) => set({ [name]: event.target.value })}
        />
      )}
    </Field>
  );
}

export function Check(props: { label: string; checked: boolean; onChecked: (checked: boolean) => void }) {
  const id = useId();
  return (
    <label htmlFor={id} className="flex items-baseline gap-2">
      <Checkbox
        id={id}
        className="translate-y-0.5"
        checked={props.checked}
        onChange={(event) => props.onChecked(event.target.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}

export function NameAndKind(part: FieldsProps) {
  const { draft, errors, set } = part;
  return (
    <>
      <TextField
        {...part}
        name="name"
        label="Name"
        hint="Never changes: it stands in every Idempotency-Key."
        placeholder="orders"
      />
      <div role="radiogroup" aria-label="Kind" className="flex flex-wrap gap-x-6 gap-y-1">
        {KINDS.map((kind) => (
          <label key={kind} htmlFor={`source-${kind}`} className="flex items-center gap-2">
            <Radio
              id={`source-${kind}`}
              name="source-kind"
              checked={draft.kind === kind}
              onChange={() => set({ kind })}
            />
            {kind} <span className="text-muted">{KIND_HINT[kind]}</span>
          </label>
        ))}
        {errors.kind ? <p className="text-sm text-danger">{errors.kind}</p> : null}
      </div>
    </>
  );
}

export function HttpFields(part: FieldsProps) {
  return (
    <>
      <TextField
        {...part}
        name="redriveUrl"
        label="Redrive URL"
        hint="Where a redrive posts. Without it events can be parked, not redriven."
        placeholder="https://orders.example/redrive"
        optional
      />
      <TextField
        {...part}
        name="slowLaneUrl"
        label="Slow-lane URL"
        hint="An isolated instance or queue; empty: the redrive URL."
        placeholder="https://orders-slow.example/redrive"
        optional
      />
      <Check
        label="Send parked credentials again (authorization, cookie). They are old by then."
        checked={part.draft.forwardCredentials}
        onChecked={(forwardCredentials) => part.set({ forwardCredentials })}
      />
    </>
  );
}

const REDRIVE_MODES = [
  { value: "origin-queue", label: "the queue it died in" },
  { value: "exchange", label: "the exchange it was published to" },
];

export function RabbitFields(part: FieldsProps) {
  const { draft, errors, set } = part;
  return (
    <>
      <TextField {...part} name="url" label="Broker" placeholder="env:PARKADE_SECRET_ORDERS_URL" />
      <div className="grid gap-4 sm:grid-cols-[2fr_1fr]">
        <TextField {...part} name="queue" label="Dead-letter queue" placeholder="orders.dlq" />
        <TextField {...part} name="prefetch" label="Prefetch" placeholder="by default" optional />
      </div>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <Field label="A redrive goes to" error={errors.redriveMode}>
          {(control) => (
            <Select
              {...control}
              options={REDRIVE_MODES}
              value={draft.redriveMode}
              onChange={(event) => set({ redriveMode: event.target.value as SourceDraft["redriveMode"] })}
            />
          )}
        </Field>
        <TextField
          {...part}
          name="redriveQueue"
          label="Or to this queue"
          hint="Where headers do not name the origin."
          optional
        />
      </div>
      <TextField {...part} name="slowLaneQueue" label="Slow-lane queue" placeholder="orders.slow" optional />
    </>
  );
}

export function Further({ draft, errors, set }: FieldsProps) {
  const [open, setOpen] = useState(draft.more !== "" || draft.payloadSchema !== "");
  const shown = open || errors.more !== undefined || errors.payloadSchema !== undefined;
  if (!shown) {
    return (
      <Button variant="ghost" size="sm" className="justify-self-start" onClick={() => setOpen(true)}>
        Mapping, headers, payload schema…
      </Button>
    );
  }
  return (
    <>
      <Field
        label="Further settings, JSON"
        hint='Where facts are found: {"mapping": {"aggregateId": "/order/id", "tags": {"orderId": "/order/id"}}}'
        error={errors.more}
        optional
      >
        {(control) => (
          <Textarea
            {...control}
            rows={4}
            spellCheck={false}
            className="font-mono text-sm"
            value={draft.more}
            onChange={(event) => set({ more: event.target.value })}
          />
        )}
      </Field>
      <Field
        label="JSON Schema of payloads"
        hint="The dry run refuses what does not match. Empty: a payload only has to parse."
        error={errors.payloadSchema}
        optional
      >
        {(control) => (
          <Textarea
            {...control}
            rows={4}
            spellCheck={false}
            className="font-mono text-sm"
            value={draft.payloadSchema}
            onChange={(event) => set({ payloadSchema: event.target.value })}
          />
        )}
      </Field>
    </>
  );
}
