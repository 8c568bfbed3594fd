import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_MASKS, masksOf, NOTHING_MASKED } from "@/lib/guard/masking/mask-rule.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { systemClock } from "@/lib/platform/clock";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { type Recipe, type RecipeStep, recipeSchema } from "@/lib/selection/operations/recipe.shapes";
import { compileRecipe, type Mended } from "./apply-recipe";
import { differencesOf } from "./differences";

const SET = DEFAULT_MASKS.of(null);
const BYTES_MAX = 1_000_000;

async function apply(
  recipe: Recipe,
  payload: string | Uint8Array,
  headers: Header[] = [],
  payloadBytesMax = BYTES_MAX,
): Promise<Mended> {
  const mend = compileRecipe({ clock: systemClock }, recipeSchema.parse(recipe), payloadBytesMax);
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  const [mended] = await mend([{ payload: bytes, contentType: "application/json", headers }]);
  return mended!;
}

/** The payload afterwards, `unchanged`, or the failure's code. */
async function outcome(recipe: Recipe, payload: string, headers?: Header[], payloadBytesMax?: number): Promise<string> {
  const mended = await apply(recipe, payload, headers, payloadBytesMax);
  if (mended.kind === "failed") return mended.code;
  return mended.kind === "unchanged"
    ? "unchanged"
    : new TextDecoder("utf-8", { ignoreBOM: true }).decode(mended.message.payload);
}

const form = (...steps: RecipeStep[]): Recipe => ({ kind: "form", steps });
const patch = (...operations: object[]): Recipe => ({ kind: "json-patch", patch: operations });

describe("what a recipe does not address stays byte for byte", () => {
  const AROUND =
    '\uFEFF { "big" : 9007199254740993 ,\n\t"twice": 1, "twice": 2, "z": 1.50, "e": 1E+2, "u": "\\u00e4" , ';

  test.each<[string, Recipe, string, string]>([
    ["set", form({ op: "set", at: "/a", value: "new" }), '"a" :  "old" }\n', '"a" :  "new" }\n'],
    [
      "set beyond 2^53",
      form({ op: "set", at: "/a", json: "123456789012345678901.0" }),
      '"a":1}',
      '"a":123456789012345678901.0}',
    ],
    ["rename", form({ op: "rename", at: "/a", to: "b" }), '"a" : 1 }', '"b" : 1 }'],
    ["remove", form({ op: "remove", at: "/a" }), '"a":1, "b":2 }', '"b":2 }'],
    ["convert", form({ op: "convert", at: "/a", to: "string" }), '"a": 9007199254740995}', '"a": "9007199254740995"}'],
    [
      "convert back",
      form({ op: "convert", at: "/a", to: "number" }),
      '"a": "9007199254740995"}',
      '"a": 9007199254740995}',
    ],
    ["JSON Patch", patch({ op: "replace", path: "/a", value: 2 }), '"a" :1}', '"a" :2}'],
  ])("%s", async (_, recipe, rest, wanted) => {
    expect(await outcome(recipe, AROUND + rest)).toBe(AROUND + wanted);
  });

  test("a file that is no JSON keeps its payload when a header changes", async () => {
    const bytes = new Uint8Array([0xff, 0x00, 0xfe]);
    const mended = await apply(form({ op: "set", at: "header:type", value: "x" }), bytes, [
      ["Type", "y"],
      ["b", "1"],
    ]);
    expect(mended).toMatchObject({
      kind: "changed",
      message: {
        payload: bytes,
        headers: [
          ["Type", "x"],
          ["b", "1"],
        ],
      },
    });
  });
});

describe("form", () => {
  const when = (condition: object) => form({ op: "set", at: "/hit", value: true, when: condition } as RecipeStep);

  test.each<[object, string, boolean]>([
    [{ at: "/a", exists: true }, '{"a":null}', true],
    [{ at: "/a", exists: true }, "{}", false],
    [{ at: "/a", exists: true, not: true }, "{}", true],
    [{ at: "/a", equals: 100 }, '{"a":1e2}', true],
    [{ at: "/a", equalsJson: "9007199254740993" }, '{"a":9007199254740992}', false],
    [{ at: "/a", equals: { x: [1, 2] } }, '{"a":{"x":[1.0,2]}}', true],
    [{ at: "/a", type: "string" }, '{"a":"1"}', true],
    [{ at: "/a", type: "string", not: true }, '{"a":"1"}', false],
    [{ at: "/a", matches: "ord*-*7" }, '{"a":"order-77"}', true],
    [{ at: "/a", matches: "aa*aa" }, '{"a":"aaa"}', false],
    [{ at: "/a", matches: "77" }, '{"a":77}', true],
    [{ at: "header:x", equals: "1" }, "{}", false],
  ])("a step is taken where %j holds: %s", async (condition, payload, holds) => {
    expect(await outcome(when(condition), payload)).toBe(
      holds ? payload.replace(/}$/, `${payload === "{}" ? "" : ","}"hit":true}`) : "unchanged",
    );
  });

  test("a pattern with many stars takes no time on a long text", async () => {
    const steps = [...Array(100)].map(
      (): RecipeStep => ({ op: "remove", at: "/b", when: { at: "/a", matches: "*a".repeat(300) } }),
    );
    expect(await outcome(form(...steps), JSON.stringify({ a: "a".repeat(20_000), b: 1 }))).toContain("aaa");
  });

  test.each<[string, RecipeStep, string, string]>([
    ["set makes the objects on its way", { op: "set", at: "/a/b/c", value: 1 }, "{}", '{"a":{"b":{"c":1}}}'],
    ["set does not go through text", { op: "set", at: "/a/b", value: 1 }, '{"a":"x"}', "no-such-place"],
    ["set of an equal value changes nothing", { op: "set", at: "/a", value: 1 }, '{"a":1.0}', "unchanged"],
    ["set at the end of a list", { op: "set", at: "/a/-", value: 3 }, '{"a":[1, 2]}', '{"a":[1, 2, 3]}'],
    ["rename of what is missing changes nothing", { op: "rename", at: "/a", to: "b" }, '{"c":1}', "unchanged"],
    ["rename overwrites nothing", { op: "rename", at: "/a", to: "b" }, '{"a":1,"b":2}', "place-taken"],
    [
      "rename overwrites when told to",
      { op: "rename", at: "/a", to: "b", overwrite: true },
      '{"a":1,"b":2}',
      '{"b":1}',
    ],
    ["move between objects", { op: "move", from: "/a/x", to: "/b/y" }, '{"a":{"x":1},"b":{}}', '{"a":{},"b":{"y":1}}'],
    ["move overwrites nothing", { op: "move", from: "/a", to: "/b" }, '{"a":1,"b":2}', "place-taken"],
    ["copy", { op: "copy", from: "/a", to: "/b" }, '{"a":[1.0]}', '{"a":[1.0],"b":[1.0]}'],
    ["convert fails rather than lose", { op: "convert", at: "/a", to: "number" }, '{"a":"1,5"}', "not-convertible"],
    ["convert to boolean", { op: "convert", at: "/a", to: "boolean" }, '{"a":"false"}', '{"a":false}'],
    ["convert to null", { op: "convert", at: "/a", to: "null" }, '{"a":""}', '{"a":null}'],
    ["convert JSON in text", { op: "convert", at: "/a", to: "json" }, '{"a":"{\\"n\\": 1.0}"}', '{"a":{"n": 1.0}}'],
    [
      "convert to JSON text",
      { op: "convert", at: "/a", to: "json-text" },
      '{"a":{"n": 1.0}}',
      '{"a":"{\\"n\\": 1.0}"}',
    ],
    [
      "a path through a name that occurs twice",
      { op: "set", at: "/a/b", value: 1 },
      '{"a":{},"a":{}}',
      "duplicate-name",
    ],
    ["what is no JSON", { op: "set", at: "/a", value: 1 }, "{'a': 1}", "not-json"],
    ["nested too deeply", { op: "set", at: "/0", value: 1 }, "[".repeat(100_000) + "]".repeat(100_000), "too-deep"],
  ])("%s", async (_, step, payload, wanted) => {
    expect(await outcome(form(step), payload)).toBe(wanted);
  });

  test("headers are set, renamed, removed, copied and moved; of two with the same name none is meant", async () => {
    const headers: Header[] = [
      ["A", "1"],
      ["b", "2"],
      ["c", null],
      ["D", "x"],
      ["d", "y"],
    ];
    const mended = await apply(
      form(
        { op: "rename", at: "header:a", to: "z" },
        { op: "move", from: "/id", to: "header:id" },
        { op: "copy", from: "header:B", to: "/b" },
        { op: "remove", at: "header:c" },
      ),
      '{"id":9007199254740993}',
      headers,
    );
    expect(mended).toMatchObject({
      message: {
        headers: [
          ["z", "1"],
          ["b", "2"],
          ["D", "x"],
          ["d", "y"],
          ["id", "9007199254740993"],
        ],
      },
    });
    expect(await outcome(form({ op: "remove", at: "header:d" }), "{}", headers)).toBe("duplicate-name");
    expect(await outcome(form({ op: "copy", from: "/a", to: "header:x" }), '{"a":"1\\r\\n2"}')).toBe("not-a-header");
  });

  test.each([
    ["half a surrogate pair", '"x\\ud800"'],
    ["a NUL", '"\\u0000"'],
    ["more than 65,536 characters", JSON.stringify("x".repeat(65_537))],
  ])("no store or no edit takes a header with %s: the event fails before anything is stored", async (_, text) => {
    for (const op of ["copy", "move"] as const) {
      expect(await outcome(form({ op, from: "/a", to: "header:x" }), `{"a":${text}}`)).toBe("not-a-header");
    }
    await expect(outcome(form({ op: "set", at: "header:x", json: text }), "{}")).rejects.toMatchObject({
      code: "invalid-recipe",
    });
    // In the payload each of them is kept as it is written.
    expect(await outcome(form({ op: "copy", from: "/a", to: "/b" }), `{"a":${text}}`)).toBe(
      `{"a":${text},"b":${text}}`,
    );
  });

  test("a credential of a header is set, removed, and moved to another header of a credential; no recipe reads it", async () => {
    const headers: Header[] = [
      ["authorization", "Bearer s3cret"],
      ["kind", "x"],
    ];
    const reading: RecipeStep[] = [
      { op: "copy", from: "header:authorization", to: "/shown" },
      { op: "move", from: "header:Authorization", to: "header:note" },
      { op: "rename", at: "header:authorization", to: "note" },
      { op: "set", at: "/hit", value: 1, when: { at: "header:authorization", matches: "Bearer s*" } },
      { op: "set", at: "/hit", value: 1, when: { at: "header:authorization", equals: "Bearer s3cret" } },
    ];
    for (const step of reading) {
      await expect(outcome(form(step), "{}", headers), JSON.stringify(step)).rejects.toMatchObject({
        code: "invalid-recipe",
        fields: [{ field: expect.stringMatching(/\.(from|at)$/), detail: expect.stringContaining("shown to nobody") }],
      });
    }
    const kept: [RecipeStep, Header[]][] = [
      [{ op: "rename", at: "header:authorization", to: "x-api-key" }, [["x-api-key", "Bearer s3cret"], headers[1]!]],
      [
        { op: "move", from: "header:authorization", to: "header:x-api-key" },
        [headers[1]!, ["x-api-key", "Bearer s3cret"]],
      ],
      [{ op: "remove", at: "header:authorization", when: { at: "header:authorization", exists: true } }, [headers[1]!]],
    ];
    for (const [step, wanted] of kept) {
      expect(await apply(form(step), "{}", headers)).toMatchObject({ kind: "changed", message: { headers: wanted } });
    }
  });

  test.each<[string, Recipe]>([
    [
      "copies the payload into itself",
      form(...Array.from({ length: 60 }, (_, index) => ({ op: "copy" as const, from: "", to: `/a${index}` }))),
    ],
    [
      "copies the payload into itself by JSON Patch",
      patch(...Array.from({ length: 60 }, (_, n) => ({ op: "copy", from: "", path: `/a${n}` }))),
    ],
    ["makes text of text", form(...Array<RecipeStep>(60).fill({ op: "convert", at: "/a", to: "json-text" }))],
  ])("a recipe of sixty steps, each of which %s, ends soon after the limit", async (_, recipe) => {
    expect(await outcome(recipe, '{"a":"x"}')).toBe("too-large");
  });

  test("a large value may be moved on and on: nothing grows", async () => {
    const large = JSON.stringify("x".repeat(900_000));
    const moves = Array.from({ length: 40 }, (_, n): RecipeStep => ({ op: "move", from: `/a${n}`, to: `/a${n + 1}` }));
    expect(await outcome(form(...moves), `{"a0":${large}}`)).toBe(`{"a40":${large}}`);
  });

  test("a payload may not grow past the limit", async () => {
    expect(await outcome(form({ op: "set", at: "/a", value: "x".repeat(30) }), '{"a":1}', [], 20)).toBe("too-large");
    expect(await outcome(form({ op: "set", at: "/a", value: 1 }), '{"a":"12345678901234567890"}', [], 20)).toBe(
      '{"a":1}',
    );
  });
});

describe("a recipe that cannot be used is refused with its place", () => {
  test.each<[Recipe, string]>([
    [form({ op: "remove", at: "" }), "recipe.steps[0].at"],
    [form({ op: "move", from: "/a", to: "/a/b" }), "recipe.steps[0].to"],
    [form({ op: "set", at: "/a", json: "{" }), "recipe.steps[0].json"],
    [form({ op: "convert", at: "header:a", to: "number" }), "recipe.steps[0].at"],
    [patch({ op: "spoil", path: "/a" }), "recipe.patch[0].op"],
    [patch({ op: "add", path: "a", value: 1 }), "recipe.patch[0].path"],
    [{ kind: "json-patch", patch: '[{"op":"add","path":"/a","path":"/b","value":1}]' }, "recipe.patch[0]"],
    [
      {
        kind: "json-patch",
        patch: `[${'{"op":"test","path":"","value":{}},'.repeat(100)}{"op":"remove","path":"/a"}]`,
      },
      "recipe.patch",
    ],
    [form({ op: "set", at: "/n", json: '{"a":1,"a":2}' }), "recipe.steps[0].json"],
    [{ kind: "json-patch", patch: '[{"op":"add","path":"/n","value":{"b":1,"b":2}}]' }, "recipe.patch[0]"],
  ])("%j", async (recipe, field) => {
    await expect(outcome(recipe, "{}")).rejects.toMatchObject({ code: "invalid-recipe", fields: [{ field }] });
  });

  test.each([
    { kind: "form", steps: [{ op: "set", at: "/a", value: Number("9007199254740993") }] },
    { kind: "form", steps: [{ op: "set", at: "a", value: 1 }] },
    { kind: "form", steps: [{ op: "set", at: "/a", value: 1, json: "1" }] },
    { kind: "form", steps: [{ op: "remove", at: "/a", when: { at: "/b", exists: true, equals: 1 } }] },
    { kind: "form", steps: [] },
  ])("%j", (recipe) => {
    expect(recipeSchema.safeParse(recipe).success).toBe(false);
  });
});

describe("a nested patch", () => {
  test.each([
    patch({ op: "add", path: "/a", value: JSON.parse("[".repeat(129) + "]".repeat(129)) }),
    form({ op: "set", at: "/a", json: "[".repeat(129) + "]".repeat(129) }),
  ])("is refused by name when it is deeper than any payload needs", async (recipe) => {
    await expect(outcome(recipe, "{}")).rejects.toThrow(/nested deeper than 128/);
  });
});

describe("JSON Patch", () => {
  type Vector = {
    comment?: string;
    doc: unknown;
    patch: object[];
    expected?: unknown;
    error?: string;
    disabled?: boolean;
  };
  const require = createRequire(import.meta.url);
  const vectors = ["tests.json", "spec_tests.json"].flatMap(
    (file) => JSON.parse(readFileSync(require.resolve(`json-patch-test-suite/${file}`), "utf8")) as Vector[],
  );
  /** The document or the patch is an empty payload: a message is not removed by a patch. */
  const applies = vectors.filter(({ patch, disabled }) => !disabled && patch?.length > 0);

  test("there are vectors", () => expect(applies.length).toBeGreaterThan(80));

  test.each(
    applies.map(
      (vector, index) =>
        [`${index} ${vector.comment ?? vector.error ?? JSON.stringify(vector.patch)}`, vector] as const,
    ),
  )("json-patch-test-suite %s", async (_, { doc, patch: operations, expected, error }) => {
    const result = await outcome({ kind: "json-patch", patch: JSON.stringify(operations) }, JSON.stringify(doc)).catch(
      (refused: { code: string }) => refused.code,
    );
    if (error !== undefined) expect(["no-such-place", "test-failed", "invalid-recipe"]).toContain(result);
    else expect(result === "unchanged" ? doc : JSON.parse(result)).toEqual(expected ?? doc);
  });
});

describe("for every plain document", () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const object = fc.dictionary(fc.string({ minLength: 1 }), value, { minKeys: 1, maxKeys: 6 });
  const spaced = (document: unknown, space: number) => JSON.stringify(document, null, space);
  const pointer = (name: string) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const space = fc.constantFrom(0, 1, 4);

  test("a set, a rename, a remove and their inverse are what they are on parsed values", async () => {
    await fc.assert(
      fc.asyncProperty(object, value, space, async (document, next, spaces) => {
        const name = Object.keys(document)[0]!;
        const text = spaced(document, spaces);
        const set = await outcome(form({ op: "set", at: pointer(name), json: JSON.stringify(next) }), text);
        expect(JSON.parse(set === "unchanged" ? text : set)).toEqual(
          JSON.parse(JSON.stringify({ ...document, [name]: next })),
        );

        const removed = await outcome(form({ op: "remove", at: pointer(name) }), text);
        const { [name]: _, ...rest } = document;
        expect(JSON.parse(removed)).toEqual(JSON.parse(JSON.stringify(rest)));

        fc.pre(!Object.hasOwn(document, `${name}x`));
        const renamed = await outcome(form({ op: "rename", at: pointer(name), to: `${name}x` }), text);
        // Back to the very bytes: the place of the name and the white space around it were kept.
        const back = await outcome(form({ op: "rename", at: pointer(`${name}x`), to: name }), renamed);
        expect(back).toBe(text);
      }),
      { numRuns: 60 },
    );
  });
});

test("differences name each place, and mask secrets for who may not reveal", () => {
  const message = (text: string, headers: Header[]) => ({
    payload: new TextEncoder().encode(text),
    contentType: "",
    headers,
  });
  const before = message('{"a":1,"list":[1,2,3],"user":{"password":"x","n":1}}', [["token", "t"]]);
  const after = message('{"b":9007199254740993,"list":[1,3],"user":{"password":"y","n":1.0}}', [
    ["token", "u"],
    ["k", "v"],
  ]);
  expect(differencesOf(before, after, NOTHING_MASKED).differences).toEqual([
    { at: "/a", before: "1", after: null },
    { at: "/list/1", before: "2", after: null },
    { at: "/user/password", before: '"x"', after: '"y"' },
    { at: "/user/n", before: "1", after: "1.0" },
    { at: "/b", before: null, after: "9007199254740993" },
    // The credential of a header is shown to nobody.
    { at: "header:token", before: REDACTED, after: REDACTED },
    { at: "header:k", before: null, after: "v" },
  ]);
  const text = JSON.stringify(differencesOf(before, after, SET));
  expect(text).not.toContain('\\"y\\"');
  expect(text).not.toContain('"u"');
});

describe("differences show no masked value where a recipe has put it", () => {
  const set = masksOf([{ source: null, kind: "pointer", pattern: "/who/name", enabled: true }]).of(null);
  const message = (text: string, headers: Header[] = []) => ({ payload: Buffer.from(text), contentType: "", headers });
  const before = message(
    String.raw`{"who":{"name":"Ada \u00c4 ada@example.com","pin":1},"password":"hunter\u002dca\/nary","pin":{"token":12},"auth":{"secret":true},"in":"{\"secret\":\"deep\"}"}`,
    [["x-api-key", "s3cret-9"]],
  );
  const to: Record<string, string> = {
    "to another name": String.raw`"Ada \u00c4 ada@example.com"`,
    "escaped otherwise": '"hunter-ca/nary"',
    "as another type": '"12"',
    "with what is around it": '{"token":12}',
    "in JSON in a string": JSON.stringify(JSON.stringify({ name: "hunter-ca/nary" })),
    "from JSON in a string": '"deep"',
    "from a header": '"s3cret-9"',
    "as a name": '{"hunter-ca/nary":1}',
    "that is a boolean": "[true]",
    "behind a long text": `["${"x".repeat(490)}","hunter-ca/nary"]`,
  };
  const leaks = /Ada|hunter|12|deep|s3cret|true/;

  test.each(Object.keys(to))("%s", (way) => {
    const { payload, headers } = before;
    const text = payload.toString().replace(/}$/, `,"copy":${to[way]}}`);
    const { differences } = differencesOf(before, { ...message(text), headers }, set);
    expect(differences.map(({ at }) => at)).toEqual(["/copy"]);
    expect(JSON.stringify(differences)).not.toMatch(leaks);
  });

  test("whose own names become those of another value", () => {
    const hidden = masksOf([{ source: null, kind: "key", pattern: "kin", enabled: true }]).of(null);
    const [was, is] = ['{"kin":{"Ada":1,"n":2},"copy":{"n":0}}', '{"kin":{"Ada":1,"n":2},"copy":{"Ada":1,"n":2}}'];
    expect(differencesOf(message(was), message(is), hidden).differences).toEqual([
      { at: "/copy/n", before: "0", after: `"${REDACTED}"` },
      { at: `/copy/${REDACTED}`, before: null, after: `"${REDACTED}"` },
    ]);
  });

  test("in a header, and shows what is no masked value", () => {
    const { payload, headers } = before;
    const moved: Header[] = [...headers, ["copy", "hunter-ca/nary"], ["kind", "new"]];
    expect(differencesOf(before, { payload, contentType: "", headers: moved }, set).differences).toEqual([
      { at: "header:copy", before: null, after: REDACTED },
      { at: "header:kind", before: null, after: "new" },
    ]);
    const text = payload.toString().replace(/}$/, ',"note":"about Ada"}');
    expect(differencesOf(before, message(text, headers), set).differences).toEqual([
      { at: "/note", before: null, after: '"about Ada"' },
    ]);
  });
});

test("differences name no masked name of a member", () => {
  const message = (text: string) => ({ payload: new TextEncoder().encode(text), contentType: "", headers: [] });
  const { differences } = differencesOf(
    message('{"ada@example.com":{"n":1}}'),
    message('{"ada@example.com":{"n":2}}'),
    SET,
  );
  expect(differences).toEqual([{ at: `/${REDACTED}/n`, before: "1", after: "2" }]);
});
