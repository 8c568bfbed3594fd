import { expect, it } from "vitest";
import { type Check, type DryRunFacts, dryRun } from "./dry-run.pure";
import { checksOf, storedChecks } from "./stored-checks.pure";

const PASSES: DryRunFacts = {
  payload: {
    bytes: 512,
    bytesMax: 1024,
    parses: { ok: true, detail: "valid JSON" },
    schema: { ok: null, detail: "not checked: there is no schema for the event's source and type" },
  },
  target: { name: "orders", reachable: true, detail: "answers", breakerOpen: false, retryable: false },
  version: 2n,
  versionProcessed: null,
  heldBy: null,
  waits: false,
  processedBy: [],
  leftOut: [],
  despite: [],
};

it("keeps what is usual by name, and gives back what was said", () => {
  const { findings } = dryRun(PASSES);
  const stored = storedChecks(findings, false);
  expect(stored.filter((check) => typeof check === "string")).toEqual([
    "payload-parses",
    "payload-schema",
    "version-order",
    "aggregate-head",
    "inbox",
    "repeats",
  ]);
  expect(checksOf(JSON.parse(JSON.stringify(stored)))).toEqual(findings);
});

it("keeps of an event that was sent one word for all that passed as usual, and what is not usual beside it", () => {
  const { findings } = dryRun(PASSES);
  const stored = storedChecks(findings, true);
  expect(stored).toEqual(["passed", "payload-schema", "repeats"]);
  const results = (checks: Check[]) => new Map(checks.map(({ check, ok }) => [check, ok]));
  expect(results(checksOf(stored))).toEqual(results(findings));
  const warned = dryRun({ ...PASSES, leftOut: ["x-a"] }).findings;
  expect(storedChecks(warned, true)).toEqual([
    "passed",
    "payload-schema",
    "repeats",
    expect.objectContaining({ check: "headers" }),
  ]);
  const unparsed = { ...PASSES.payload, parses: { ok: null, detail: "not checked: it is no JSON" } };
  expect(storedChecks(dryRun({ ...PASSES, payload: unparsed }).findings, true)).toContainEqual(
    expect.objectContaining({ check: "payload-size", detail: "512 of at most 1024 bytes" }),
  );
});

it("keeps whole what failed, or says something else", () => {
  const { findings } = dryRun({ ...PASSES, heldBy: "version 1 is parked before it", processedBy: ["billing"] });
  expect(checksOf(storedChecks(findings, false))).toEqual(findings);
  expect(storedChecks(findings, false)).toContainEqual(
    expect.objectContaining({ check: "aggregate-head", ok: false, detail: "version 1 is parked before it" }),
  );
  const pointed = [{ check: "inbox", ok: true, detail: "no consumer has reported it", pointer: "/id" }];
  expect(storedChecks(pointed, false)).toEqual(pointed);
});

it("gives back a name that it does not know, and checks that were stored whole", () => {
  expect(checksOf(["of-another-release", { check: "inbox", ok: true, detail: "old words" }])).toEqual([
    { check: "of-another-release", ok: true, detail: "passed" },
    { check: "inbox", ok: true, detail: "old words" },
  ]);
});
