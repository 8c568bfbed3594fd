"use client";

import { X } from "lucide-react";
import { Fragment, type ReactNode, useId, useState } from "react";
import { Button, IconButton } from "@/components/ui/button";
import { Checkbox, CodeTextarea, Field, Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import type { KindField } from "@/lib/sources/kinds.shapes";
import { type Config, KEPT, numberOrText, type SourceErrors, valueAt, withValue } from "./source-draft";

type FieldsProps = {
  fields: readonly KindField[];
  /** What is shown below the first address: the answer of a probe of it. */
  belowAddress?: ReactNode;
  config: Config;
  errors: SourceErrors;
  onConfig: (config: Config) => void;
};

/** A control for each setting of a kind, in their order. Settings of one object stand together. */
export function ConfigFields({ fields, belowAddress, ...rest }: FieldsProps) {
  const address = fields.find(({ role }) => role === "address");
  const groups = Object.values(Object.groupBy(fields, ({ path }) => (path.length > 1 ? path[0]! : path.join("."))));
  return groups.map((group) => {
    const controls = group!.map((field) => (
      <Fragment key={field.path.join(".")}>
        <ConfigField field={field} {...rest} />
        {field === address ? belowAddress : null}
      </Fragment>
    ));
    const [first] = group!;
    if (first!.path.length === 1) return controls;
    return (
      <fieldset
        key={first!.path[0]}
        className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4 border-l-2 border-line pl-3"
      >
        {first!.section === undefined ? null : <legend className="mb-3 font-medium">{first!.section}</legend>}
        {controls}
      </fieldset>
    );
  });
}

function ConfigField(props: Omit<FieldsProps, "fields" | "belowAddress"> & { field: KindField }) {
  const { field, config, errors, onConfig } = props;
  const { path, label, hint, required, input } = field;
  const error = errors[path.join(".")];
  const value = valueAt(config, path);
  const set = (next: unknown) => onConfig(withValue(config, path, next));
  if (input === "flag") return <Flag field={field} value={value} error={error} set={set} />;
  if (input === "pairs") return <Pairs field={field} value={value} error={error} set={set} />;
  return (
    <Field label={label} hint={hint} error={error} optional={!required && field.default === undefined}>
      {(control) => <ValueInput {...control} field={field} value={value} set={set} />}
    </Field>
  );
}

/** A secret without an example of its own is named like this. */
const REFERENCE = "env:PARKADE_SECRET_NAME";

type ValueProps = { field: KindField; value: unknown; set: (value: unknown) => void };

function ValueInput({ field, value, set, ...control }: ValueProps & { id: string }) {
  const { input, role, long, example, choices, default: fallback } = field;
  // An emptied field keeps what is stored. Only the JSON of the configuration can remove it.
  const [stored] = useState(value === KEPT);
  if (input === "choice") {
    const unset = fallback === undefined ? [{ value: "", label: "not set" }] : [];
    return (
      <Select
        {...control}
        options={[...unset, ...choices!.map((choice) => ({ value: choice, label: choice }))]}
        value={String(value ?? fallback ?? "")}
        onChange={(event) => set(event.target.value === "" ? undefined : event.target.value)}
      />
    );
  }
  const kept = role === "secret" && value === KEPT;
  const text = kept ? "" : textOf(value);
  const placeholder = kept
    ? "unchanged: type to replace"
    : (example ?? (role === "secret" ? REFERENCE : fallback === undefined ? undefined : `default: ${fallback}`));
  if (input === "list") {
    return (
      <CodeTextarea
        {...control}
        rows={Math.min(8, Math.max(2, text.split("\n").length))}
        placeholder={placeholder ? `${placeholder}\none per line` : "one per line"}
        value={text}
        onChange={(event) => set(event.target.value === "" ? undefined : event.target.value.split("\n"))}
      />
    );
  }
  const shared = {
    ...control,
    className: "font-mono",
    placeholder,
    value: text,
    onChange: (event: { target: { value: string } }) => {
      const typed = event.target.value;
      if (typed === "") set(stored ? KEPT : undefined);
      else set(input === "number" ? numberOrText(typed) : typed);
    },
  };
  if (long) return <CodeTextarea {...shared} rows={4} />;
  // A reference is no secret, and is checked with the eye.
  const isReference = ["env:", "file:/"].some((head) => text.startsWith(head.slice(0, text.length)));
  const hidden = role === "secret" && !isReference;
  return (
    <Input
      {...shared}
      type={hidden ? "password" : "text"}
      autoComplete={role === "secret" ? "new-password" : "off"}
      inputMode={input === "number" ? "numeric" : undefined}
    />
  );
}

/** A list as its lines; anything that the form does not know as JSON. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.join("\n");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

type OwnLabelProps = ValueProps & { error: string | undefined };

function Flag({ field, value, error, set }: OwnLabelProps) {
  const id = useId();
  const standard = field.default === true;
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="flex items-baseline gap-2">
        <Checkbox
          id={id}
          className="translate-y-0.5"
          checked={value === undefined ? standard : value === true}
          aria-invalid={error ? true : undefined}
          onChange={(event) => set(event.target.checked === standard ? undefined : event.target.checked)}
        />
        <span>{field.label}</span>
      </label>
      {field.hint ? <p className="pl-5.5 text-sm text-faint">{field.hint}</p> : null}
      {error ? <p className="pl-5.5 text-sm text-danger">{error}</p> : null}
    </div>
  );
}

type Row = { id: number; name: string; value: string };

function rowsOf(value: unknown): Row[] {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return entries.map(([name, text], id) => ({ id, name, value: textOf(text) }));
}

/** Names with their values. Rows are kept while they are typed: two may have one name, or none, for a moment. */
export function Pairs({ field, value, error, set, list }: OwnLabelProps & { list?: string }) {
  const [rows, setRows] = useState(() => rowsOf(value));
  const change = (next: Row[]) => {
    setRows(next);
    const named = next.filter(({ name }) => name.trim() !== "").map((row) => [row.name.trim(), row.value]);
    set(named.length === 0 ? undefined : Object.fromEntries(named));
  };
  const edit = (id: number, part: Partial<Row>) =>
    change(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  return (
    <fieldset className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <legend className="mb-1 text-sm font-medium text-muted">
        {field.label} <span className="font-normal text-faint">· optional</span>
      </legend>
      {rows.map(({ id, name, value: text }) => (
        <div key={id} className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto] items-center gap-2">
          <Input
            className="font-mono"
            aria-label={`${field.label}: name`}
            placeholder="name"
            value={name}
            onChange={(event) => edit(id, { name: event.target.value })}
          />
          <Input
            className="font-mono"
            aria-label={`${field.label}: value of ${name || "the new entry"}`}
            aria-invalid={error ? true : undefined}
            placeholder={field.role === "secret" ? `value, or ${REFERENCE}` : "value"}
            list={list}
            value={text}
            onChange={(event) => edit(id, { value: event.target.value })}
          />
          <IconButton
            size="sm"
            label={`Remove ${name || "the entry"}`}
            onClick={() => change(rows.filter((row) => row.id !== id))}
          >
            <X size={12} aria-hidden />
          </IconButton>
        </div>
      ))}
      <Button
        size="sm"
        variant="ghost"
        className="justify-self-start"
        onClick={() => setRows([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, name: "", value: "" }])}
      >
        Add {field.label.toLowerCase()}
      </Button>
      {field.hint ? <p className="text-sm text-faint">{field.hint}</p> : null}
      {error ? <p className="text-sm text-danger">{error}</p> : null}
    </fieldset>
  );
}
