import { expect, it } from "vitest";
import { SOURCE_CONTRACT_DEFAULTS } from "@/lib/sources/contracts/source-contract.pure";
import { sourceContractDraft, sourceContractOf } from "./source-contract-draft";

it("reads back what it shows, in the units of the form", () => {
  const contract = {
    ...SOURCE_CONTRACT_DEFAULTS,
    dedupWindowMs: 7 * 86_400_000,
    promisedLatencyMs: 5_400_000,
    callerDeadlineMs: 20_000,
    marginMs: 0,
    loadMax: 0.5,
    callers: ["shop", "billing.audit"],
    criticality: "critical" as const,
  };
  const draft = sourceContractDraft(contract);
  expect(draft).toMatchObject({ dedupWindowMs: "7", promisedLatencyMs: "1.5", callers: "shop\nbilling.audit" });
  expect(sourceContractOf(draft)).toEqual({ contract });
  expect(sourceContractOf({ ...draft, callers: " shop,billing.audit " })).toEqual({ contract });
  expect(sourceContractOf(sourceContractDraft(null))).toEqual({ contract: SOURCE_CONTRACT_DEFAULTS });
});

it.each([
  ["loadMax", "0"],
  ["dedupWindowMs", "3651"],
  ["promisedLatencyMs", "-1"],
  ["callerDeadlineMs", "soon"],
] as const)("refuses %s = %j by its field", (name, text) => {
  const result = sourceContractOf({ ...sourceContractDraft(null), [name]: text });
  expect("errors" in result && Object.keys(result.errors)).toEqual([name]);
});
