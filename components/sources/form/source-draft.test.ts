import { describe, expect, it } from "vitest";
import {
  bodyOf,
  type Config,
  errorsOf,
  KEPT,
  NEW_SOURCE,
  numberOrText,
  sourceDraft,
  valueAt,
  withValue,
} from "@/components/sources/form/source-draft";
import { formFields } from "@/lib/brokers/kinds/descriptor.shapes";
import { KINDS, kindOf, parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { KindField } from "@/lib/sources/kinds.shapes";
import type { SourceOut } from "@/lib/sources/sources.shapes";

const fieldsOf = (kind: (typeof KINDS)[number]): KindField[] =>
  formFields(kindOf(kind).config).map((field) => ({
    ...field,
    advanced: field.advanced ?? false,
    long: field.long ?? false,
  }));

describe.each(KINDS)("a source of kind %s", (kind) => {
  const example = kindOf(kind).example as Config;
  const fields = fieldsOf(kind);

  it("is made of its fields, one after the other", () => {
    let config: Config = {};
    for (const { path } of fields) {
      const value = valueAt(example, path);
      if (value !== undefined) config = withValue(config, path, value);
    }
    const result = bodyOf({ ...NEW_SOURCE, name: "orders", kind, config }, { fields });
    expect(result).toEqual({
      ok: true,
      body: { config: example, payloadSchema: null, stormPerMinute: null, knownDays: 400, links: [] },
    });
    expect(result.ok && parseSourceConfig(kind, result.body.config).kind).toBe(kind);
  });

  it("keeps what was not touched, masked values and settings without a field included", () => {
    const config = { ...example, further: { deep: [1] }, mapping: { tags: { a: "/a" } } };
    const stored = {
      name: "orders",
      kind,
      config,
      payloadSchema: { type: "object" },
      stormPerMinute: 250,
      links: [
        { label: " Trace ", kind: "traces", url: " https://x.example/{traceId}" },
        { label: "", kind: "logs", url: " " },
      ],
      knownDays: null,
    } as unknown as SourceOut;
    expect(bodyOf(sourceDraft(stored), { fields })).toEqual({
      ok: true,
      body: {
        config,
        payloadSchema: { type: "object" },
        stormPerMinute: 250,
        knownDays: null,
        links: [{ label: "Trace", kind: "traces", url: "https://x.example/{traceId}" }],
      },
    });
  });

  it("misses each setting that it cannot do without", () => {
    const needed = fields.filter(({ required, path }) => required && path.length === 1).map(({ path }) => path[0]!);
    const result = bodyOf({ ...NEW_SOURCE, kind }, { fields });
    expect(result.ok ? [] : Object.keys(result.errors)).toEqual(needed);
  });

  it("gets each error of the server at a field", () => {
    const wrong = Object.fromEntries(fields.map(({ path }) => [path[0]!, 7]));
    const refused = refusalOf(kind, wrong);
    const shown = errorsOf(refused, fields);
    expect(Object.keys(shown).length).toBeGreaterThan(0);
    for (const { field } of refused) expect(JSON.stringify(shown)).toContain(field.split(".")[1]!);
  });
});

function refusalOf(kind: string, config: unknown): { field: string; detail: string }[] {
  try {
    parseSourceConfig(kind, config);
  } catch (error) {
    return (error as { fields: { field: string; detail: string }[] }).fields;
  }
  throw new Error("was not refused");
}

describe("one setting", () => {
  it("is set where it belongs, and leaves nothing behind when it is emptied", () => {
    const config = withValue({ url: "a" }, ["redriveTo", "queue"], "orders");
    expect(config).toEqual({ url: "a", redriveTo: { queue: "orders" } });
    expect(withValue(config, ["redriveTo", "queue"], undefined)).toEqual({ url: "a" });
    expect(withValue(config, ["redriveTo", "mode"], "exchange")).toEqual({
      url: "a",
      redriveTo: { queue: "orders", mode: "exchange" },
    });
    expect(Object.keys(withValue({ a: 1, b: 2 }, ["a"], 3))).toEqual(["a", "b"]);
  });

  it.each([
    ["", undefined],
    ["50", 50],
    [" 50 ", 50],
    ["-3", -3],
    ["2.5", 2.5],
    ["2.", "2."],
    ["many", "many"],
    ["99999999999999999999", "99999999999999999999"],
  ])("as a number: %j is %j", (text, value) => {
    expect(numberOrText(text)).toBe(value);
  });

  it("loses blanks around it and empty entries, but not those of a secret", () => {
    const field = (input: KindField["input"], name: string, more: Partial<KindField> = {}): KindField => ({
      path: [name],
      input,
      label: name,
      required: false,
      advanced: false,
      long: false,
      ...more,
    });
    const fields = [
      field("text", "url"),
      field("text", "key", { role: "secret" }),
      field("list", "topics"),
      field("list", "none"),
    ];
    const config = { url: " amqp://x ", key: " k ", topics: ["a ", "", "b"], none: [""] };
    expect(bodyOf({ ...NEW_SOURCE, config }, { fields })).toMatchObject({
      body: { config: { url: "amqp://x", key: " k ", topics: ["a", "b"] } },
    });
  });
});

it("an error of an entry stands at its list, and one without a field with the configuration", () => {
  const fields = fieldsOf("http");
  expect(
    errorsOf(
      [
        { field: "config.headers.host", detail: "is set by Parkade itself" },
        { field: "config.mapping.tags", detail: "at most 16 tags" },
        { field: "config.typo", detail: "is not a setting of this kind" },
        { field: "payloadSchema", detail: "is no JSON Schema" },
        { field: "name", detail: "is taken" },
      ],
      fields,
    ),
  ).toEqual({
    headers: "host is set by Parkade itself",
    "mapping.tags": "at most 16 tags",
    config: "typo is not a setting of this kind",
    payloadSchema: "payloadSchema is no JSON Schema",
    name: "is taken",
  });
  expect(KEPT).toBe("***");
});

describe.each<{ field: string; sent: [text: string, number: number | null][]; refused: string[]; words: RegExp }>([
  {
    field: "stormPerMinute",
    sent: [
      ["", null],
      [" 1000 ", 1_000],
    ],
    refused: ["0", "-3", "1.5", "many", "10000000"],
    words: /whole number from 1/,
  },
  {
    field: "knownDays",
    sent: [
      ["", null],
      [" 30 ", 30],
    ],
    refused: ["-3", "6", "1.5", "for good", "3651"],
    words: /days from 7 to 3650/,
  },
])("the number $field", ({ field, sent, refused, words }) => {
  const typed = (text: string) => bodyOf({ ...NEW_SOURCE, [field]: text }, { fields: [] });

  it.each(sent)("%j is sent as %s", (text, number) => {
    expect(typed(text)).toMatchObject({ ok: true, body: { [field]: number } });
  });

  it.each(refused)("%j is refused at its field", (text) => {
    expect(typed(text)).toEqual({ ok: false, errors: { [field]: expect.stringMatching(words) } });
  });
});

it("faults of links stand at their fields, in the words of the server", () => {
  const links = [
    { label: "Trace", kind: "traces" as const, url: "https://x.example/{trace}" },
    { label: "", kind: "logs" as const, url: "https://x.example" },
    { label: "Trace", kind: "logs" as const, url: "" },
  ];
  expect(bodyOf({ ...NEW_SOURCE, links }, { fields: [] })).toMatchObject({
    ok: false,
    errors: {
      "links[0].url": expect.stringMatching(/^has the unknown placeholder \{trace\}/),
      "links[1].label": "Required.",
      "links[2].label": "is used by another link of this source",
      "links[2].url": "Required.",
    },
  });
  expect(errorsOf([{ field: "links[0].url", detail: "is wrong" }], [])).toEqual({ "links[0].url": "is wrong" });
});
