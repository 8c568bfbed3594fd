import { describe, expect, test } from "vitest";
import { actorFault, cleanActor } from "./actor.pure";

describe("a person may act", () => {
  test.each([
    "maria",
    "Błażej Ż",
    "山田太郎",
    "Doe, Maria",
    "ops-bot",
    "workers",
    "marie-ange",
    "o'neil",
    "local",
    "👩 anna".slice(0, 2),
  ])("as %s", (name) => expect(actorFault(cleanActor(name))).toBeNull());

  test.each([
    "worker",
    "Worker",
    "WORKER",
    "ｗｏｒｋｅｒ",
    "api",
    "parkade",
    "reconciler",
    "system",
    "source:orders",
    "Source:orders",
    "rule:nightly",
  ])("not as %s, under which Parkade acts", (name) => expect(actorFault(name)).toMatch(/Parkade itself/));

  test.each([
    ["a soft hyphen", "maria\u00ad"],
    ["a zero width space", "ma\u200bria"],
    ["a mark that reorders text", "maria\u202e"],
    ["a no-break space", "maria\u00a0x"],
    ["a Hangul filler", "maria\u3164"],
    ["a variation selector", "maria\ufe0f"],
    ["a control character", "maria\u0007"],
    ["a line separator", "maria\u2028x"],
  ])("not with %s", (_, name) => expect(actorFault(name)).toMatch(/invisible/));

  test("not without a name or with a long one", () => {
    expect(actorFault("")).toMatch(/1 to 128/);
    expect(actorFault("a".repeat(129))).toMatch(/1 to 128/);
    expect(actorFault("山".repeat(128))).toBeNull();
  });

  test("under one spelling of one name", () => {
    expect(cleanActor(" Zoe\u0308 ")).toBe("Zo\u00eb");
  });
});
