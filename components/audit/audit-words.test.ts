import { describe, expect, it } from "vitest";
import { subjectHref, subjectWords } from "@/components/audit/audit-words";
import { AUDIT_SUBJECTS } from "@/lib/core/audit-subject";

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
  it.each(AUDIT_SUBJECTS)("names one and several of %s", (subjectKind) => {
    expect(subjectWords({ subjectKind, count: 1 })).toBe(subjectKind.replace("-", " "));
    expect(subjectWords({ subjectKind, count: 12_300 })).toMatch(/^12,300 [a-z ]+s$/);
  });
});
