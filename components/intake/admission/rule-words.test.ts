import { describe, expect, it } from "vitest";
import { labelledGroup } from "@/lib/events/groups/fingerprint.pure";
import { effectFilter } from "./rule-words";

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
        words: "events that need confirmation, of UNREADABLE",
      },
    ],
    [{ source: "orders", do: { errorCode: { from: "errorType" }, group: "g" } }, null],
    [{ source: "orders", do: { drop: true } }, null],
    [{ source: "orders", do: null }, null],
  ])("%j", (rule, expected) => {
    expect(effectFilter(rule)).toEqual(expected);
  });
});
