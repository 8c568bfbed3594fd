import { expect, it } from "vitest";
import type { CountOut } from "@/lib/events/events.shapes";
import { countsShown } from "./counts-shown";

const count = (value: number | null): CountOut => ({ value, kind: "exact", asOf: "2026-11-20T14:02:11Z" });
const text = (counts: Parameters<typeof countsShown>[0]) =>
  countsShown(counts).map(({ state, of }) => `${state?.status ?? "?"}(${of.map(({ status }) => status).join(" ")})`);

it("shows refinements inside the state that counts them too, and leaves out what has none", () => {
  const byStatus = { IGNORED: count(5), BOUNCED: count(3), PENDING: count(40), COOLING: count(0), QUEUED: count(0) };
  expect(text({ total: count(45), byStatus })).toEqual(["PENDING(BOUNCED)", "IGNORED()"]);
});

it("shows a state whose number is not known, and a refinement without its state", () => {
  expect(text({ total: count(null), byStatus: { QUEUED: count(null) } })).toEqual(["QUEUED()"]);
  expect(text({ total: count(3), byStatus: { CONFIRMED: count(3) } })).toEqual(["?(CONFIRMED)"]);
});
