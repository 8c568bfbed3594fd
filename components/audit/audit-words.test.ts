import { describe, expect, it } from "vitest";
import { subjectHref, subjectWords } from "@/components/audit/audit-words";
import { AUDIT_SUBJECTS } from "@/lib/core/audit-subject";

describe("what an entry is about", () => {
  it("leads to the page of what it concerns", () => {
    expect(subjectHref({ subjectKind: "event", subjectId: "019a" })).toBe("/events/019a");
    expect(subjectHref({ subjectKind: "redrive", subjectId: "a/b" })).toBe("/redrives/a%2Fb");
    expect(subjectHref({ subjectKind: "event", subjectId: null })).toBeNull();
  });
  it.each(AUDIT_SUBJECTS)("names one and several of %s", (subjectKind) => {
    expect(subjectWords({ subjectKind, count: 1 })).toBe(subjectKind);
    expect(subjectWords({ subjectKind, count: 12_300 })).toMatch(/^12,300 \w+s$/);
  });
});
