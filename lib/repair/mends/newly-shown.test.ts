import { describe, expect, test } from "vitest";
import { type MaskRule, masksOf } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import type { Header } from "@/lib/intake/dead-letter.pure";
import { newlyShown } from "./newly-shown.pure";

const pointer = (pattern: string): MaskRule => ({ source: null, kind: "pointer", pattern, enabled: true });
const set = masksOf([pointer("/customer/name"), pointer("/list/0/pin"), pointer("/alias")]).of("orders");
const NAME = 'Ada \u00c4 "L"';
const BASE = {
  customer: { name: NAME, id: 7 },
  list: [{ pin: 12 }, { n: 3 }],
  note: null as unknown,
  mail: "to ada@example.com",
};
type Doc = Record<string, unknown>;

function place(
  after: Doc,
  { headers = [], was = [], recipe = {} }: { headers?: Header[]; was?: Header[]; recipe?: unknown } = {},
) {
  return newlyShown(
    { text: JSON.stringify(BASE), headers: was },
    { text: JSON.stringify(after), headers },
    { set, recipe },
  );
}

describe("a masked value is found", () => {
  test.each<[string, Doc, string]>([
    ["copied to where no rule masks it", { ...BASE, note: NAME }, "/customer/name"],
    ["in a text", { ...BASE, note: `for ${NAME}.` }, "/customer/name"],
    ["in JSON in a string", { ...BASE, note: JSON.stringify({ who: NAME }) }, "/customer/name"],
    ["as a name", { ...BASE, [NAME]: 1 }, "/customer/name"],
    ["under another name around it", { ...BASE, customer: null, client: BASE.customer }, "/customer/name"],
    ["at another index", { ...BASE, list: [{}, ...BASE.list] }, "/list/0/pin"],
    ["as text of a number", { ...BASE, note: "12" }, "/list/0/pin"],
  ])("%s", (_, after, at) => expect(place(after)).toBe(at));

  test("moved to a header, and from one", () => {
    expect(place(BASE, { headers: [["x-name", NAME]] })).toBe("/customer/name");
    const was: Header[] = [["authorization", "Bearer s3cret"]];
    expect(place({ ...BASE, note: "Bearer s3cret" }, { was, headers: was })).toBeNull();
    expect(place({ ...BASE, note: "is s3cret-9" }, { was: [["x-api-key", "s3cret-9"]] })).toBe("header:x-api-key");
  });
});

test.each<[string, Doc]>([
  ["is another value", { ...BASE, note: "new" }],
  ["stays where it was", { ...BASE, customer: { ...BASE.customer, id: 8 } }],
  ["is removed", { ...BASE, customer: null }],
  ["moves to where a rule masks it", { ...BASE, customer: null, alias: NAME }],
  ["has characters in a longer number", { ...BASE, note: 8127 }],
])("nothing is found when it %s", (_, after) => expect(place(after)).toBeNull());

test("values of the recipe are its author's own, so that a guess of a masked value is not answered", () => {
  const recipe = { kind: "form", steps: [{ op: "set", at: "/note", value: NAME }] };
  expect(place({ ...BASE, note: NAME }, { recipe })).toBeNull();
  expect(
    place(
      { ...BASE, note: NAME },
      { recipe: { kind: "json-patch", patch: `[{"op":"add","path":"/note","value":${JSON.stringify(NAME)}}]` } },
    ),
  ).toBeNull();
});

test("the place shows no masked name", () => {
  const before = { "ada@example.com": { token: "s3cret-9" } };
  const after = { ...before, note: "s3cret-9" };
  const messages = [before, after].map((doc) => ({ text: JSON.stringify(doc), headers: [] }));
  expect(newlyShown(messages[0]!, messages[1]!, { set, recipe: {} })).toBe(`/${REDACTED}/token`);
});
