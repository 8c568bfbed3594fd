import { describe, expect, it } from "vitest";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";

const pinned = "2026-11-20T14:02:11.249Z";
/** The first time that is left out. */
const end = "2026-11-20T14:02:11.250Z";
const pin = (filter: EventFilter) => pinSelection({ filter }, pinned);

describe("pinning a selection to its count", () => {
  it("leaves named events alone", () => {
    const selection = { ids: ["019aa1c4-0000-7000-8000-000000000001"] };
    expect(pinSelection(selection, pinned)).toBe(selection);
  });

  it("keeps later arrivals out when the filter is open at its end", () => {
    expect(pin({ errorCode: ["TIMEOUT"] })).toEqual({ filter: { errorCode: ["TIMEOUT"], to: end } });
    expect(pin({ to: "now" })).toEqual({ filter: { to: end } });
    expect(pin({ to: "2031-01-01T00:00:00Z" })).toEqual({ filter: { to: end } });
    expect(pin({ to: "1924991999000" })).toEqual({ filter: { to: end } });
  });

  it("keeps an end before the cutoff", () => {
    expect(pin({ to: "2026-11-19T00:00:00Z" })).toEqual({ filter: { to: "2026-11-19T00:00:00.000Z" } });
    expect(pin({ to: "-1h" })).toEqual({ filter: { to: "2026-11-20T13:02:11.250Z" } });
  });

  it("stops a relative start from sliding", () => {
    expect(pin({ from: "-24h" })).toEqual({ filter: { from: "2026-11-19T14:02:11.249Z", to: end } });
    expect(pin({ from: "-15m" })).toEqual({ filter: { from: "2026-11-20T13:47:11.249Z", to: end } });
    expect(pin({ from: "2026-11-01" })).toEqual({ filter: { from: "2026-11-01T00:00:00.000Z", to: end } });
  });

  it("pins the time of the last failure as well, and not without a count", () => {
    expect(pin({ failedFrom: "-1h", failedTo: "now" })).toEqual({
      filter: { failedFrom: "2026-11-20T13:02:11.249Z", failedTo: end, to: end },
    });
    expect(pinSelection({ filter: { from: "-1h" } }, null)).toEqual({ filter: { from: "-1h" } });
  });

  it("leaves what it cannot read to the server", () => {
    expect(pin({ to: "yesterday-ish" })).toEqual({ filter: { to: "yesterday-ish" } });
  });
});
