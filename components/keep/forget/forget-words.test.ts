import { expect, it } from "vitest";
import { type ForgetDraft, forgetWhat } from "./forget-words";

const DRAFT: ForgetDraft = { kind: "tag", name: "customerId", value: "42", source: "" };

it("is the request of the API, or says what is missing", () => {
  expect(forgetWhat(DRAFT)).toEqual({ ok: true, what: { key: { tag: { name: "customerId", value: "42" } } } });
  expect(forgetWhat({ ...DRAFT, kind: "aggregateId", source: "orders" })).toEqual({
    ok: true,
    what: { key: { aggregateId: "42" }, source: "orders" },
  });
  expect(forgetWhat({ ...DRAFT, kind: "pointer", name: "email", value: "" })).toEqual({
    ok: false,
    errors: {
      name: "A pointer begins with /, such as /customer/email.",
      value: "Enter the value that identifies the person.",
      source: "A payload value is searched for in every payload: choose a source.",
    },
  });
});
