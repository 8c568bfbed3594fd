import { expect, it } from "vitest";
import { muteTerms } from "@/components/events/groups/mute-until";

const NOW = Date.parse("2026-11-22T10:00:00Z");

it.each([
  [{ time: "8h", at: "", more: "" }, { until: "2026-11-22T18:00:00.000Z" }],
  [{ time: "", at: "", more: "1,000" }, { more: 1_000 }],
  [
    { time: "4h", at: "", more: "5" },
    { until: "2026-11-22T14:00:00.000Z", more: 5 },
  ],
  [{ time: "at", at: "2026-11-22T11:30:00Z", more: "" }, { until: "2026-11-22T11:30:00.000Z" }],
  [{ time: "", at: "2026-11-22T11:30:00Z", more: " " }, null],
])("%j mutes by %j", (draft, terms) => expect(muteTerms(draft, NOW)).toEqual({ terms, faults: null }));

it.each([
  [{ time: "at", at: "", more: "" }, { at: "choose a time in the future" }],
  [{ time: "at", at: "2026-11-22T09:59:00Z", more: "" }, { at: "choose a time in the future" }],
  [{ time: "8h", at: "", more: "many" }, { more: "a whole number above 0" }],
  [{ time: "8h", at: "", more: "0" }, { more: "a whole number above 0" }],
])("%j is refused: %j", (draft, faults) => expect(muteTerms(draft, NOW)).toEqual({ terms: null, faults }));
