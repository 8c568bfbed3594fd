import { expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";
import { contractDraft, contractOf } from "./contract-draft";

it("reads back what it shows, and takes defaults for what is empty", () => {
  const contract = { ...CONTRACT_DEFAULTS, semantics: "at-least-once" as const, marginMs: 0, loadMax: 0.5 };
  expect(contractOf(contractDraft(contract))).toEqual({ contract });
  expect(contractOf({ ...contractDraft(contract), loadMax: " " })).toEqual({ contract: { ...contract, loadMax: 0.7 } });
  expect(contractOf(contractDraft(null))).toEqual({ contract: CONTRACT_DEFAULTS });
});

it.each([
  ["loadMax", "0"],
  ["loadMax", "1.1"],
  ["marginMs", "-1"],
  ["callerDeadlineMs", "soon"],
  ["promisedSuccess", "0"],
] as const)("refuses %s = %j by its field", (name, text) => {
  const result = contractOf({ ...contractDraft(null), [name]: text });
  expect("errors" in result && Object.keys(result.errors)).toEqual([name]);
});
