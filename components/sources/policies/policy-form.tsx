"use client";

import { useState } from "react";
import { Field, Input, TextField } from "@/components/ui/input";
import { SelectField } from "@/components/ui/select";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import {
  type Body,
  msWords,
  type PolicyField,
  type PolicyPart,
  shownValue,
  typedList,
  typedNumber,
  valueAt,
  withValueAt,
} from "./policy-fields";

type Problem = { field: string; detail: string };
type Part = { body: Body; problems: readonly Problem[]; onBody: (body: Body) => void };

/** A policy as fields, in the order in which it is designed. A fault is shown at its field. */
export function PolicyForm({ parts, ...part }: Part & { parts: readonly PolicyPart[] }) {
  const shown = new Set(parts.flatMap(({ fields }) => fields.map(({ path }) => path.join("."))));
  const elsewhere = part.problems.filter(({ field }) => !shown.has(fieldOf(field)));
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
      {parts.map(({ title, about, fields }, index) => (
        <fieldset key={title} className="grid grid-cols-[minmax(0,1fr)] gap-2 border-line [&+&]:border-t [&+&]:pt-3">
          <legend className="float-left font-medium">
            {index + 1}. {title}
          </legend>
          <p className="text-sm text-muted">{about}</p>
          {fields.length === 0 ? null : (
            <div className="grid items-start gap-x-3 gap-y-2 sm:grid-cols-2 lg:grid-cols-3">
              {fields.map((field) => (
                <OneField key={field.path.join(".")} field={field} {...part} />
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

function OneField({ field, body, problems, onBody }: Part & { field: PolicyField }) {
  const path = field.path.join(".");
  const faults = problems.filter((problem) => fieldOf(problem.field) === path).map(({ detail }) => detail);
  const error = faults.length === 0 ? undefined : faults.join("; ");
  if (field.kind === "choice") {
    const { label, options, value, hint, choose } = field;
    const known = options.some((option) => option.value === value);
    return (
      <SelectField
        label={label}
        hint={hint}
        error={error}
        options={known ? options : [{ value, label: "as in the JSON" }, ...options]}
        value={value}
        onValue={(chosen) => onBody(choose(chosen))}
      />
    );
  }
  return (
    <TypedField
      field={field}
      error={error}
      value={valueAt(body, field.path)}
      onValue={(value) => onBody(withValueAt(body, field.path, value))}
    />
  );
}

type Typed = Exclude<PolicyField, { kind: "choice" }>;

function read(field: Typed, text: string): unknown {
  return field.kind === "number" ? typedNumber(text) : typedList(text, field.of);
}

/** Shows what was typed as long as it means the value: `1.` and `1` are one number, and the point must not vanish. */
function TypedField(props: {
  field: Typed;
  error: string | undefined;
  value: unknown;
  onValue: (value: unknown) => void;
}) {
  const { field, error, value, onValue } = props;
  const [typed, setTyped] = useState("");
  const text = JSON.stringify(read(field, typed)) === JSON.stringify(value ?? null) ? typed : shownValue(value);
  const type = (next: string) => {
    setTyped(next);
    onValue(read(field, next));
  };
  const hint = [
    field.kind === "number" && field.unit === "ms" ? msWords(value) : null,
    field.hint,
    usualText(field, value),
  ]
    .filter((part) => part)
    .join(" · ");
  if (field.kind === "list") {
    return (
      <TextField
        className="sm:col-span-2"
        label={field.label}
        hint={hint}
        error={error}
        inputClassName="font-mono"
        value={text}
        onValue={type}
      />
    );
  }
  return (
    <Field label={field.label} hint={hint || undefined} error={error}>
      {(control) => (
        <span className="flex items-center gap-2">
          <Input
            {...control}
            inputMode="decimal"
            className="max-w-32 min-w-0 text-right font-mono"
            value={text}
            onChange={(event) => type(event.target.value)}
          />
          <span className="text-sm whitespace-nowrap text-muted">{field.unit}</span>
        </span>
      )}
    </Field>
  );
}

/** The preset's value, where another one is set. */
function usualText({ usual }: Typed, value: unknown): string | null {
  if (usual === undefined || JSON.stringify(usual) === JSON.stringify(value)) return null;
  if (usual === null) return "preset: empty";
  return `preset: ${typeof usual === "number" ? formatNumber(usual) : shownValue(usual)}`;
}
