"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { CodeTextarea, Field } from "@/components/ui/input";

/** Folded while it is empty. */
export function PayloadSchemaField(props: { text: string; error: string | undefined; onText: (text: string) => void }) {
  const [open, setOpen] = useState(props.text !== "");
  if (!open && props.error === undefined) {
    return (
      <Button variant="ghost" size="sm" className="justify-self-start" onClick={() => setOpen(true)}>
        JSON Schema of payloads…
      </Button>
    );
  }
  return (
    <Field
      label="JSON Schema of payloads"
      hint="The dry run refuses what does not match. Empty: a payload only has to parse."
      error={props.error}
      optional
    >
      {(control) => (
        <CodeTextarea {...control} rows={4} value={props.text} onChange={(event) => props.onText(event.target.value)} />
      )}
    </Field>
  );
}
