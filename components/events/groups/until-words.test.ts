import { expect, it } from "vitest";
import { untilWords } from "@/components/events/groups/until-words";

const NOW = Date.parse("2026-11-22T10:00:00Z");

it.each([
  [{ until: "2026-11-22T18:00:00Z", untilMore: null }, "until 18:00"],
  [{ until: "2026-11-25T18:00:00Z", untilMore: null }, "until 2026-11-25 18:00"],
  [{ until: null, untilMore: 1_000, arrived: 12 }, "until 988 more arrive"],
  [{ until: "2026-11-22T18:00:00Z", untilMore: 5 }, "until 18:00 or 5 more arrive"],
])("%j is %j", (terms, words) => expect(untilWords(terms, "utc", NOW)).toBe(words));
