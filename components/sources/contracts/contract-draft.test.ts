import { expect, it } from "vitest";
import { CONTRACT_DEFAULTS } from "@/lib/sources/contracts/contract.pure";
import { SOURCE_CONTRACT_DEFAULTS } from "@/lib/sources/contracts/source-contract.pure";
import { contractDraft, contractOf, sourceContractDraft, sourceContractOf } from "./contract-draft";

it("reads back what it shows, and takes defaults for what is empty", () => {
  const contract = { ...CONTRACT_DEFAULTS, semantics: "at-least-once" as const, marginMs: 0, loadMax: 0.5 };
  expect(contractOf(contractDraft(contract))).toEqual({ ok: true, request: contract });
  expect(contractOf({ ...contractDraft(contract), loadMax: " " })).toMatchObject({
    request: { ...contract, loadMax: 0.7 },
  });
  expect(contractOf(contractDraft(null))).toMatchObject({ request: CONTRACT_DEFAULTS });
});

it.each([
  ["loadMax", "0"],
  ["loadMax", "1.1"],
  ["marginMs", "-1"],
  ["callerDeadlineMs", "soon"],
  ["promisedSuccess", "0"],
] as const)("refuses %s = %j by its field", (name, text) => {
  const result = contractOf({ ...contractDraft(null), [name]: text });
  expect(!result.ok && Object.keys(result.errors)).toEqual([name]);
});

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
  expect(sourceContractOf(draft)).toEqual({ ok: true, request: contract });
  expect(sourceContractOf({ ...draft, callers: " shop,billing.audit " })).toEqual({ ok: true, request: contract });
  expect(sourceContractOf(sourceContractDraft(null))).toMatchObject({ request: SOURCE_CONTRACT_DEFAULTS });
});

it.each([
  ["loadMax", "0"],
  ["dedupWindowMs", "3651"],
  ["promisedLatencyMs", "-1"],
  ["callerDeadlineMs", "soon"],
] as const)("refuses %s = %j by its field", (name, text) => {
  const result = sourceContractOf({ ...sourceContractDraft(null), [name]: text });
  expect(!result.ok && Object.keys(result.errors)).toEqual([name]);
});
