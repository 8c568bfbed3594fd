import { describe, expect, it } from "vitest";
import { sourceState } from "@/components/sources/source-state";

const nowMs = Date.UTC(2026, 10, 20, 14, 2, 11);
const state = (word: string, agoMs: number, lastError: string | null = null) => ({
  state: word,
  lag: null,
  lastError,
  at: new Date(nowMs - agoMs).toISOString(),
});
const word = (source: Parameters<typeof sourceState>[0]) => sourceState(source, nowMs).word;

describe("how a source is doing", () => {
  it("is what its consumer last said, while that is fresh", () => {
    expect(word({ enabled: true, kind: "rabbitmq", state: state("running", 3_000) })).toBe("RUNNING");
    expect(sourceState({ enabled: true, kind: "rabbitmq", state: state("failing", 3_000) }, nowMs).colour).toBe(
      "text-danger",
    );
  });
  it("is silent, not running, when nobody reported for a minute", () => {
    const silent = sourceState({ enabled: true, kind: "rabbitmq", state: state("running", 61_000) }, nowMs);
    expect(silent.word).toBe("RUNNING, SILENT");
    expect(silent.colour).not.toBe("text-ok");
  });
  it("is off when it was switched off, whatever was reported", () => {
    expect(word({ enabled: false, kind: "rabbitmq", state: state("running", 0) })).toBe("OFF");
  });
  it("is ready without a consumer only where none is needed", () => {
    expect(word({ enabled: true, kind: "http", state: null })).toBe("READY");
    expect(word({ enabled: true, kind: "rabbitmq", state: null })).toBe("NOT SEEN");
  });
  it("shows a word it does not know", () => {
    expect(word({ enabled: true, kind: "rabbitmq", state: state("rebalancing", 0) })).toBe("REBALANCING");
  });
});
