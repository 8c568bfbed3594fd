import { describe, expect, test } from "vitest";
import { type DryRunFacts, dryRun } from "./dry-run.pure";

const target = { name: "orders", reachable: true, detail: "answers", breakerOpen: false, retryable: true };
const well: DryRunFacts = {
  payload: {
    bytes: 90,
    bytesMax: 100,
    parses: { ok: true, detail: "valid JSON" },
    schema: { ok: true, detail: "matches" },
  },
  target,
  version: 5n,
  versionProcessed: 5n,
  heldBy: null,
  waits: false,
  processedBy: [],
  leftOut: [],
  despite: [],
};

describe("the dry run", () => {
  test("makes what nothing speaks against wait while an earlier event is queued elsewhere", () => {
    expect(dryRun({ ...well, waits: true })).toMatchObject({ kind: "wait" });
    expect(dryRun({ ...well, waits: true, heldBy: "event a comes first" })).toMatchObject({ refusal: "held-by-head" });
  });

  test("passes what nothing speaks against, with every check named", () => {
    const verdict = dryRun(well);
    expect(verdict.kind).toBe("send");
    expect(verdict.findings.map((finding) => finding.check)).toEqual([
      "payload-parses",
      "payload-schema",
      "payload-size",
      "target-reachable",
      "breaker",
      "version-order",
      "aggregate-head",
      "inbox",
    ]);
  });

  test("says of a target that is not marked as repeatable that nothing which may have arrived is repeated", () => {
    const { findings } = dryRun({ ...well, target: { ...target, retryable: false } });
    expect(findings.find(({ check }) => check === "repeats")).toMatchObject({
      ok: true,
      detail: expect.stringContaining("not marked as repeatable"),
    });
  });

  test.each([
    [{ payload: { ...well.payload, parses: { ok: false, detail: "no JSON" } } }, "payload-unparsable"],
    [{ payload: { ...well.payload, schema: { ok: false, detail: "/amount" } } }, "schema-mismatch"],
    [{ payload: { ...well.payload, schema: { ok: false, detail: "slow", tooSlow: true } } }, "schema-timeout"],
    [{ payload: { ...well.payload, bytes: 101 } }, "payload-too-large"],
    [{ target: { fault: "env:TOKEN is not set" } }, "no-target"],
    [{ target: { ...target, reachable: false } }, "target-unreachable"],
    [{ target: { ...target, breakerOpen: true } }, "breaker-open"],
    [{ versionProcessed: 6n }, "version-superseded"],
    [{ heldBy: "event e-1 comes first and cools down" }, "held-by-head"],
  ])("refuses %o as %s", (change, refusal) => {
    const verdict = dryRun({ ...well, ...change });
    expect(verdict).toMatchObject({ kind: "refuse", refusal });
    const failed = verdict.findings.filter((finding) => !finding.ok);
    expect(failed).toHaveLength(1);
    expect(failed[0]!.fix).toMatch(/\w+ \w+/);
  });

  test("a check that was not made is neither passed nor a reason to refuse", () => {
    const detail = "not checked";
    const unknown = { ok: null, detail };
    const verdict = dryRun({
      ...well,
      payload: { ...well.payload, parses: unknown, schema: unknown },
      target: { ...target, reachable: null, detail },
    });
    expect(verdict.kind).toBe("send");
    expect(verdict.findings.filter(({ ok }) => ok === null).map(({ check }) => check)).toEqual([
      "payload-parses",
      "payload-schema",
      "target-reachable",
    ]);
  });

  test("a payload that breaks its schema is named by the first place, and its fix is about that place", () => {
    const faults = [
      { pointer: "/amount", keyword: "type", detail: "/amount must be integer", fix: "make /amount integer" },
    ];
    const schema = { ok: false, detail: "/amount must be integer", faults };
    const { findings } = dryRun({ ...well, payload: { ...well.payload, schema } });
    expect(findings[1]).toMatchObject({ check: "payload-schema", pointer: "/amount", fix: "make /amount integer" });
  });

  test("a payload that does not parse goes once a person confirmed it, and its schema is not asked", () => {
    const detail = "the payload is not valid JSON in UTF-8";
    const payload = { ...well.payload, parses: { ok: false, detail }, schema: { ok: false, detail } };
    const verdict = dryRun({ ...well, payload, despite: ["payload-unparsable"] });
    expect(verdict.kind).toBe("send");
    expect(verdict.findings.slice(0, 2)).toEqual([
      {
        check: "payload-parses",
        ok: true,
        warning: true,
        detail: `${detail}; sent unchanged, as confirmed`,
      },
      { check: "payload-schema", ok: null, detail: `not checked: ${detail}` },
    ]);
    const others = dryRun({ ...well, payload, despite: ["parked-early", "needs-confirmation"] });
    expect(others).toMatchObject({ kind: "refuse", refusal: "payload-unparsable" });
    // A payload that parses must match its schema, whatever was confirmed.
    const mismatch = { ...well.payload, schema: { ok: false, detail: "/amount" } };
    expect(dryRun({ ...well, payload: mismatch, despite: ["payload-unparsable"] })).toMatchObject({
      refusal: "schema-mismatch",
    });
  });

  test("warns of headers that are left out, and names so many", () => {
    const leftOut = Array.from({ length: 12 }, (_, index) => `"h ${index}"`);
    const { kind, findings } = dryRun({ ...well, leftOut });
    expect(kind).toBe("send");
    expect(findings.at(-1)).toMatchObject({ check: "headers", ok: true, warning: true });
    expect(findings.at(-1)!.detail).toMatch(
      / cannot carry the headers "h 0", .*"h 9" and 2 more, so sends leave them out$/,
    );
  });

  test("an event without a version is never superseded", () => {
    expect(dryRun({ ...well, version: null, versionProcessed: 9n }).kind).toBe("send");
  });

  test("names the first refusal and shows all findings", () => {
    const verdict = dryRun({
      ...well,
      target: { fault: "none" },
      versionProcessed: 9n,
      payload: { ...well.payload, bytes: 200 },
    });
    expect(verdict).toMatchObject({ kind: "refuse", refusal: "payload-too-large" });
    expect(verdict.findings.filter((finding) => !finding.ok).map((finding) => finding.check)).toEqual([
      "payload-size",
      "target",
      "version-order",
    ]);
  });

  test("what its consumer has processed is done, whatever else is wrong", () => {
    expect(dryRun({ ...well, target: { fault: "none" }, processedBy: ["billing", "stock"] })).toMatchObject({
      kind: "already-processed",
      detail: "already processed by billing, stock",
    });
  });
});
