import type { Asked } from "@/components/ui/draft-dialog";
import type { SavedRule } from "@/lib/intake/admission/admission.browser";
import type { CodeSource, Condition, RuleBody, RuleEffect } from "@/lib/intake/admission/admission.pure";
import type { RuleOut, TryRequest } from "@/lib/intake/admission/admission.shapes";
import type { FieldError } from "@/lib/platform/plain/problem.pure";

export type ConditionDraft = {
  /** Of its row, in this dialog only. */
  key: number;
  field: Condition["field"];
  /** Name of a header, or a JSON pointer. */
  place: string;
  is: Condition["is"];
  value: string;
  not: boolean;
  ignoreCase: boolean;
};

/** How a rule gives an error code. `keep`: it does not. */
export type CodeChoice = "keep" | "value" | "errorType" | "header" | "body";

export type RuleDraft = {
  name: string;
  /** Empty = every source. */
  source: string;
  conditions: ConditionDraft[];
  code: CodeChoice;
  /** The error code, the header or the pointer that `code` needs. */
  codeText: string;
  group: string;
  park: "" | "early" | "confirm";
  drop: boolean;
};

/** Texts by the path of their field, as the API names it: `when[0].value`. */
type RuleErrors = Record<string, string>;

export const isNumberField = (field: Condition["field"]) => field === "payloadBytes" || field === "attempts";

let lastKey = 0;

export function newCondition(part: Partial<ConditionDraft> = {}): ConditionDraft {
  return {
    ...{ key: ++lastKey, field: "errorType", place: "", is: "contains", value: "", not: false, ignoreCase: false },
    ...part,
  };
}

/** A condition keeps what it can when its field changes. */
export function withField(condition: ConditionDraft, field: Condition["field"]): ConditionDraft {
  if (isNumberField(field) === isNumberField(condition.field)) return { ...condition, field };
  return { ...condition, field, is: isNumberField(field) ? "above" : "contains", value: "" };
}

export function ruleDraft(rule: RuleOut | null): RuleDraft {
  const effect = rule?.do ?? {};
  const { errorCode } = effect;
  return {
    name: rule?.name ?? "",
    source: rule?.source ?? "",
    conditions: rule ? (rule.when ?? []).map(conditionDraft) : [newCondition()],
    ...codeDraft(errorCode),
    group: effect.group ?? "",
    park: effect.park ?? "",
    drop: effect.drop === true,
  };
}

function conditionDraft(condition: Condition): ConditionDraft {
  const { field, is, not } = condition;
  return newCondition({
    ...{ field, is, not: not === true },
    place: "name" in condition ? condition.name : "pointer" in condition ? condition.pointer : "",
    value: condition.is === "present" ? "" : String(condition.value),
    ignoreCase: "ignoreCase" in condition && condition.ignoreCase === true,
  });
}

function codeDraft(code: CodeSource | undefined): Pick<RuleDraft, "code" | "codeText"> {
  if (code === undefined) return { code: "keep", codeText: "" };
  if ("value" in code) return { code: "value", codeText: code.value };
  const codeText = code.from === "header" ? code.name : code.from === "body" ? code.pointer : "";
  return { code: code.from, codeText };
}

/** The rule that the draft says, and what it lacks. The server checks again. */
export function ruleOf(draft: RuleDraft): { body: RuleBody; errors: RuleErrors } {
  const errors: RuleErrors = {};
  const when = draft.conditions.map((condition, index) => conditionOf(condition, `when[${index}]`, errors));
  const effect = draft.drop ? { drop: true as const } : effectOf(draft, errors);
  if (Object.keys(effect).length === 0) errors.do = "Choose what the rule does.";
  if (draft.drop && when.length === 0)
    errors.when = "A rule that drops needs a condition: without one it drops every message of its source.";
  return { body: { when, do: effect }, errors };
}

function conditionOf(draft: ConditionDraft, path: string, errors: RuleErrors): Condition {
  const { field, place, is, value, ignoreCase } = draft;
  if (field === "header" && place.trim() === "") errors[`${path}.name`] = "Enter the name of the header.";
  if (field === "body" && !place.startsWith("/")) errors[`${path}.pointer`] = "Enter a JSON pointer such as /order/id.";
  const not = draft.not ? { not: true } : {};
  if (field === "payloadBytes" || field === "attempts") {
    if (!/^\d{1,15}$/.test(value.trim())) errors[`${path}.value`] = "Enter a whole number.";
    return { field, is: is === "below" ? "below" : "above", value: Number(value), ...not };
  }
  const at =
    field === "header"
      ? { field, name: place.trim() }
      : field === "body"
        ? { field, pointer: place.trim() }
        : { field };
  if (is === "present") return { ...at, is, ...not };
  if (value.trim() === "") errors[`${path}.value`] = "Enter the value to compare with.";
  const test = is === "above" || is === "below" ? "contains" : is;
  return { ...at, is: test, value, ...(ignoreCase ? { ignoreCase } : {}), ...not };
}

function effectOf({ code, codeText, group, park }: RuleDraft, errors: RuleErrors): RuleEffect {
  const text = codeText.trim();
  if (code !== "keep" && code !== "errorType" && text === "") errors["do.errorCode"] = CODE_MISSING[code];
  if (code === "body" && text !== "" && !text.startsWith("/")) errors["do.errorCode"] = CODE_MISSING.body;
  return {
    ...(code === "keep" ? {} : { errorCode: codeSource(code, text) }),
    ...(group.trim() === "" ? {} : { group: group.trim() }),
    ...(park === "" ? {} : { park }),
  };
}

const CODE_MISSING = {
  value: "Enter the error code.",
  header: "Enter the header that contains it.",
  body: "Enter a JSON pointer such as /error/code.",
};

function codeSource(code: Exclude<CodeChoice, "keep">, text: string): CodeSource {
  switch (code) {
    case "value":
      return { value: text };
    case "errorType":
      return { from: "errorType" };
    case "header":
      return { from: "header", name: text };
    case "body":
      return { from: "body", pointer: text };
  }
}

/** What can be tried: null while the draft lacks something. `id`: the stored rule that it would replace. */
export function tryOf(draft: RuleDraft, id: string | null): TryRequest | null {
  const { body, errors } = ruleOf(draft);
  if (Object.keys(errors).length > 0) return null;
  return { rule: { source: draft.source || null, ...body }, newest: 200, ...(id === null ? {} : { id }) };
}

/** The request of the dialog, or what is missing. */
export function ruleRequest(draft: RuleDraft, reason: string): Asked<SavedRule> {
  const { body, errors } = ruleOf(draft);
  const name = draft.name.trim();
  if (name === "") errors.name = "Enter a name: it is shown on events that the rule changed.";
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return { ok: true, request: { name, source: draft.source || null, ...body, reason } };
}

/** The errors of the server, by the same paths. What belongs to no field of the dialog is shown above it. */
export function errorsOf(fields: readonly FieldError[]): RuleErrors {
  return Object.fromEntries(
    fields.map(({ field, detail }) => [
      field.replace(/^(?:rule|body)\./, "").replace(/^do\.errorCode\..*$/, "do.errorCode"),
      detail,
    ]),
  );
}
