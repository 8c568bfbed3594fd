import { expect, test } from "vitest";
import { DEFAULT_MASKS, masksOf } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { redactRecipe } from "./redact-recipe.pure";

const SET = DEFAULT_MASKS.of(null);

const set = (at: string, value: unknown) => ({ kind: "form", steps: [{ op: "set", at, value }] });
const patch = (text: string) => ({ kind: "json-patch", patch: text });

test.each<[string, object, object]>([
  ["a value for a masked field", set("/card/token", "hunter"), set("/card/token", REDACTED)],
  ["a value for a masked header", set("header:authorization", "hunter"), set("header:authorization", REDACTED)],
  ["a masked field of a value", set("/login", { user: "ada", password: "hunter" }), set("/login", REDACTED)],
  ["a name with an escaped separator", set("/x~1token", "hunter"), set("/x~1token", REDACTED)],
  [
    "a comparison with a masked field, and all values beside it",
    {
      kind: "form",
      steps: [
        { op: "set", at: "/n", json: "1", when: { at: "/login/password", equals: "hunter" } },
        { op: "remove", at: "/m", when: { at: "/o", matches: "hunter*" } },
        { op: "rename", at: "/custId", to: "customerId", when: { at: "/custId", exists: true } },
      ],
    },
    {
      kind: "form",
      steps: [
        { op: "set", at: "/n", json: REDACTED, when: { at: "/login/password", equals: REDACTED } },
        { op: "remove", at: "/m", when: { at: "/o", matches: REDACTED } },
        { op: "rename", at: "/custId", to: "customerId", when: { at: "/custId", exists: true } },
      ],
    },
  ],
  [
    "a name that occurs twice",
    { kind: "form", steps: [{ op: "set", at: "/login", json: '{"password":"hunter","password":null}' }] },
    { kind: "form", steps: [{ op: "set", at: "/login", json: REDACTED }] },
  ],
  ["an operation", patch('[{"op":"test","path":"/a/apiKey","value":"hunter"}]'), patch(REDACTED)],
  [
    "an operation whose path is escaped",
    patch(String.raw`[{"op":"test","path":"/a/\u0061piKey","value":"hunter"}]`),
    patch(REDACTED),
  ],
  ["a recorded merge patch", { kind: "merge-patch", patch: { n: "hunter" } }, { kind: "merge-patch", patch: REDACTED }],
  ["a recorded expression", { kind: "jsonata", expression: '$ & "hunter"' }, { kind: "jsonata", expression: REDACTED }],
])("shows no credential of %s", (_, recipe, shown) => {
  expect(redactRecipe(recipe, SET)).toEqual(shown);
});

test.each<[string, object]>([
  ["a form", set("/status", "open")],
  ["a form with numbers beyond 2^53", { kind: "form", steps: [{ op: "set", at: "/n", json: "12345678901234567890" }] }],
  ["a form with a text that looks like JSON", set("/status", "{open")],
  ["a patch", patch('[{"op":"add","path":"/status","value":12345678901234567890}]')],
])("shows %s without anything masked as it was written", (_, recipe) => {
  expect(redactRecipe(recipe, SET)).toEqual(recipe);
});

test("shows no value for a place around what a pointer masks", () => {
  const rules = masksOf([{ source: null, kind: "pointer", pattern: "/customers/*/name", enabled: true }]).of(null);
  for (const at of ["", "/customers", "/customers/0", "/customers/0/name"])
    expect(JSON.stringify(redactRecipe(set(at, { name: "Ada" }), rules))).not.toContain("Ada");
  for (const at of ["/customers/0/city", "/orders"])
    expect(redactRecipe(set(at, "Ada"), rules)).toEqual(set(at, "Ada"));
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
