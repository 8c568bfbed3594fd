import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seriesColours } from "@/components/charts/chart-palette";

const SURFACES = { light: "#ffffff", dark: "#141518" } as const;

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const css = readFileSync(new URL("./charts.css", import.meta.url), "utf8");
const series = [...css.matchAll(/--(series-\w+): light-dark\((#\w{6}), (#\w{6})\)/g)];

describe("colours of series", () => {
  it("has six and one for the rest", () => {
    expect(series).toHaveLength(7);
  });
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

  it("tell six codes apart, whatever they are called", () => {
    const keys = ["A", "G", "M", "S", "Y", "TIMEOUT"];
    expect(new Set(seriesColours(keys).values()).size).toBe(6);
  });
});
