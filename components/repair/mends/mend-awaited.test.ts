import { expect, test } from "vitest";
import { selectionSchema } from "@/lib/selection/selection.shapes";
import { askedSelection } from "./mend-awaited";

const id = "019aa9a1-0b7c-7d02-8e55-7f1d2c3b4a60";

test.each([
  { ids: [id] },
  { filter: { source: ["orders"] } },
  { operation: id },
  { redrive: id, outcome: ["failed"] },
  { redrive: id, outcome: ["failed"], result: "TIMEOUT" },
])("what an operation stored of %j is asked again without what the server added", (select) => {
  const asked = askedSelection({ ...select, sources: ["orders"], asOfMs: 1 });
  expect(selectionSchema.parse(asked)).toEqual(select);
});

test("an unknown form is not asked", () => {
  expect(askedSelection({ all: true })).toBeNull();
});
