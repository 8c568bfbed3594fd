import { describe, expect, it } from "vitest";
import { neediestFirst, sourceState } from "@/components/sources/source-state";
import type { ConsumerWord, SourceMode } from "@/lib/brokers/source-mode.pure";
import type { SourceOut } from "@/lib/sources/sources.shapes";

const nowMs = Date.UTC(2026, 10, 20, 14, 2, 11);
const state = (word: ConsumerWord, agoMs: number): SourceOut["state"] => ({
  state: word,
  since: new Date(nowMs - agoMs - 1_000).toISOString(),
  at: new Date(nowMs - agoMs).toISOString(),
  lag: null,
  lastError: null,
  retryAt: null,
  ratePerSecond: null,
  workers: 2,
});
const look = (mode: SourceMode, state: SourceOut["state"], reads = true, events = 3) =>
  sourceState({ mode, state, events }, { reads, nowMs });

describe("how a source is doing", () => {
  it("is what its consumers last said, while that is fresh", () => {
    expect(look("running", state("running", 3_000)).word).toBe("RUNNING");
    expect(look("running", state("failing", 3_000)).colour).toBe("text-danger");
  });
  it("is silent, not running, when nobody reported for half a minute", () => {
    const silent = look("running", state("running", 31_000));
    expect(silent.word).toBe("RUNNING, SILENT");
    expect(silent.colour).not.toBe("text-ok");
  });
  it("is stopped when it was stopped, whatever was reported", () => {
    expect(look("stopped", state("running", 0)).word).toBe("STOPPED");
  });
  it("is pausing until every worker has paused", () => {
    expect(look("paused", state("running", 0)).word).toBe("PAUSING");
    expect(look("paused", state("paused", 0)).word).toBe("PAUSED");
    expect(look("paused", state("drained", 0)).word).toBe("DRAINED");
  });
  it("says that a source that fails is still to be drained", () => {
    expect(look("draining", state("failing", 0)).word).toBe("FAILING, DRAINING");
    expect(look("draining", state("draining", 0)).word).toBe("DRAINING");
  });
  it("is ready without a consumer only where none is needed", () => {
    expect(look("running", null, false).word).toBe("READY");
    expect(look("running", null, false, 0).word).toBe("NO EVENTS YET");
    expect(look("running", null).word).toBe("NO REPORT");
  });
});

describe("the order of the sources", () => {
  it("puts first what an operator must look at", () => {
    const sources = [
      { name: "well", mode: "running", state: state("running", 3_000) },
      { name: "stopped", mode: "stopped", state: null },
      { name: "without room", mode: "running", state: state("paused", 3_000) },
      { name: "silent", mode: "running", state: state("running", 31_000) },
      { name: "not seen", mode: "running", state: null },
      { name: "failing", mode: "running", state: state("failing", 3_000) },
    ] as const;
    const names = neediestFirst(sources, nowMs, () => true).map(({ name }) => name);
    expect(names).toEqual(["failing", "without room", "silent", "not seen", "stopped", "well"]);
  });
  it("does not wait for the workers of a source that has none", () => {
    const sources = [
      { name: "well", mode: "running", state: state("running", 3_000) },
      { name: "by the API", mode: "running", state: null, events: 4 },
    ] as const;
    expect(neediestFirst(sources, nowMs, ({ name }) => name === "well")[0]?.name).toBe("well");
  });
});
