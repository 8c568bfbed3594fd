import { describe, expect, it } from "vitest";
import { actionOptions, revisedBy, subjectHref } from "@/components/guard/audit/audit-words";

const NONE = { redriveId: null, operationId: null };

describe("what an entry is about", () => {
  it("leads to the page of what it concerns", () => {
    expect(subjectHref({ ...NONE, subjectKind: "event", subjectId: "019a" })).toBe("/events/019a");
    expect(subjectHref({ ...NONE, subjectKind: "redrive", subjectId: "a/b" })).toBe("/redrives/a%2Fb");
    expect(subjectHref({ ...NONE, subjectKind: "event", subjectId: null })).toBeNull();
    expect(subjectHref({ ...NONE, subjectKind: "event", subjectId: null, operationId: "019b" })).toBe(
      "/operations/019b",
    );
  });
});

describe("the revisions of an entry", () => {
  const edited = { action: "event.edited", subjectId: "019a", before: { revision: 2 }, after: { revision: 5 } };

  it("are those before and after an edit or a restore", () => {
    expect(revisedBy(edited)).toEqual({ eventId: "019a", before: 2, after: 5 });
    expect(revisedBy({ ...edited, action: "event.restored" })).not.toBeNull();
  });
  it("are none for another action, for many events and without numbers", () => {
    expect(revisedBy({ ...edited, action: "event.mended" })).toBeNull();
    expect(revisedBy({ ...edited, subjectId: null })).toBeNull();
    expect(revisedBy({ ...edited, after: { revision: "5" } })).toBeNull();
    expect(revisedBy({ ...edited, before: null })).toBeNull();
  });
});

describe("the actions of a choice", () => {
  it("are said in words, the frequent ones and those of the log, each once", () => {
    const options = actionOptions(["mask-rule.second-look", "event.ignored"]);
    expect(options).toContainEqual({ value: "event.mend-undone", label: "Event mend undone" });
    expect(options).toContainEqual({ value: "mask-rule.second-look", label: "Mask rule second look" });
    expect(options.filter(({ value }) => value === "event.ignored")).toHaveLength(1);
  });
});
