import { expect, test, vi } from "vitest";
import { countedAsShown } from "./one-click";

const select = { filter: { fingerprint: ["a"] } };
const previewed = (preview: object) => {
  vi.stubGlobal("fetch", async () => Response.json({ refused: {}, cutoff: "2026-11-29T03:00:00.000Z", ...preview }));
  return countedAsShown(select, 3);
};

test("one click sends the set that its number counted, without what arrived since", async () => {
  expect(await previewed({ eligible: 3 })).toEqual({ filter: { fingerprint: ["a"], to: "2026-11-29T03:00:00.001Z" } });
});

test.each([{ eligible: 4 }, { eligible: 3, refused: { "held-by-head": 1 } }])(
  "one click asks first where another number goes, or some are held: %j",
  async (preview) => {
    expect(await previewed(preview)).toBeNull();
  },
);
