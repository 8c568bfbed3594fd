import { describe, expect, it } from "vitest";
import { labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import type { Trial } from "@/lib/intake/admission/admission.shapes";
import { effectFilter, trialSentence } from "./rule-words";

const trial = (over: Partial<Trial>): Trial => ({
  ...{ checked: 200, matched: 0, dropped: 0, changed: 0, failed: 0, fault: null, samples: [] },
  ...over,
});

describe("a try in one sentence", () => {
  it.each<[Partial<Trial>, string]>([
    [{ checked: 0 }, "No event of this source is stored, so there is nothing to try it on."],
    [{}, "None of the newest 200 events matches."],
    [
      { matched: 12, changed: 12, dropped: 3 },
      "12 of the newest 200 events match: 3 would be dropped, 9 would change.",
    ],
    [{ matched: 1, changed: 0 }, "1 of the newest 200 events matches: 1 would stay as it is."],
    [{ matched: 200, changed: 200, dropped: 200 }, "All of the newest 200 events match: 200 would be dropped."],
    [{ checked: 1, matched: 1, changed: 1 }, "The only event that is stored matches: it would change."],
    [{ failed: 2 }, "None of the newest 200 events matches. It cannot be applied to 2."],
  ])("%j", (over, sentence) => {
    expect(trialSentence(trial(over))).toBe(sentence);
  });
});

describe("the events that look as a rule leaves them", () => {
  type Rule = Parameters<typeof effectFilter>[0];
  const group = labelledGroup("UNREADABLE", "cannot be read").fingerprint;
  it.each<[Rule, ReturnType<typeof effectFilter>]>([
    [
      { source: "orders", do: { park: "early" } },
      { filter: { source: ["orders"], admission: ["early"] }, words: "events parked early" },
    ],
    [
      { source: null, do: { park: "confirm", errorCode: { value: "UNREADABLE" }, group: "cannot be read" } },
      {
        filter: { admission: ["confirm"], errorCode: ["UNREADABLE"], fingerprint: [group] },
        words: "events that need a confirmation, of UNREADABLE",
      },
    ],
    [{ source: "orders", do: { errorCode: { from: "errorType" }, group: "g" } }, null],
    [{ source: "orders", do: { drop: true } }, null],
    [{ source: "orders", do: null }, null],
  ])("%j", (rule, expected) => {
    expect(effectFilter(rule)).toEqual(expected);
  });
});
