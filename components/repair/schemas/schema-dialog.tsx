"use client";

import { type ReactNode, useState } from "react";
import { jsonObject } from "@/components/sources/form/source-draft";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { CodeField, FileInput, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { shortenId } from "@/lib/platform/plain/format.pure";
import type { SchemaVersion } from "@/lib/sources/schemas/payload-schemas.shapes";
import { useInferSchema, useSchema, useStoreSchema, useTrySchema } from "@/lib/sources/schemas/schemas.browser";
import { inferredWords, trialWords, typeWords } from "./schema-words";

/** Stores a version of a schema: pasted, from a file, or inferred from events that went through. */
export function SchemaDialog(props: {
  source: string;
  /** The version that is edited; null = a schema for a type that has none. */
  stored: SchemaVersion | null;
  onClose: () => void;
}) {
  const { source, stored, onClose } = props;
  const read = useSchema(stored?.id ?? null);
  const [typed, setTyped] = useState<string | null>(null);
  const [type, setType] = useState(stored?.eventType ?? "");
  const [inferred, setInferred] = useState<{ text: string; eventsRead: number } | null>(null);
  const store = useStoreSchema(source);
  const text = typed ?? (read.data ? JSON.stringify(read.data.schema, null, 2) : "");
  const schema = jsonObject(text) ?? null;
  const eventType = type.trim() === "" ? null : type.trim();
  return (
    <ReasonDialog
      needs="change-source"
      title={
        <span className="wrap-anywhere">
          {stored ? `Schema of ${typeWords(stored.eventType)}` : `Add a schema to ${source}`}
        </span>
      }
      description="JSON Schema 2020-12. The dry run refuses events whose payload does not match it. Every version is kept."
      size="lg"
      verb="Save version"
      onClose={onClose}
      onSubmit={async (reason) => {
        if (schema === null) return "stay";
        const eventsRead = inferred?.text === text ? { eventsRead: inferred.eventsRead } : {};
        const made = await store.mutateAsync({ eventType, schema, reason, ...eventsRead });
        return { title: `Version ${made.version} of ${typeWords(eventType)} is now current` };
      }}
    >
      {(pressed) => (
        <div className="grid gap-3">
          {stored ? null : (
            <TextField
              label="Event type"
              hint="Leave empty for all types without a schema of their own."
              optional
              inputClassName="font-mono text-sm"
              value={type}
              onValue={setType}
            />
          )}
          <SchemaOrigins
            source={source}
            eventType={eventType}
            onFile={setTyped}
            onInferred={(text, eventsRead) => {
              setInferred({ text, eventsRead });
              setTyped(text);
            }}
          />
          <CodeField
            label="JSON Schema"
            error={pressed && schema === null ? "Not a JSON object: paste a JSON Schema." : undefined}
            rows={14}
            value={text}
            onValue={setTyped}
          />
          <SchemaTrial key={JSON.stringify([eventType, text])} source={source} eventType={eventType} schema={schema} />
        </div>
      )}
    </ReasonDialog>
  );
}

/** Where a schema may come from, beside the text that a person pastes. */
function SchemaOrigins(props: {
  source: string;
  eventType: string | null;
  onFile: (text: string) => void;
  onInferred: (text: string, eventsRead: number) => void;
}) {
  const { source, eventType, onFile, onInferred } = props;
  const infer = useInferSchema(source);
  const ask = () =>
    infer.mutate(
      { eventType },
      {
        onSuccess: ({ schema, eventsRead }) => {
          if (schema !== null) onInferred(JSON.stringify(schema, null, 2), eventsRead);
        },
      },
    );
  return (
    <Question
      verb="Infer from redriven events"
      ask={ask}
      asked={infer}
      answer={infer.data ? <p className="text-muted">{inferredWords(infer.data)}</p> : null}
    >
      <FileInput
        label="Or a file:"
        accept=".json,application/json"
        onFile={async (file) => onFile(await file.text())}
      />
    </Question>
  );
}

/** How events fare under the schema as it is written. `schema` null = the text is no JSON object. */
function SchemaTrial(props: { source: string; eventType: string | null; schema: Record<string, unknown> | null }) {
  const { source, eventType, schema } = props;
  const trial = useTrySchema(source);
  return (
    <Question
      verb="Test on events"
      ask={schema === null ? null : () => trial.mutate({ eventType, schema })}
      asked={trial}
      answer={
        <>
          {trial.data ? trialWords(trial.data).map((line) => <p key={line}>{line}</p>) : null}
          {trial.data?.parked.samples.map((sample) => (
            <p key={sample.id} className="text-sm wrap-anywhere text-muted">
              <span className="font-mono">{shortenId(sample.eventId, 20, 8)}</span>: {sample.faults[0]?.detail}. To do:{" "}
              {sample.faults[0]?.fix}
            </p>
          ))}
        </>
      }
    >
      <span className="text-sm text-faint">Changes nothing.</span>
    </Question>
  );
}

/** A button that asks the server, with `children` beside it, and the answer below. `ask` null = there is nothing to ask. */
function Question(props: {
  verb: string;
  ask: (() => void) | null;
  asked: { isPending: boolean; error: unknown };
  answer: ReactNode;
  children: ReactNode;
}) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" busy={props.asked.isPending} disabled={props.ask === null} onClick={() => props.ask?.()}>
          {props.verb}
        </Button>
        {props.children}
      </div>
      <div role="status" className="grid gap-1 empty:hidden">
        {props.answer}
      </div>
      {props.asked.error ? <ErrorPanel error={props.asked.error} /> : null}
    </>
  );
}
