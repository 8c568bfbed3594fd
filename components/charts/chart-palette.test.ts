import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seriesColours } from "@/components/charts/chart-palette";
import { contrast } from "@/lib/testing/contrast";

const SURFACES = { light: "#ffffff", dark: "#141518" } as const;

const css = readFileSync(new URL("./charts.css", import.meta.url), "utf8");
const series = [...css.matchAll(/--(series-\w+): light-dark\((#\w{6}), (#\w{6})\)/g)];

describe("colours of series", () => {
  it.each(series.map((match) => [match[1], match[2]!, match[3]!]))("%s stands out in both themes", (_, light, dark) => {
    expect(contrast(light, SURFACES.light)).toBeGreaterThanOrEqual(3);
    expect(contrast(dark, SURFACES.dark)).toBeGreaterThanOrEqual(3);
  });

  it("keep a code its colour when others come, go or change rank", () => {
    const wide = seriesColours(["TIMEOUT", "UPSTREAM_5XX", "CUSTOM_A", "other"]);
    const narrow = seriesColours(["CUSTOM_A", "TIMEOUT"]);
    expect(wide.get("TIMEOUT")).toBe(narrow.get("TIMEOUT"));
    expect(wide.get("CUSTOM_A")).toBe(narrow.get("CUSTOM_A"));
    expect(wide.get("other")).toBe("var(--series-other)");
  });
});
