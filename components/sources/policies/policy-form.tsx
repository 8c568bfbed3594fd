"use client";

import { useState } from "react";
import { type Config, valueAt, withValue } from "@/components/sources/form/source-draft";
import { TextField } from "@/components/ui/input";
import { type PolicyField, policySteps, shownValue, typedValue } from "./policy-fields";
import { preciseDuration } from "./policy-view";

type Problem = { field: string; detail: string };
type Editing = { body: Config; problems: readonly Problem[]; onBody: (body: Config) => void };

/** What is changed of a policy on call, in the order in which it is designed. A fault is shown at its field. */
export function PolicyForm(editing: Editing) {
  const steps = policySteps(editing.body);
  const shown = new Set(steps.flatMap(({ fields }) => fields.map(({ path }) => path.join("."))));
  const elsewhere = editing.problems.filter(({ field }) => !shown.has(fieldOf(field)));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {elsewhere.length === 0 ? null : (
        <ul className="text-sm text-danger">
          {elsewhere.map(({ field, detail }) => (
            <li key={field} className="wrap-anywhere">
              <code className="font-mono">{field}</code> {detail}
            </li>
          ))}
        </ul>
      )}
      {steps.map(({ title, about, fields }, index) => (
        <fieldset key={title} className="grid grid-cols-[minmax(0,1fr)] gap-2 border-line [&+&]:border-t [&+&]:pt-3">
          <legend className="float-left font-medium">
            {index + 1}. {title}
          </legend>
          <p className="text-sm text-muted">{about}</p>
          {fields.length === 0 ? null : (
            <div className="grid items-start gap-x-3 gap-y-2 sm:grid-cols-2 lg:grid-cols-3">
              {fields.map((field) => (
                <OneField key={field.path.join(".")} field={field} {...editing} />
              ))}
            </div>
          )}
        </fieldset>
      ))}
    </div>
  );
}

/** `backoff.stepsMs[2]` is a fault of `backoff.stepsMs`. */
const fieldOf = (field: string) => field.replace(/\[\d+\]$/, "");

/** Shows what was typed as long as it means the value: `1.` and `1` are one number, and the point must not vanish. */
function OneField({ field, body, problems, onBody }: Editing & { field: PolicyField }) {
  const [typed, setTyped] = useState("");
  const value = valueAt(body, field.path);
  const isTyped = JSON.stringify(typedValue(field, typed)) === JSON.stringify(value ?? null);
  const faults = problems.filter((problem) => fieldOf(problem.field) === field.path.join("."));
  return (
    <TextField
      className={field.holds === "list" ? "sm:col-span-2" : undefined}
      label={field.holds === "ms" ? `${field.label}, ms` : field.label}
      hint={field.hint ?? (field.holds === "ms" ? msWords(value) : undefined)}
      error={faults.length === 0 ? undefined : faults.map(({ detail }) => detail).join("; ")}
      inputClassName="font-mono"
      value={isTyped ? typed : shownValue(value)}
      onValue={(text) => {
        setTyped(text);
        onBody(withValue(body, field.path, typedValue(field, text)));
      }}
    />
  );
}

/** `= 3 s`, of milliseconds that are easier to read so. */
function msWords(value: unknown): string | undefined {
  return typeof value === "number" && value >= 1_000 ? `= ${preciseDuration(value)}` : undefined;
}
