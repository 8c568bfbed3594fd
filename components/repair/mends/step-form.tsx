"use client";

import { Plus, X } from "lucide-react";
import { useId, useRef } from "react";
import { MoveButtons, onMoveKey } from "@/components/repair/move-buttons";
import { Button, IconButton } from "@/components/ui/button";
import { Checkbox, Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { JSON_TYPES } from "@/lib/selection/operations/recipe.pure";
import {
  CONVERT_TO,
  type ConditionDraft,
  newStep,
  type RecipeFault,
  STEP_OPS,
  type StepDraft,
  type TESTS,
} from "./recipe-draft";

const OPS = STEP_OPS.map((op) => ({ value: op, label: op }));
const CONVERT_WORDS: Record<(typeof CONVERT_TO)[number], string> = {
  string: "string",
  number: "number",
  boolean: "boolean",
  null: "null",
  json: "JSON, parsed from a string",
  "json-text": "a string that holds its JSON",
};
const TYPES = CONVERT_TO.map((type) => ({ value: type, label: CONVERT_WORDS[type] }));
const JSON_TYPE_OPTIONS = JSON_TYPES.map((type) => ({ value: type, label: type }));
const TEST_WORDS: Record<(typeof TESTS)[number], string> = {
  exists: "exists",
  missing: "is missing",
  equals: "equals",
  differs: "differs from",
  type: "has the type",
  matches: "matches",
};
const TEST_OPTIONS = Object.entries(TEST_WORDS).map(([value, label]) => ({ value, label }));

const FIELD_WORDS: Record<string, string> = {
  at: "the path",
  to: "what follows “to”",
  value: "the value",
  when: "the path of the condition",
  "when value": "the value of the condition",
};

/** The steps of a recipe, in their order. Alt with an arrow key moves a step. */
export function StepForm(props: {
  steps: StepDraft[];
  /** Shown at their fields; empty until the person wants the preview. */
  faults: RecipeFault[];
  /** Places of sample payloads, offered while typing. */
  places: readonly string[];
  onChange: (steps: StepDraft[]) => void;
}) {
  const { steps, faults, places, onChange } = props;
  const list = useRef<HTMLOListElement>(null);
  const placesId = useId();
  const change = (at: number, part: Partial<StepDraft>) =>
    onChange(steps.map((step, index) => (index === at ? { ...step, ...part } : step)));
  const focusStep = (at: number) =>
    requestAnimationFrame(() => list.current?.children[at]?.querySelector<HTMLElement>("select")?.focus());
  const move = (at: number, by: -1 | 1) => {
    const to = at + by;
    if (to < 0 || to >= steps.length) return;
    const moved = [...steps];
    [moved[at], moved[to]] = [moved[to]!, moved[at]!];
    onChange(moved);
    focusStep(to);
  };
  const add = () => {
    onChange([...steps, newStep(Math.max(-1, ...steps.map(({ key }) => key)) + 1)]);
    focusStep(steps.length);
  };
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <datalist id={placesId}>
        {places.map((place) => (
          <option key={place} value={place} />
        ))}
      </datalist>
      <ol ref={list} aria-label="Steps" className="grid grid-cols-[minmax(0,1fr)] gap-2">
        {steps.map((step, at) => (
          <li
            key={step.key}
            onKeyDown={onMoveKey((by) => move(at, by))}
            className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md border border-line bg-surface p-2"
          >
            <div className="flex items-start gap-2 max-sm:flex-wrap">
              <span className="w-4 pt-1 text-right font-mono text-sm text-faint max-sm:-order-2">{at + 1}</span>
              <StepFields
                step={step}
                number={at + 1}
                placesId={placesId}
                faults={faults.filter((fault) => fault.step === at)}
                onChange={(part) => change(at, part)}
              />
              <span className="ml-auto flex max-sm:-order-1">
                <MoveButtons
                  name={`step ${at + 1}`}
                  first={at === 0}
                  last={at === steps.length - 1}
                  size="sm"
                  onMove={(by) => move(at, by)}
                />
                <IconButton size="sm" label={`Remove step ${at + 1}`} onClick={() => onChange(steps.toSpliced(at, 1))}>
                  <X size={13} aria-hidden />
                </IconButton>
              </span>
            </div>
          </li>
        ))}
      </ol>
      <div>
        <Button size="sm" onClick={add}>
          <Plus size={12} aria-hidden /> Add a step
        </Button>
      </div>
    </div>
  );
}

type StepText = {
  label: string;
  /** As a fault names it. */
  field: string;
  value: string;
  onValue: (value: string) => void;
  /** Absent for the place of a value, which is offered while it is typed. */
  example?: string;
};

function StepFields(props: {
  step: StepDraft;
  number: number;
  placesId: string;
  faults: RecipeFault[];
  onChange: (part: Partial<StepDraft>) => void;
}) {
  const { step, number, placesId, faults, onChange } = props;
  const wrong = (field: string) => faults.some((fault) => fault.field === field) || undefined;
  const errors = useId();
  const { op, when } = step;
  const textInput = ({ label, field, value, onValue, example }: StepText) => (
    <Input
      aria-label={label}
      aria-invalid={wrong(field)}
      aria-describedby={wrong(field) ? errors : undefined}
      list={example === undefined ? placesId : undefined}
      placeholder={example ?? "/customer/id"}
      value={value}
      onChange={(event) => onValue(event.target.value)}
      className="w-52! font-mono text-sm max-sm:w-full!"
    />
  );
  const from = op === "copy" || op === "move" ? "From" : "Path";
  return (
    <div className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)] gap-2 max-sm:basis-full">
      <div className="flex flex-wrap items-center gap-2">
        <Select
          aria-label={`What step ${number} does`}
          options={OPS}
          value={op}
          onChange={(event) => onChange({ op: STEP_OPS.find((one) => one === event.target.value) ?? "set", to: "" })}
        />
        {textInput({
          label: `${from} of step ${number}`,
          field: "at",
          value: step.at,
          onValue: (at) => onChange({ at }),
        })}
        {op === "remove" ? null : <span className="text-muted">to</span>}
        {op === "set" ? (
          textInput({
            label: `Value of step ${number}, as JSON`,
            field: "value",
            value: step.value,
            onValue: (value) => onChange({ value }),
            example: 'JSON: "text", 12, null',
          })
        ) : op === "rename" ? (
          textInput({
            label: `New name of step ${number}`,
            field: "to",
            value: step.to,
            onValue: (to) => onChange({ to }),
            example: "customerId",
          })
        ) : op === "convert" ? (
          <Select
            aria-label={`Type of step ${number}`}
            options={TYPES}
            value={step.to === "" ? "string" : step.to}
            onChange={(event) => onChange({ to: event.target.value })}
            className="max-w-full"
          />
        ) : op === "remove" ? null : (
          textInput({ label: `To of step ${number}`, field: "to", value: step.to, onValue: (to) => onChange({ to }) })
        )}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted">
        {op === "rename" || op === "copy" || op === "move" ? (
          // biome-ignore lint/a11y/noLabelWithoutControl: Checkbox is the control
          <label className="flex items-center gap-1.5">
            <Checkbox checked={step.overwrite} onChange={(event) => onChange({ overwrite: event.target.checked })} />
            replace an existing value
          </label>
        ) : null}
        {/* biome-ignore lint/a11y/noLabelWithoutControl: Checkbox is the control */}
        <label className="flex items-center gap-1.5">
          <Checkbox
            checked={when !== null}
            onChange={(event) =>
              onChange({ when: event.target.checked ? { at: step.at, test: "exists", value: "" } : null })
            }
          />
          only where
        </label>
        {when === null ? null : (
          <Condition
            when={when}
            number={number}
            wrong={wrong}
            placesId={placesId}
            onChange={(part) => onChange({ when: { ...when, ...part } })}
          />
        )}
      </div>
      {faults.length === 0 ? null : (
        <ul id={errors} className="text-sm text-danger">
          {faults.map(({ field, detail }) => (
            <li key={field}>
              {FIELD_WORDS[field] ?? field}: {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Condition(props: {
  when: ConditionDraft;
  number: number;
  wrong: (field: string) => true | undefined;
  placesId: string;
  onChange: (part: Partial<ConditionDraft>) => void;
}) {
  const { when, number, wrong, placesId, onChange } = props;
  const { test } = when;
  return (
    <span className="flex flex-wrap items-center gap-2">
      <Input
        aria-label={`Path of the condition of step ${number}`}
        aria-invalid={wrong("when")}
        list={placesId}
        value={when.at}
        onChange={(event) => onChange({ at: event.target.value })}
        className="h-6! w-40! font-mono text-sm"
      />
      <Select
        aria-label={`Test of the condition of step ${number}`}
        options={TEST_OPTIONS}
        value={test}
        onChange={(event) => onChange({ test: event.target.value as ConditionDraft["test"] })}
        className="h-6!"
      />
      {test === "exists" || test === "missing" ? null : test === "type" ? (
        <Select
          aria-label={`Type in the condition of step ${number}`}
          options={JSON_TYPE_OPTIONS}
          value={when.value === "" ? "string" : when.value}
          onChange={(event) => onChange({ value: event.target.value })}
          className="h-6!"
        />
      ) : (
        <Input
          aria-label={`Value in the condition of step ${number}`}
          aria-invalid={wrong("when value")}
          placeholder={test === "matches" ? "order-*" : 'JSON: "text", 12'}
          value={when.value}
          onChange={(event) => onChange({ value: event.target.value })}
          className="h-6! w-40! font-mono text-sm"
        />
      )}
    </span>
  );
}
