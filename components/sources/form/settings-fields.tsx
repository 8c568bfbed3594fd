"use client";

import { type ComponentProps, useState } from "react";
import { Button } from "@/components/ui/button";
import { CodeField, TextField } from "@/components/ui/input";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { LinksField } from "./links-field";
import type { SourceForm } from "./use-source-form";

/** What is set of a source beside its connection and mapping. */
export function SettingsFields({ form, kind }: { form: SourceForm; kind: KindOut }) {
  const { draft, errors, set, text } = form;
  return (
    <>
      <PayloadSchemaField {...text("payloadSchema")} />
      <TextField
        {...text("stormPerMinute")}
        label="Storm limit"
        optional
        hint={
          kind.capabilities.reads
            ? "The most events of one group to store per minute. Above it, a queue is not read until the next minute; from a log, a sample is stored and the rest is only counted. Events of an aggregate are always stored. Leave empty to store all."
            : "The most events of one group to store per minute. Above it, a sample is stored; the rest is only counted and cannot be redriven. Events of an aggregate are always stored. Leave empty to store all."
        }
        inputMode="numeric"
        inputClassName="max-w-40"
        placeholder="no limit"
      />
      <TextField
        {...text("knownDays")}
        label="Deduplicate repeats for (days)"
        optional
        hint="After an event is removed or expires, a repeat is recognised for this long, and a bounce restores the event. Later arrivals are new events. Choose a time longer than the period in which your broker or its senders may repeat a message. Leave empty for no limit."
        inputMode="numeric"
        inputClassName="max-w-40"
        placeholder="no limit"
      />
      <LinksField links={draft.links} errors={errors} onLinks={(links) => set({ links })} />
    </>
  );
}

/** Folded while it is empty. */
function PayloadSchemaField(props: Pick<ComponentProps<typeof CodeField>, "value" | "error" | "onValue">) {
  const [open, setOpen] = useState(props.value !== "");
  if (!open && props.error === undefined) {
    return (
      <Button variant="ghost" size="sm" className="justify-self-start" onClick={() => setOpen(true)}>
        JSON Schema of payloads…
      </Button>
    );
  }
  return (
    <CodeField
      {...props}
      label="JSON Schema of payloads"
      hint="The dry run refuses payloads that do not match. Leave empty to check only that payloads parse."
      optional
      rows={4}
    />
  );
}

/** Neither answer is chosen beforehand: a wrong "yes" makes an effect twice. */
export function RepeatQuestion(props: {
  answer: boolean | null;
  missing: boolean;
  onAnswer: (answer: boolean) => void;
}) {
  const { answer, missing, onAnswer } = props;
  const options = [
    { value: true, text: "Yes: it honours the Idempotency-Key, or a repeat is harmless" },
    { value: false, text: "No: retry only if the target was never reached" },
  ];
  return (
    <fieldset className="grid gap-1">
      <legend className="mb-1 font-medium">Can a send be retried automatically?</legend>
      {options.map(({ value, text }) => (
        <label key={text} className="flex items-center gap-2">
          <input type="radio" name="retryable" checked={answer === value} onChange={() => onAnswer(value)} />
          {text}
        </label>
      ))}
      {missing ? (
        <p role="alert" className="text-sm text-danger">
          Choose one: only the owner of the target knows.
        </p>
      ) : null}
    </fieldset>
  );
}
