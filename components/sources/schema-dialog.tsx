"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input, Textarea } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useInferSchema, useSchema, useStoreSchema, useTrySchema } from "@/lib/browser/schemas";
import type { SchemaVersion } from "@/lib/contract/payload-schemas";
import { inferredWords, trialWords, typeWords } from "./schema-words";

/** Stores a version of a schema: pasted, from a file, or inferred from events that went through. */
export function SchemaDialog({
  source,
  stored,
  onClose,
}: {
  source: string;
  /** The version that is edited; null = a schema for a type that has none. */
  stored: SchemaVersion | null;
  onClose: () => void;
}) {
  const read = useSchema(source, stored?.id ?? null);
  const [typed, setTyped] = useState<string | null>(null);
  const [type, setType] = useState(stored?.eventType ?? "");
  const [inferredText, setInferredText] = useState<string | null>(null);
  const store = useStoreSchema(source);
  const infer = useInferSchema(source);
  const trial = useTrySchema(source);
  const text = typed ?? (read.data ? JSON.stringify(read.data.schema, null, 2) : "");
  const schema = objectOf(text);
  const eventType = type.trim() === "" ? null : type.trim();
  const setText = (next: string) => {
    setTyped(next);
    trial.reset();
  };
  const eventsRead = inferredText === text ? infer.data?.eventsRead : undefined;
  return (
    <ReasonDialog
      title={
        <span className="wrap-anywhere">
          {stored ? `Schema of ${typeWords(stored.eventType)}` : `Add a schema to ${source}`}
        </span>
      }
      description="JSON Schema 2020-12. The dry run refuses events whose payload breaks it. Every version is kept."
      size="lg"
      verb="Store a version"
      onClose={onClose}
      onSubmit={async (reason) => {
        if (schema === null) return "stay";
        const made = await store.mutateAsync({ eventType, schema, reason, ...(eventsRead ? { eventsRead } : {}) });
        return { title: `Version ${made.version} of ${typeWords(eventType)} is in force` };
      }}
    >
      {(pressed) => (
        <div className="grid gap-3">
          {stored ? null : (
            <Field label="Event type" hint="Empty: the types that have no schema of their own." optional>
              {(control) => (
                <Input
                  {...control}
                  className="font-mono text-sm"
                  value={type}
                  onChange={(event) => setType(event.target.value)}
                />
              )}
            </Field>
          )}
          <div className="flex flex-wrap items-center gap-2">
            <Button
              size="sm"
              busy={infer.isPending}
              onClick={() =>
                infer.mutate(
                  { eventType },
                  {
                    onSuccess: (found) => {
                      if (found.schema === null) return;
                      const made = JSON.stringify(found.schema, null, 2);
                      setInferredText(made);
                      setText(made);
                    },
                  },
                )
              }
            >
              Infer from redriven events
            </Button>
            <label className="text-sm text-muted">
              Or a file:{" "}
              <input
                type="file"
                accept=".json,application/json"
                className="max-w-56 text-sm"
                onChange={async (event) => {
                  const file = event.target.files?.[0];
                  if (file) setText(await file.text());
                }}
              />
            </label>
          </div>
          <div role="status" className="text-muted empty:hidden">
            {infer.data ? inferredWords(infer.data) : null}
          </div>
          {infer.error ? <ErrorPanel error={infer.error} /> : null}
          <Field
            label="JSON Schema"
            error={pressed && schema === null ? "Not a JSON object: paste a JSON Schema." : undefined}
          >
            {(control) => (
              <Textarea
                {...control}
                rows={14}
                spellCheck={false}
                className="font-mono text-sm"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
          <div className="flex flex-wrap items-center gap-2">
            <Button
              size="sm"
              busy={trial.isPending}
              disabled={schema === null}
              onClick={() => trial.mutate({ eventType, schema: schema! })}
            >
              Try on events
            </Button>
            <span className="text-sm text-faint">Changes nothing.</span>
          </div>
          <div role="status" className="grid gap-1 empty:hidden">
            {trial.data ? trialWords(trial.data).map((line) => <p key={line}>{line}</p>) : null}
            {trial.data?.parked.samples.map((sample) => (
              <p key={sample.id} className="text-sm wrap-anywhere text-muted">
                <span className="font-mono">{sample.eventId}</span>: {sample.faults[0]?.detail}. To do:{" "}
                {sample.faults[0]?.fix}
              </p>
            ))}
          </div>
          {trial.error ? <ErrorPanel error={trial.error} /> : null}
        </div>
      )}
    </ReasonDialog>
  );
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
