import { expect, test } from "vitest";
import { DEFAULT_MASKS } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { redactRecipe } from "./redact-recipe.pure";

const SET = DEFAULT_MASKS.of(null);

test.each<[string, object, object]>([
  [
    "a value for a masked field, and a comparison with one",
    {
      kind: "form",
      steps: [
        { op: "set", at: "/card/token", value: "hunter", when: { at: "/login/password", equals: "hunter" } },
        { op: "set", at: "header:authorization", json: '"hunter"' },
        { op: "rename", at: "/custId", to: "customerId" },
        { op: "set", at: "/n", json: "12345678901234567890" },
      ],
    },
    {
      kind: "form",
      steps: [
        { op: "set", at: "/card/token", value: REDACTED, when: { at: "/login/password", equals: REDACTED } },
        { op: "set", at: "header:authorization", json: REDACTED },
        { op: "rename", at: "/custId", to: "customerId" },
        { op: "set", at: "/n", json: "12345678901234567890" },
      ],
    },
  ],
  [
    "a masked field of a value",
    { kind: "form", steps: [{ op: "set", at: "/login", value: { user: "ada", password: "hunter" } }] },
    { kind: "form", steps: [{ op: "set", at: "/login", value: { user: "ada", password: REDACTED } }] },
  ],
  [
    "an operation, in a list and as text",
    { kind: "json-patch", patch: '[{"op":"test","path":"/a/apiKey","value":"hunter"}]' },
    { kind: "json-patch", patch: `[{"op":"test","path":"/a/apiKey","value":"${REDACTED}"}]` },
  ],
  [
    "a recorded merge patch",
    { kind: "merge-patch", patch: { secret: "hunter" } },
    { kind: "merge-patch", patch: { secret: REDACTED } },
  ],
  [
    "a recorded expression",
    { kind: "jsonata", expression: '$merge([$, {"password": "hunter"}])' },
    { kind: "jsonata", expression: REDACTED },
  ],
  [
    "a recorded expression that computes one",
    { kind: "jsonata", expression: '$ ~> |login|{"password": $lowercase("HUNTER") & "hunter"}|' },
    { kind: "jsonata", expression: REDACTED },
  ],
  [
    "a recorded expression without one",
    { kind: "jsonata", expression: '$merge([$, {"customer": custId}])' },
    { kind: "jsonata", expression: '$merge([$, {"customer": custId}])' },
  ],
  [
    "a name with an escaped separator",
    { kind: "form", steps: [{ op: "set", at: "/x~1token", value: "hunter" }] },
    { kind: "form", steps: [{ op: "set", at: "/x~1token", value: REDACTED }] },
  ],
  [
    "a name that occurs twice",
    { kind: "form", steps: [{ op: "set", at: "/login", json: '{"password":"hunter","password":null}' }] },
    { kind: "form", steps: [{ op: "set", at: "/login", json: `{"password":"${REDACTED}","password":null}` }] },
  ],
])("shows no credential of %s", (_, recipe, shown) => {
  expect(redactRecipe(recipe, SET)).toEqual(shown);
});

test("shows nothing of what is nested without end, or is no JSON", () => {
  let deep: unknown = "hunter";
  for (let level = 0; level < 5_000; level++) deep = [deep];
  expect(JSON.stringify(redactRecipe({ kind: "merge-patch", patch: { deep } }, SET))).not.toContain("hunter");
  expect(redactRecipe({ kind: "merge-patch", patch: "{hunter" }, SET)).toEqual({
    kind: "merge-patch",
    patch: REDACTED,
  });
});
