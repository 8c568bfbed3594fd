import { describe, expect, it } from "vitest";
import type { AppliedControl } from "@/lib/contract/events";
import { whyNotRedrive } from "./action-rules";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const control = (kind: AppliedControl["kind"]) => ({ kind }) as AppliedControl;
const facts = { status: "PENDING", controls: [], cooldownUntil: null } as const;

describe("why an event would not be redriven", () => {
  it("has no reason for a pending event, also when its cooldown is over", () => {
    expect(whyNotRedrive({ ...facts, controls: [] }, NOW)).toBeNull();
    expect(whyNotRedrive({ ...facts, controls: [], cooldownUntil: "2026-11-20T11:59:00Z" }, NOW)).toBeNull();
  });

  it.each(["QUEUED", "REDRIVEN", "IGNORED"] as const)("says what stands in the way of a %s one", (status) => {
    expect(whyNotRedrive({ ...facts, controls: [], status }, NOW)).toMatch(/^It .+\.$/);
  });

  it("lets a whitelist override a cooldown, never a blacklist", () => {
    const cooling = { ...facts, cooldownUntil: "2026-11-20T12:10:00Z" };
    expect(whyNotRedrive({ ...cooling, controls: [] }, NOW)).toContain("cooling");
    expect(whyNotRedrive({ ...facts, controls: [control("cooldown")] }, NOW)).toContain("cooling");
    expect(whyNotRedrive({ ...cooling, controls: [control("whitelist")] }, NOW)).toBeNull();
    expect(whyNotRedrive({ ...facts, controls: [control("whitelist"), control("blacklist")] }, NOW)).toContain(
      "blacklisted",
    );
  });
});
