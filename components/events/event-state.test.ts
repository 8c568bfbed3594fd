import { describe, expect, it } from "vitest";
import { isBehind } from "@/components/events/event-state";

describe("an event of an aggregate", () => {
  it.each([
    [{ id: "b", version: 7 }, { id: "a", version: 2 }, true],
    [{ id: "b", version: "9007199254740993" }, { id: "a", version: "9007199254740992" }, true],
    [{ id: "a", version: 2 }, { id: "a", version: 2 }, false],
    [{ id: "b", version: 1 }, { id: "a", version: 2 }, false],
    [{ id: "b", version: null }, { id: "a", version: 2 }, false],
    [{ id: "b", version: 7 }, undefined, false],
  ])("%j waits for %j: %s", (event, head, expected) => {
    expect(isBehind(event, head)).toBe(expected);
  });
});
