import { expect, test } from "vitest";
import * as z from "zod/mini";
import { controlRequestSchema } from "@/lib/order/controls/controls.shapes";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { sourceRequestSchema } from "@/lib/sources/sources.shapes";
import { readBody } from "./body-faults";

function faults(schema: z.core.$ZodType, sent: unknown): string[] {
  return (readBody(schema, sent).faults ?? []).map(({ field, detail }) => `${field}: ${detail}`);
}

const redrive = (change: object) =>
  faults(redriveRequestSchema, { select: { filter: {} }, reason: "stock is back", ...change });

test("a misspelt name is told the one that is near, and all that there are", () => {
  const [fault, ...others] = redrive({ select: { filter: { agregateId: ["order-1"] } } });
  expect(fault).toMatch(
    /^select\.filter\.agregateId: unknown: did you mean aggregateId\? valid names are .*errorCode.* and /,
  );
  expect(others).toEqual([]);
  expect(redrive({ resaon: "x" })[0]).toMatch(/^resaon: unknown: did you mean reason\? valid names are select,/);
  expect(redrive({ constructor: 1 })[0]).toMatch(/^constructor: unknown: valid names are select,/);
  expect(redrive({ colour: "red" })[0]).toMatch(/^colour: unknown: valid names are select,/);
});

test("a choice of forms is told each of them, and one that was begun what it lacks", () => {
  const forms =
    "an object with ids, an object with filter, an object with operation or an object with redrive and outcome";
  expect(redrive({ select: {} })).toEqual([`select: must be ${forms}`]);
  expect(redrive({ select: "shop" })).toEqual([`select: must be ${forms}`]);
  expect(redrive({ select: { event: "o-1" } })).toEqual([
    "select.event: unknown: valid names are ids, filter, operation, redrive, outcome and result",
  ]);
  expect(redrive({ select: { ids: "o-1" } })).toEqual(["select.ids: must be a list"]);
});

test("a wrong type is told the right one, also in a list and beside others", () => {
  const schema = z.strictObject({
    names: z.array(z.string()),
    count: z.int(),
    on: z.boolean(),
    how: z.enum(["fast", "slow"]),
    own: z.string("must be a name"),
  });
  expect(faults(schema, { names: ["a", 7], count: 1.5, on: "yes", how: "other", own: 1 })).toEqual([
    "names[1]: must be text",
    "count: must be a whole number",
    "on: must be true or false",
    "how: must be fast or slow",
    "own: must be a name",
  ]);
  expect(faults(schema, {})).toEqual([
    "names: is missing: must be a list",
    "count: is missing: must be a number",
    "on: is missing: must be true or false",
    "how: is missing: must be fast or slow",
    "own: is missing: must be a name",
  ]);
  expect(faults(schema, "text")).toEqual(["body: must be an object"]);
});

test("a required field that is not there is said to be missing, whatever its schema says of a wrong value", () => {
  expect(faults(sourceRequestSchema, {})).toEqual(["name: is missing: must be text", "kind: is missing: must be text"]);
  expect(faults(sourceRequestSchema, { name: null, kind: "http" })).toEqual(["name: must be text"]);
  expect(faults(controlRequestSchema, { reason: "the producer is broken" })).toEqual([
    "kind: is missing: must be blacklist, whitelist or cooldown",
    expect.stringMatching(/^scope: is missing: must name exactly one of eventId/),
  ]);
  expect(faults(redriveRequestSchema, {})).toEqual([expect.stringMatching(/^select: is missing: must be an object/)]);
});
