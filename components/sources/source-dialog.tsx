"use client";

import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Checkbox, Field, Input, Radio, Textarea } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { showToast } from "@/components/ui/toast";
import { useCreateSource, useProbe, useSaveSource } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";
import { ProbeResult } from "./probe-result";
import { errorsOf, KINDS, type SourceDraft, type SourceErrors, sourceBody, sourceDraft } from "./source-draft";

const KIND_HINT = {
  http: "services post their dead letters here",
  rabbitmq: "Parkade reads a dead-letter queue",
} as const;

type Part = { draft: SourceDraft; errors: SourceErrors; set: (part: Partial<SourceDraft>) => void };

/** Makes or edits a source. Its name and kind never change: events and targets are named after it. */
export function SourceDialog({ source, onClose }: { source: SourceOut | null; onClose: () => void }) {
  const [draft, setDraft] = useState(() => sourceDraft(source));
  const [pressed, setPressed] = useState(false);
  const create = useCreateSource();
  const change = useSaveSource(source?.name ?? "");
  const probe = useProbe();
  const result = sourceBody(draft);
  const failure = create.error ?? change.error ?? probe.error;
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], draft.kind),
    ...(pressed && !result.ok ? result.errors : {}),
  };
  const part: Part = { draft, errors, set: (next) => setDraft({ ...draft, ...next }) };

  const save = async () => {
    setPressed(true);
    if (!result.ok) return;
    const { name, kind, ...settings } = result.source;
    try {
      if (source === null) await create.mutateAsync({ name, kind, ...settings });
      else await change.mutateAsync(settings);
    } catch {
      return; // shown from `failure`, and beside its fields
    }
    onClose();
    void showToast({ title: source === null ? `Connected ${name}` : `Saved ${name}`, tone: "success" });
  };
  const look = () => {
    setPressed(true);
    if (result.ok) probe.mutate({ kind: result.source.kind, config: result.source.config });
  };

  return (
    <Dialog
      title={source === null ? "Connect a source" : `Edit ${source.name}`}
      description="Secrets stay in the environment: write env:NAME instead of a password."
      onClose={onClose}
      footer={
        <>
          {/* Masked values are known to the server only by the stored source: an edited one is probed from its card. */}
          {source === null ? (
            <Button busy={probe.isPending} onClick={look}>
              Probe
            </Button>
          ) : null}
          <Button variant="primary" type="submit" form="source" busy={create.isPending || change.isPending}>
            {source === null ? "Connect" : "Save"}
          </Button>
        </>
      }
    >
      <form
        id="source"
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {failure ? <ErrorPanel error={failure} inline title="This was not done" /> : null}
        {source === null ? <NameAndKind {...part} /> : null}
        {draft.kind === "http" ? <HttpFields {...part} /> : <RabbitFields {...part} />}
        <Further {...part} />
        <Check
          label="Take dead letters from it"
          checked={draft.enabled}
          onChecked={(enabled) => part.set({ enabled })}
        />
        {probe.data ? <ProbeResult probe={probe.data} /> : null}
      </form>
    </Dialog>
  );
}

type TextName = { [Name in keyof SourceDraft]: SourceDraft[Name] extends string ? Name : never }[keyof SourceDraft];

function TextField(
  props: Part & { name: TextName; label: string; hint?: string; placeholder?: string; optional?: boolean },
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

function Check(props: { label: string; checked: boolean; onChecked: (checked: boolean) => void }) {
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

function NameAndKind(part: Part) {
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

function HttpFields(part: Part) {
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

function RabbitFields(part: Part) {
  const { draft, errors, set } = part;
  return (
    <>
      <TextField {...part} name="url" label="Broker" placeholder="env:ORDERS_AMQP_URL" />
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

function Further({ draft, errors, set }: Part) {
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
