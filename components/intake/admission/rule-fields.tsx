"use client";

import { Trash2 } from "lucide-react";
import { useId } from "react";
import { Button, IconButton } from "@/components/ui/button";
import type { Form } from "@/components/ui/draft-dialog";
import { Choice, Input, TextField, Tick } from "@/components/ui/input";
import { Select, SelectField } from "@/components/ui/select";
import {
  type Condition,
  NUMBER_FIELDS,
  NUMBER_TESTS,
  TEXT_FIELDS,
  TEXT_TESTS,
} from "@/lib/intake/admission/admission.pure";
import { useSources } from "@/lib/sources/sources.browser";
import {
  type CodeChoice,
  type ConditionDraft,
  isNumberField,
  newCondition,
  type RuleDraft,
  withField,
} from "./rule-draft";
import { FIELD_LABEL, TEST_LABEL } from "./rule-words";

type RulePart = Form<RuleDraft>;

const FIELDS = [...TEXT_FIELDS, "header" as const, "body" as const, ...NUMBER_FIELDS].map((value) => ({
  value,
  label: FIELD_LABEL[value],
}));
const labelled = (tests: readonly Condition["is"][]) => tests.map((value) => ({ value, label: TEST_LABEL[value] }));
const OF_TEXT = labelled([...TEXT_TESTS, "present"]);
const OF_NUMBER = labelled(NUMBER_TESTS);

export function NameAndSource({ draft, text }: RulePart) {
  const sources = useSources().data?.items ?? [];
  const names = new Set([...sources.map(({ name }) => name), ...(draft.source === "" ? [] : [draft.source])]);
  return (
    <div className="flex flex-wrap items-start gap-3">
      <TextField
        {...text("name")}
        label="Name"
        className="min-w-48 flex-1"
        maxLength={100}
        placeholder="validation errors are permanent"
      />
      <SelectField
        {...text("source")}
        label="Source"
        className="max-w-full"
        inputClassName="max-w-full"
        options={[{ value: "", label: "all sources" }, ...[...names].map((name) => ({ value: name, label: name }))]}
      />
    </div>
  );
}

export function Conditions({ draft, errors, set }: RulePart) {
  const { conditions } = draft;
  const change = (key: number, next: ConditionDraft | null) =>
    set({ conditions: conditions.flatMap((each) => (each.key === key ? (next ?? []) : [each])) });
  return (
    <fieldset className="grid min-w-0 gap-2">
      <legend className="mb-1 text-sm font-medium text-muted">
        When {conditions.length > 1 ? "all of these match" : "this matches"}
      </legend>
      {conditions.length === 0 ? <p className="text-muted">No condition: it matches every message.</p> : null}
      {conditions.map((condition, index) => (
        <ConditionRow
          key={condition.key}
          condition={condition}
          place={index + 1}
          error={["field", "name", "pointer", "is", "value"]
            .map((name) => errors[`when[${index}].${name}`])
            .find((text) => text !== undefined)}
          onChange={(next) => change(condition.key, next)}
        />
      ))}
      {errors.when ? <p className="text-sm text-danger">{errors.when}</p> : null}
      <div>
        <Button
          size="sm"
          disabled={conditions.length >= CONDITIONS_MAX}
          onClick={() => set({ conditions: [...conditions, newCondition()] })}
        >
          Add a condition
        </Button>
      </div>
    </fieldset>
  );
}

const CONDITIONS_MAX = 10;
const PLACE_LABEL = { header: "Header", body: "JSON pointer" };

function ConditionRow(props: {
  condition: ConditionDraft;
  place: number;
  error: string | undefined;
  onChange: (next: ConditionDraft | null) => void;
}) {
  const { condition, place, error, onChange } = props;
  const { field, is } = condition;
  const set = (part: Partial<ConditionDraft>) => onChange({ ...condition, ...part });
  const errorId = useId();
  const invalid = error ? ({ "aria-invalid": true, "aria-describedby": errorId } as const) : {};
  const hasCase = !isNumberField(field) && is !== "present";
  return (
    <fieldset className="grid min-w-0 gap-1 rounded-md border border-line px-2 py-1.5">
      <legend className="sr-only">Condition {place}</legend>
      <div className="flex flex-wrap items-center gap-1.5">
        <Select
          aria-label="Field"
          options={FIELDS}
          value={field}
          onChange={(event) => onChange(withField(condition, event.target.value as Condition["field"]))}
        />
        {field === "header" || field === "body" ? (
          <Input
            {...(condition.place.trim() === "" ? invalid : {})}
            aria-label={PLACE_LABEL[field]}
            className="w-36! font-mono"
            placeholder={field === "header" ? "x-tenant" : "/order/kind"}
            maxLength={200}
            value={condition.place}
            onChange={(event) => set({ place: event.target.value })}
          />
        ) : null}
        <Select
          aria-label="Test"
          options={isNumberField(field) ? OF_NUMBER : OF_TEXT}
          value={is}
          onChange={(event) => set({ is: event.target.value as Condition["is"] })}
        />
        {is === "present" ? null : (
          <Input
            {...invalid}
            aria-label="Value"
            className="w-auto! min-w-32 flex-1 font-mono"
            placeholder={is === "glob" ? "* stands for any text" : undefined}
            inputMode={isNumberField(field) ? "numeric" : undefined}
            maxLength={200}
            value={condition.value}
            onChange={(event) => set({ value: event.target.value })}
          />
        )}
        <IconButton size="sm" label={`Remove condition ${place}`} onClick={() => onChange(null)}>
          <Trash2 size={14} aria-hidden />
        </IconButton>
      </div>
      <div className="flex flex-wrap gap-x-4">
        <Tick className="text-sm text-muted" label="not" checked={condition.not} onChecked={(not) => set({ not })} />
        {hasCase ? (
          <Tick
            className="text-sm text-muted"
            label="any case"
            checked={condition.ignoreCase}
            onChecked={(ignoreCase) => set({ ignoreCase })}
          />
        ) : null}
      </div>
      {error ? (
        <p id={errorId} className="text-sm text-danger">
          {error}
        </p>
      ) : null}
    </fieldset>
  );
}

const CODES: { value: CodeChoice; label: string }[] = [
  { value: "keep", label: "keep as is" },
  { value: "value", label: "set to" },
  { value: "errorType", label: "use the exception's name" },
  { value: "header", label: "use the header" },
  { value: "body", label: "use the payload at" },
];
const CODE_LABEL = {
  value: "New error code",
  header: "Header of the error code",
  body: "JSON pointer of the error code",
};
const CODE_EXAMPLE = { value: "VALIDATION_ERROR", header: "x-error-code", body: "/error/code" };

const ENDS = [
  { value: "park", label: "park the message" },
  { value: "drop", label: "drop and count the message" },
] as const;

const PARKS = [
  { value: "", label: "no restriction" },
  { value: "early", label: "park early: permanent, redriven only with confirmation" },
  { value: "confirm", label: "require confirmation before a redrive" },
] as const;

/** What the rule does: it drops, or it changes what is known about the event. */
export function Effects({ draft, errors, set, text }: RulePart) {
  const { code } = draft;
  return (
    <fieldset className="grid min-w-0 gap-3">
      <legend className="mb-1 text-sm font-medium text-muted">Then</legend>
      <Choice
        label="Park or drop"
        className="flex flex-wrap gap-x-6 gap-y-1"
        options={ENDS}
        value={draft.drop ? "drop" : "park"}
        onChange={(end) => set({ drop: end === "drop" })}
      />
      {draft.drop ? (
        <p className="text-muted">
          A dropped message is acknowledged and not stored. It is counted here, and a few are kept as samples. Bounces
          of messages that Parkade sent are never dropped.
        </p>
      ) : (
        <>
          <div className="flex flex-wrap items-start gap-2">
            <SelectField
              label="Error code"
              options={CODES}
              value={code}
              onValue={(value) => set({ code: value as CodeChoice, codeText: "" })}
            />
            {code === "keep" || code === "errorType" ? null : (
              <TextField
                {...text("codeText")}
                label={CODE_LABEL[code]}
                error={errors["do.errorCode"]}
                className="min-w-40 flex-1"
                inputClassName="font-mono"
                maxLength={200}
                placeholder={CODE_EXAMPLE[code]}
              />
            )}
          </div>
          <TextField
            {...text("group")}
            label="Group"
            optional
            error={errors["do.group"]}
            hint="Creates one group with this name per error code."
            maxLength={120}
            placeholder="stock service is down"
          />
          <Choice label="Before a redrive" options={PARKS} value={draft.park} onChange={(park) => set({ park })} />
        </>
      )}
      {errors.do ? <p className="text-sm text-danger">{errors.do}</p> : null}
    </fieldset>
  );
}
