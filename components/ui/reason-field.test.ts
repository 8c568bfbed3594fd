import { expect, test, vi } from "vitest";
import { submitByKey } from "./reason-field";

type Form = NonNullable<Parameters<typeof submitByKey>[0]>;

test.each([
  ["a button that can be pressed", [{ type: "textarea" }, { type: "submit", withheld: null }], 1],
  ["a button that is withheld while the data is old", [{ type: "submit", withheld: "true" }], 0],
  ["no button, because the right is missing", [{ type: "button", withheld: "true" }], 0],
])("Ctrl Enter does what the form's button does: %s", (_name, elements, times) => {
  const requestSubmit = vi.fn();
  const shown = elements.map(({ type, withheld }: { type: string; withheld?: string | null }) => ({
    type,
    getAttribute: () => withheld ?? null,
  }));
  submitByKey({ elements: shown, requestSubmit } as unknown as Form);
  expect(requestSubmit).toHaveBeenCalledTimes(times);
});
